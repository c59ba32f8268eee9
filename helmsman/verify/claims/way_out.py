"""How a last message ends that does not ask to be done: `BLOCKED: reason`, or `CONTINUE: what remains`."""

import re

from helmsman.records.claims import LONGEST_BLOCKED, StatusReport
from helmsman.verify.claims.sentences import CODE_FENCE
from helmsman.verify.diff import shown

_WORD = re.compile(r"[ \t>*_#-]*(BLOCKED|IMPOSSIBLE|CONTINUE)[*_]*:[*_ \t]*(.*)")
_OTHER = re.compile(r"\s*$|---|[ \t>*_#-]*[A-Z_]{4,}[*_]*:")
"""A line that does not go on with the reason."""
_LINES = 5
_NOTHING = re.compile(r"(?:no|none|nothing|not|n/?a|false|-)?[.!]?", re.IGNORECASE)


def way_out(final_text: str, status: StatusReport | None) -> tuple[str, bool]:
    """Why it says that it cannot go on by itself, empty where it does not, and whether it says that work remains to be done."""
    word, reason = _last(CODE_FENCE.sub("", final_text).splitlines())
    if word in {"BLOCKED", "IMPOSSIBLE"}:
        return shown(reason, LONGEST_BLOCKED), False
    if status and status.status == "blocked":
        return shown(status.recommendation or "it does not say why", LONGEST_BLOCKED), False
    return "", word == "CONTINUE" or bool(status and status.status == "in_progress")


def _last(lines: list[str]) -> tuple[str, str]:
    """The last such word with its reason, to the end of its paragraph."""
    for place in range(len(lines) - 1, -1, -1):
        if not (said := _WORD.match(lines[place])):
            continue
        behind = lines[place + 1 : place + 1 + _LINES]
        end = next((at for at, line in enumerate(behind) if _OTHER.match(line)), len(behind))
        reason = " ".join(" ".join((said[2], *behind[:end])).split())
        if not _NOTHING.fullmatch(reason):
            return said[1], reason
    return "", ""
