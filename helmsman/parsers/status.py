"""Parse the end of an agent's message: claimed completion, blocked or work left, and its status block in any style.

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
from collections.abc import Callable
from itertools import islice, takewhile

from helmsman.parsers.markdown_text import without_code
from helmsman.plain import short_line
from helmsman.records.claims import LONGEST_BLOCKED, Claims, StatusReport

LAST_LINES = 10
"""Number of final lines that count as a request if a program prints more than the last message; fits a block and a promise."""
_LONGEST = 20_000  # characters to read from the end, where reports are

_PROMISE, _MOST_PROMISES = re.compile(r"<promise>[^<>\n]{1,200}</promise>"), 20
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^`\n]*\1(?!`)")
_QUOTED, _SENTENCE_END = re.compile(r"\s*[>|]"), re.compile(r"[.!?:;]")
_NO_PROMISE = re.compile(r"\b(?:not|never|until|before|unless|cannot|once|when|after)\b|n't\b", re.IGNORECASE)
"""Words with which a sentence says that the promise is not given, or when."""
_CLOSING_WORD = re.compile(r"[ \t>*_#-]*(BLOCKED|IMPOSSIBLE|CONTINUE)[*_]*:[*_ \t]*(.*)")
_ENDS_REASON = re.compile(r"\s*$|---|[ \t>*_#-]*[A-Z_]{4,}[*_]*:")
_NO_REASON = re.compile(r"(?:no|none|nothing|not|n/?a|false|-)?[.!]?", re.IGNORECASE)
_REASON_LINES = 5


def find_promises(prompt: str) -> dict[str, int]:
    """Return the first promises in a prompt, each with its first line."""
    lines = dict[str, int]()
    for match in islice(_PROMISE.finditer(prompt), _MOST_PROMISES):
        lines.setdefault(match[0], prompt.count("\n", 0, match.start()) + 1)
    return lines


def read_ending(message: str, promise: str, *, only_at_end: bool = False) -> Claims:
    """Parse what the last message asks for. The checks decide whether a request is granted.

    A promise on its own line is a request, in any decoration, and so is one that ends a line without a negation. In quoted text
    or code it is none, unless all of the message is quoted. EXIT_SIGNAL in the last status block is a request, unless its STATUS
    says something else; about a quoted block see `_without_examples`. `only_at_end`: read requests only from the last lines.
    """
    status, request_text = read_status(_without_examples(message)), message
    if only_at_end:
        request_text = "\n".join([line for line in message.splitlines() if line.strip()][-LAST_LINES:])
    signal = read_status(_without_examples(request_text))
    if signal and signal.exit_signal and signal.status in {"", "complete"}:
        return Claims(wants_to_finish=True, how="EXIT_SIGNAL", status=status)
    prose = without_code(request_text)
    prose = prose if prose.strip() else request_text
    if promise and any(_gives_promise(line, promise) for line in prose.splitlines()):
        return Claims(wants_to_finish=True, how=promise, status=status)
    word, reason = _closing_word(without_code(message[-_LONGEST:]).splitlines())
    if status and status.status == "blocked" and word in {"", "CONTINUE"}:
        word, reason = "BLOCKED", status.recommendation or "it gives no reason"
    if word in {"BLOCKED", "IMPOSSIBLE"}:
        return Claims(blocked=short_line(reason, LONGEST_BLOCKED), status=status)
    return Claims(goes_on=word == "CONTINUE" or bool(status and status.status == "in_progress"), status=status)


def _without_examples(message: str) -> str:
    """Return the message without its code blocks, except a last one that is a report rather than an example.

    Agents put their report in a code block. It is an example if text follows it, or a negation introduces it: `once it works:`.
    """
    prose = without_code(message)
    text = prose.rstrip()
    sentence = _SENTENCE_END.split(text.rpartition("\n\n")[2].rstrip(" \r\n.!?:;"))[-1]
    if _NO_PROMISE.search(sentence):
        return prose
    at = text.count("\n") + 1 if text else 0
    return "\n".join((*prose.split("\n")[:at], *message.split("\n")[at:]))


def _gives_promise(line: str, promise: str) -> bool:
    """Whether a line is a promise or ends with it: not `I will say <promise> when it works`, `Not yet <promise>`."""
    if line.strip("`*_ \t") == promise:
        return True
    text = _CODE_SPAN.sub("", line).rstrip(" \t.!*_")
    before = text.removesuffix(promise)
    return before != text and not _QUOTED.match(line) and not _NO_PROMISE.search(_SENTENCE_END.split(before)[-1])


def _closing_word(lines: list[str]) -> tuple[str, str]:
    """Return the last closing word with its reason, up to the end of its paragraph."""
    for place in range(len(lines) - 1, -1, -1):
        if match := _CLOSING_WORD.match(lines[place]):
            following = lines[place + 1 : place + 1 + _REASON_LINES]
            more = takewhile(lambda line: not _ENDS_REASON.match(line), following)
            reason = " ".join(" ".join((match[2], *more)).split())
            if not _NO_REASON.fullmatch(reason):
                return match[1], reason
    return "", ""


def read_status(message: str) -> StatusReport | None:
    """Parse the last report of a message, as a block or separate lines; None if there is none. Never raises.

    After a mark any field makes a report. A repeated field begins another report.
    """
    report, fields, is_marked = dict[str, str](), dict[str, str](), False
    for line in (*message[-_LONGEST:].splitlines(), "---END_RALPH_STATUS---"):
        mark, field = _MARK.search(line), _FIELD.match(line)
        if mark or (field and field[1].upper() in fields):
            report = fields if fields and (is_marked or _DISTINCTIVE_FIELDS & fields.keys()) else report
            fields, is_marked = {}, not mark[1] if mark else is_marked
        if field:
            fields[field[1].upper()] = field[2].strip(" \t\r\n,*_`\"'")
    values = {name: read(report[key]) for key, (name, read) in _FIELDS.items() if key in report}
    return StatusReport.model_validate(values) if values else None


def _normalize(value: str) -> str:
    """Normalize a value: `IN PROGRESS` and `**in-progress** (half)` become `in_progress`."""
    return re.sub(r"[^a-z0-9]+", "_", _REMARK.sub("", value).lower()).strip("_")


def _one_of(*values: str) -> Callable[[str], str]:
    """Return a reader that accepts one of these values, and returns an empty string for others."""
    return lambda value: word if (word := _normalize(value)) in values else ""


def _parse_count(value: str) -> int | None:
    """Parse a count of 0 to 999,999."""
    match = _COUNT.match(value)
    return int(match[1]) if match else None


_MARK = re.compile("---[ ]?(END_)?RALPH_STATUS[ ]?---", re.IGNORECASE)
_REMARK = re.compile(r"\((?![^)]*(?:fail|except|not|known|only|some|/))[^()]*\)$", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]{1,6})(?![0-9./])")
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}
_FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "STATUS": ("status", _one_of("in_progress", "complete", "blocked")),
    "TASKS_COMPLETED_THIS_LOOP": ("tasks_completed", _parse_count),
    "TASKS_COMPLETED": ("tasks_completed", _parse_count),
    "FILES_MODIFIED": ("files_modified", _parse_count),
    "TESTS_STATUS": ("tests_status", _one_of("passing", "failing", "not_run")),
    "EXIT_SIGNAL": ("exit_signal", lambda value: _FLAGS.get(_normalize(value))),
    "RECOMMENDATION": ("recommendation", short_line),
}
_DISTINCTIVE_FIELDS = _FIELDS.keys() - {"STATUS", "RECOMMENDATION"}
"""Fields that make a report without a mark; the others occur before a colon in any message."""
_NAMES = "|".join(sorted(_FIELDS, key=len, reverse=True))
_FIELD = re.compile(rf"[ \t>*_`\"'+#•-]*({_NAMES})[\"'*`]*[ \t]*[:=](.*)", re.IGNORECASE)
