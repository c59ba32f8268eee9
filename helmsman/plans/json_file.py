"""`prd.json`: stories with `passes`, as other loops write them; a list of them, or an object that holds one."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from helmsman.layers import shown
from helmsman.plans import fields
from helmsman.plans.complaint import Complaint
from helmsman.plans.json_text import Pair, lines_at, members, pairs, skip
from helmsman.records.plan import Plan, PlanItem

LISTS = ("userStories", "user_stories", "stories", "items", "features", "tasks")
TITLES = ("title", "name", "description")
DETAILS = ("description", "notes")
ACCEPTANCE = ("acceptanceCriteria", "acceptance_criteria", "acceptance", "steps")
NEEDS = ("needs", "dependsOn", "depends_on", "dependencies")
DONE = ("passes", "done")
"""Keys by which a story says something, the first one that is there counts. Any others are left alone: the file is somebody's."""


class _Story(NamedTuple):
    values: Mapping[str, Any]
    pairs: Mapping[str, Pair]
    line: int


def read(text: str) -> Plan:
    stories = _stories(text)
    return Plan(kind="json", items=tuple(map(_item, stories)))


def tick(text: str, place: int) -> str:
    """The same text with `passes` set to true in the story at that place of the list."""
    story = _stories(text)[place]
    known = story.pairs.get(_key(story.values, DONE))
    if known is not None:
        return f"{text[: known.value_start]}true{text[known.value_end :]}"
    *_, last = story.pairs.values()
    before = re.search(r"[{,]([ \t\r\n]*)$", text[: last.start])
    blank, colon = before[1] if before else " ", text[last.key_end : last.value_start]
    return f'{text[: last.value_end]},{blank}"passes"{colon}true{text[last.value_end :]}'


def _stories(text: str) -> list[_Story]:
    """A byte order mark counts as a blank: places stay as they are in the file."""
    body = text.replace("\ufeff", " ", 1) if text.startswith("\ufeff") else text
    _require_json(body)
    begins = [begin for begin, _ in members(body, _list(body))]
    return [_story(body, begin, line) for begin, line in zip(begins, lines_at(body, begins), strict=True)]


def _require_json(text: str) -> None:
    try:
        json.loads(text)
    except RecursionError:
        raise Complaint(1, "it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Complaint(error.lineno, f"no JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:  # a number with too many digits
        raise Complaint(0, f"no JSON: {error}") from None


def _list(text: str) -> int:
    """Where the list of stories begins."""
    place = skip(text, 0)
    if text[place] == "[":
        return place
    found = {pair.key: pair for pair in pairs(text, place)} if text[place] == "{" else {}
    for name in LISTS:
        if name in found and text[found[name].value_start] == "[":
            return found[name].value_start
    raise Complaint(next(lines_at(text, [place])), f"expected a list of stories, under one of {', '.join(LISTS)}; found none")


def _story(text: str, place: int, line: int) -> _Story:
    if text[place] != "{":
        raise Complaint(line, f"expected a story in braces, found {shown(text[place : place + 40])}")
    found = {pair.key: pair for pair in pairs(text, place)}
    values = {key: json.loads(text[pair.value_start : pair.value_end]) for key, pair in found.items()}
    return _Story(values, found, line)


def _item(story: _Story) -> PlanItem:
    values, line = story.values, story.line
    title_key = _key(values, TITLES)
    title = fields.title_of(fields.text_of(values, title_key, line), line)
    said = (fields.text_of(values, key, line) for key in DETAILS if key != title_key)
    name = values.get("id")
    return PlanItem(
        id=fields.id_of(str(name).strip(), line) if isinstance(name, str | int) and str(name).strip() else "",
        title=title,
        details="\n".join(filter(None, said))[: fields.LONGEST_DETAILS],
        acceptance=fields.texts_of(values, _key(values, ACCEPTANCE), line, fields.MOST_ACCEPTANCE),
        priority=_rank(values, line),
        needs=tuple(map(str, _needs(values, line))),
        parallel=fields.flag_of(values, "parallel", line),
        verify=fields.flag_of(values, "verify", line),
        check=fields.check_of(fields.text_of(values, "check", line), line),
        done=fields.flag_of(values, _key(values, DONE), line),
        line=line,
    )


def _rank(values: Mapping[str, Any], line: int) -> int:
    """A number, or one of the usual words."""
    said = values.get("priority")
    word = fields.RANKS.get(said.lower()) if isinstance(said, str) else None
    return fields.rank_of(values, "priority", line) if word is None else word


def _needs(values: Mapping[str, Any], line: int) -> Sequence[Any]:
    key = _key(values, NEEDS)
    value = values.get(key)
    numbers = cast("list[Any]", value) if isinstance(value, list) else []
    if numbers and all(isinstance(one, int) and not isinstance(one, bool) for one in numbers):
        return numbers
    return fields.texts_of(values, key, line, fields.MOST_NEEDS)


def _key(values: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first of these that is there, or the first one."""
    return next((name for name in names if values.get(name) is not None), names[0])
