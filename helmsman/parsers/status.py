"""How the agent ends: whether it claims completion, cannot go on or has work left, and its status block, however it wrote that.

---RALPH_STATUS---
STATUS: IN_PROGRESS | COMPLETE | BLOCKED
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 3
TESTS_STATUS: PASSING | FAILING | NOT_RUN
EXIT_SIGNAL: false
RECOMMENDATION: one line
---END_RALPH_STATUS---
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice, takewhile

from helmsman.parsers.markdown_text import outside_code
from helmsman.plain import short_line
from helmsman.records.claims import LONGEST_BLOCKED, Claims, StatusReport

LAST_LINES = 10
"""Of a program that prints more than its agent's last message, the lines with words that may ask: a block and a promise fit."""
_LONGEST = 20_000  # characters from the end that are looked at: a report stands at the end

_PROMISE, _MOST_PROMISES = re.compile(r"<promise>[^<>\n]{1,200}</promise>"), 20
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^`\n]*\1(?!`)")
_LAST_WORD = re.compile(r"[ \t>*_#-]*(BLOCKED|IMPOSSIBLE|CONTINUE)[*_]*:[*_ \t]*(.*)")
_ENDS_REASON = re.compile(r"\s*$|---|[ \t>*_#-]*[A-Z_]{4,}[*_]*:")
_NO_REASON = re.compile(r"(?:no|none|nothing|not|n/?a|false|-)?[.!]?", re.IGNORECASE)
_REASON_LINES = 5


def promises(prompt: str) -> dict[str, int]:
    """The promises that a prompt names, each with its first line; of very many the first few."""
    found = dict[str, int]()
    for one in islice(_PROMISE.finditer(prompt), _MOST_PROMISES):
        found.setdefault(one[0], prompt.count("\n", 0, one.start()) + 1)
    return found


def read_ending(message: str, promise: str, *, only_at_end: bool = False) -> Claims:
    """What the last message asks for. Whether a request is granted is decided by the checks.

    A promise that fills a line asks, however it is decorated; quoted code does not, unless all of the message is quoted.
    EXIT_SIGNAL asks in the last status block. `only_at_end`: only the last lines ask.
    """
    status, asks = read_status(message), message
    if only_at_end:
        asks = "\n".join([line for line in message.splitlines() if line.strip()][-LAST_LINES:])
    signal = read_status(asks)
    if signal and signal.exit_signal:
        return Claims(wants_to_finish=True, how="EXIT_SIGNAL", status=status)
    spoken = outside_code(asks)
    spoken = spoken if spoken.strip() else asks
    alone = any(line.strip("`*_ \t") == promise for line in spoken.splitlines())
    if promise and (alone or promise in _CODE_SPAN.sub("", spoken)):
        return Claims(wants_to_finish=True, how=promise, status=status)
    word, reason = _last_word(outside_code(message[-_LONGEST:]).splitlines())
    if status and status.status == "blocked" and word in {"", "CONTINUE"}:
        word, reason = "BLOCKED", status.recommendation or "it does not say why"
    if word in {"BLOCKED", "IMPOSSIBLE"}:
        return Claims(blocked=short_line(reason, LONGEST_BLOCKED), status=status)
    return Claims(goes_on=word == "CONTINUE" or bool(status and status.status == "in_progress"), status=status)


def _last_word(lines: list[str]) -> tuple[str, str]:
    """The last such word with its reason, to the end of its paragraph."""
    for place in range(len(lines) - 1, -1, -1):
        if said := _LAST_WORD.match(lines[place]):
            behind = lines[place + 1 : place + 1 + _REASON_LINES]
            more = takewhile(lambda line: not _ENDS_REASON.match(line), behind)
            reason = " ".join(" ".join((said[2], *more)).split())
            if not _NO_REASON.fullmatch(reason):
                return said[1], reason
    return "", ""


def read_status(message: str) -> StatusReport | None:
    """Read the last report of a message, a whole block or line by line. None where there is none; never raises."""
    *_, found = [{}, *filter(None, _reports(message[-_LONGEST:]))]
    fields = {name: read(found[key]) for key, (name, read) in _FIELDS.items() if key in found}
    return StatusReport.model_validate(fields) if fields else None


def _reports(kept: str) -> Iterator[dict[str, str]]:
    """Fields line by line: behind a mark any of them makes a report. One that comes again begins another report."""
    fields: dict[str, str] = {}
    marked = False
    for line in (*kept.splitlines(), "---END_RALPH_STATUS---"):
        mark, field = _MARK.search(line), _FIELD.match(line)
        if mark or (field and field[1].upper() in fields):
            if marked or _OWN & fields.keys():
                yield fields
            fields, marked = {}, not mark[1] if mark else marked
        if field:
            fields[field[1].upper()] = field[2].strip(" \t\r\n,*_`\"'")


def _word(value: str) -> str:
    """`IN PROGRESS` and `**in-progress** (half)` are `in_progress`."""
    return re.sub(r"[^a-z0-9]+", "_", _REMARK.sub("", value).lower()).strip("_")


def _one_of(*values: str) -> Callable[[str], str]:
    """One of these values; none where it is another word."""
    return lambda said: word if (word := _word(said)) in values else ""


def _number(value: str) -> int | None:
    """A count of 0 to 999,999."""
    match = _COUNT.match(value)
    return int(match[1]) if match else None


_MARK = re.compile("---[ ]?(END_)?RALPH_STATUS[ ]?---", re.IGNORECASE)
_REMARK = re.compile(r"\((?![^)]*(?:fail|except|not|known|only|some|/))[^()]*\)$", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]{1,6})(?![0-9./])")
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}
_FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "STATUS": ("status", _one_of("in_progress", "complete", "blocked")),
    "TASKS_COMPLETED_THIS_LOOP": ("tasks_completed", _number),
    "TASKS_COMPLETED": ("tasks_completed", _number),
    "FILES_MODIFIED": ("files_modified", _number),
    "TESTS_STATUS": ("tests_status", _one_of("passing", "failing", "not_run")),
    "EXIT_SIGNAL": ("exit_signal", lambda value: _FLAGS.get(_word(value))),
    "RECOMMENDATION": ("recommendation", short_line),
}
_OWN = _FIELDS.keys() - {"STATUS", "RECOMMENDATION"}
"""Without the words that stand before a colon in any message: alone they make no report."""
_NAMES = "|".join(sorted(_FIELDS, key=len, reverse=True))
_FIELD = re.compile(rf"[ \t>*_`\"'+#•-]*({_NAMES})[\"'*`]*[ \t]*[:=](.*)", re.IGNORECASE)
