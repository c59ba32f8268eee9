"""The RALPH_STATUS block: what the agent reports of itself in a fixed form, however it wrote the form down.

---RALPH_STATUS---
STATUS: IN_PROGRESS | COMPLETE | BLOCKED
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 3
TESTS_STATUS: PASSING | FAILING | NOT_RUN
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: false
RECOMMENDATION: one line
---END_RALPH_STATUS---
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from helmsman.records.claims import StatusReport
from helmsman.verify.loose_json import mapping, text

_LONGEST = 20_000
"""Characters from the end that are looked at: a report stands at the end."""
_OBJECTS = 40
"""JSON objects that are tried, from the end; a report holds one or two."""
_RECOMMENDATION = 300
_WORK_TYPE = 40


class _Found(NamedTuple):
    end: int
    fields: Mapping[str, object]
    form: Literal["json", "block", "loose"]


def read_status(message: str) -> StatusReport | None:
    """Read the last report of a message, as JSON, as a whole block or line by line. None where there is none; never raises."""
    kept = message[-_LONGEST:]
    whole = [*_objects(kept), *_blocks(kept)]
    found = max([*whole, *_loose(kept, whole)], key=lambda one: one.end, default=None)
    return _report(found) if found else None


def spans(message: str) -> Iterator[tuple[int, int]]:
    """Where whole blocks stand, marks included: what is in them is the form's, not the agent's prose."""
    marks = list(_MARK.finditer(message))
    for start, end in pairwise(marks):
        if not start[1] and end[1]:
            yield start.start(), end.end()


def _word(value: object) -> str:
    """`IN PROGRESS` and `**in-progress** (half)` are `in_progress`."""
    plain = _REMARK.sub("", text(value).strip())
    return re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")


def _status(value: object) -> Literal["", "in_progress", "complete", "blocked"]:
    return _STATUS.get(_word(value), "")


def _tests(value: object) -> Literal["", "passing", "failing", "not_run"]:
    return _TESTS.get(_word(value), "")


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else _FLAGS.get(_word(value))


def _number(value: object) -> int | None:
    """A count of 0 to 999,999; a list is counted."""
    if isinstance(value, list):
        return len(value)  # pyright: ignore[reportUnknownArgumentType] - any list has a length
    match = None if isinstance(value, bool) else _COUNT.match(str(value) if isinstance(value, int) else text(value))
    return int(match[1]) if match else None


def _line(value: object, longest: int) -> str:
    return " ".join(text(value, longest + 1).split())[:longest]


_MARK = re.compile("---[ ]?(END_)?RALPH_STATUS[ ]?---", re.IGNORECASE)
_REMARK = re.compile(r"\((?![^)]*(?:fail|except|not|known|only|some|/))[^()]*\)$", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]{1,6})(?![0-9./])")
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}
_STATUS: dict[str, Literal["in_progress", "complete", "blocked"]] = {
    **dict.fromkeys(("in_progress", "inprogress", "progressing", "ongoing", "incomplete", "partial", "wip"), "in_progress"),
    **dict.fromkeys(("complete", "completed", "done", "finished"), "complete"),
    **dict.fromkeys(("blocked", "stuck"), "blocked"),
}
_TESTS: dict[str, Literal["passing", "failing", "not_run"]] = {
    **dict.fromkeys(("passing", "passed", "pass", "all_passing", "all_passed", "all_pass", "green"), "passing"),
    **dict.fromkeys(("failing", "failed", "fail", "red", "broken"), "failing"),
    **dict.fromkeys(("not_run", "notrun", "none", "skipped", "n_a", "unknown", "not_applicable"), "not_run"),
}
_FIELDS: dict[str, tuple[str, Callable[[object], object]]] = {
    "STATUS": ("status", _status),
    "TASKS_COMPLETED_THIS_LOOP": ("tasks_completed", _number),
    "TASKS_COMPLETED": ("tasks_completed", _number),
    "FILES_MODIFIED": ("files_modified", _number),
    "TESTS_STATUS": ("tests_status", _tests),
    "WORK_TYPE": ("work_type", lambda value: _line(value, _WORK_TYPE).lower()),
    "EXIT_SIGNAL": ("exit_signal", _flag),
    "RECOMMENDATION": ("recommendation", lambda value: _line(value, _RECOMMENDATION)),
}
_COMMON = {"STATUS", "RECOMMENDATION"}
"""Words that stand before a colon in any message: alone they make no report."""
_DECORATION = " \t>*_`\"'+#•-"
_FIELD = re.compile(rf"[{_DECORATION}]*({'|'.join(sorted(_FIELDS, key=len, reverse=True))})[\"'*`]*[ \t]*[:=](.*)", re.IGNORECASE)


def _report(found: _Found) -> StatusReport:
    fields = {name: read(found.fields[key]) for key, (name, read) in _FIELDS.items() if key in found.fields}
    return StatusReport.model_validate({**fields, "form": found.form})


def _objects(kept: str) -> Iterator[_Found]:
    """JSON objects with the fields of a report, fenced or not, alone or under RALPH_STATUS."""
    decoder = json.JSONDecoder()
    for start in [match.start() for match in re.finditer(r"\{", kept)][-_OBJECTS:]:
        try:
            value, end = decoder.raw_decode(kept, start)
        except (ValueError, RecursionError):  # prose, a cut object, nesting beyond all measure
            continue
        inner = mapping(_upper(value).get("RALPH_STATUS"))
        fields = _upper(inner or value)
        if inner or _distinct(fields):
            yield _Found(end, fields, "json")


def _upper(value: object) -> dict[str, Any]:
    return {key.upper(): item for key, item in mapping(value).items()}


def _blocks(kept: str) -> Iterator[_Found]:
    for start, end in spans(kept):
        groups = list(_groups(kept[start:end].splitlines()))
        if groups:
            yield _Found(end, groups[-1][1], "block")


def _loose(kept: str, whole: list[_Found]) -> Iterator[_Found]:
    """Lines that look like a report's, behind the last whole one: those before it would not count anyway."""
    behind = max((one.end for one in whole), default=0)
    named = _MARK.search(kept, behind) is not None
    for end, fields in _groups(kept[behind:].splitlines(keepends=True)):
        if named or _distinct(fields):
            yield _Found(behind + end, fields, "loose")


def _groups(lines: list[str]) -> Iterator[tuple[int, dict[str, object]]]:
    """Fields line by line, with where they end; a field that comes again begins another report."""
    fields: dict[str, object] = {}
    place = end = 0
    for line in lines:
        place += len(line)
        match = _FIELD.match(line)
        if not match:
            continue
        key = match[1].upper()
        if key in fields:
            yield end, fields
            fields = {}
        fields[key] = match[2].strip(" \t\r\n,*_`\"'")
        end = place
    if fields:
        yield end, fields


def _distinct(fields: Mapping[str, object]) -> bool:
    return any(key in _FIELDS and key not in _COMMON for key in fields)
