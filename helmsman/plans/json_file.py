"""`prd.json`: stories with `passes`, as other loops write them; a list of them, or an object that holds one."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from helmsman.layers import shown
from helmsman.plans import fields
from helmsman.plans.complaint import Complaint
from helmsman.records.plan import Plan, PlanItem

LISTS = ("userStories", "user_stories", "stories", "items", "features", "tasks")
TITLES = ("title", "name", "description")
DETAILS = ("description", "notes")
ACCEPTANCE = ("acceptanceCriteria", "acceptance_criteria", "acceptance", "steps")
NEEDS = ("needs", "dependsOn", "depends_on", "dependencies")
DONE = ("passes", "done")
"""Keys by which a story says something, the first one that is there counts. Any others are left alone: the file is somebody's."""
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[ \t\r\n,]*")


class _Story(NamedTuple):
    values: Mapping[str, Any]
    start: int
    end: int
    line: int


def read(text: str) -> Plan:
    return Plan(kind="json", items=tuple(map(_item, _stories(text))))


def tick(text: str, place: int) -> str:
    """The same text with `passes` set to true in the story at that place of the list."""
    values, start, end, _ = list(_stories(text))[place]
    story, key = text[start:end], _key(values, DONE)
    for known in re.finditer(rf'"{key}"\s*:\s*(false|null)', story):  # further down another object may have such a key
        after = f"{story[: known.start(1)]}true{story[known.end(1) :]}"
        if json.loads(after) == {**values, key: True}:
            return f"{text[:start]}{after}{text[end:]}"
    kept, blank = story[:-1].rstrip(), story[1 : len(story) - len(story[1:].lstrip())] or " "
    return f'{text[:start]}{kept},{blank}"passes": true{story[len(kept) :]}{text[end:]}'


def _stories(text: str) -> Iterator[_Story]:
    """A byte order mark counts as a blank: places stay as they are in the file."""
    body = text.replace("\ufeff", " ", 1) if text.startswith("\ufeff") else text
    place = _list(body, _parsed(body)) + 1
    line, before = body.count("\n", 0, place) + 1, place
    while body[start := _after(body, place)] != "]":
        value, place = _DECODER.raw_decode(body, start)
        line, before = line + body.count("\n", before, start), start
        if not isinstance(value, dict):
            raise Complaint(line, f"expected a story in braces, found {shown(body[start : start + 40])}")
        yield _Story(cast("dict[str, Any]", value), start, place, line)


def _after(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise Complaint(1, "it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Complaint(error.lineno, f"no JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:  # a number with too many digits
        raise Complaint(0, f"no JSON: {error}") from None


def _list(text: str, value: object) -> int:
    """Where the list of stories begins."""
    if isinstance(value, list):
        return text.index("[")
    named = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    name = next((name for name in LISTS if isinstance(named.get(name), list)), "")
    for found in re.finditer(rf'"{name}"\s*:\s*(?=\[)', text) if name else ():
        if _DECODER.raw_decode(text, found.end())[0] == named[name]:  # it may be a key of something else
            return found.end()
    line = text.count("\n", 0, _after(text, 0)) + 1
    raise Complaint(line, f"expected a list of stories, under one of {', '.join(LISTS)}; found none")


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
