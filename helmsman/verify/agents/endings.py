"""How a call of an agent ended, from its exit code and what the program itself printed. The unknown is a crash, no guess."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from helmsman.records.agents import AgentKind, Capability
from helmsman.records.evidence import AgentOutcome
from helmsman.verify.agent_outcome import BY_CLOCK, BY_SIGNAL, BY_STATUS, BY_STATUS_CLASS, SHELL_RESERVED, WORDS, EndedBy
from helmsman.verify.loose_json import text

_STATUS = re.compile(r"\bstatus:? (\d{3})\b|\"code\": ?(\d{3})\b")
"""As codex writes it, and as Google's services answer."""

_IN_ANY_CASE = ("warning", "yolo mode is enabled")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """All that decides."""

    by: EndedBy
    exit_code: int | None
    """None: it is read back after a crash, and only what it printed is known."""
    stderr: str
    spoke: bool
    """Whether it printed anything that its format knows."""
    well: bool | None
    """How it said that its turn ended; None: it did not say."""
    words: str
    status: int


Answer = Callable[[Ended, AgentKind], AgentOutcome | None]


def outcome_of(ended: Ended, kind: AgentKind) -> tuple[AgentOutcome, str]:
    """The first answer, and the program's words on it."""
    outcome = next((answer for ask in _QUESTIONS if (answer := ask(ended, kind))), AgentOutcome.CRASHED)
    if outcome is AgentOutcome.FINISHED:
        return outcome, ""
    return outcome, (ended.words or _complaint(ended.stderr)).strip()


def _complaint(stderr: str) -> str:
    """Without what programs print there in any case."""
    lines = (line for line in stderr.splitlines() if not line.lower().startswith(_IN_ANY_CASE))
    return text("\n".join(lines).strip(), WORDS)


def _stopped_by_a_clock(ended: Ended, _: AgentKind) -> AgentOutcome | None:
    return BY_CLOCK.get(ended.by)


def _finished(ended: Ended, kind: AgentKind) -> AgentOutcome | None:
    """A program that prints events must have said so itself; of the others the exit code is all that there is."""
    says = ended.well if Capability.STREAM in kind.tells else ended.well is not False and ended.exit_code == 0
    return AgentOutcome.FINISHED if says and ended.exit_code in {0, None} else None


def _by_exit_code(ended: Ended, kind: AgentKind) -> AgentOutcome | None:
    return kind.exits.get(str(ended.exit_code))


def _by_status(ended: Ended, _: AgentKind) -> AgentOutcome | None:
    found = _STATUS.search(ended.words)
    status = ended.status or (int(found[1] or found[2]) if found else 0)
    return BY_STATUS.get(status) or BY_STATUS_CLASS.get(status // 100)


def _by_words(ended: Ended, kind: AgentKind) -> AgentOutcome | None:
    """Before the status: a 429 may be a rate limit, a used-up allowance or an empty account."""
    said = f"{ended.words}\n{ended.stderr if ended.exit_code else ''}".lower()
    return next((outcome for phrase, outcome in kind.words.items() if phrase.lower() in said), None)


def _signalled(ended: Ended, _: AgentKind) -> AgentOutcome | None:
    return BY_SIGNAL.get(ended.exit_code)


def _refused_to_start(ended: Ended, kind: AgentKind) -> AgentOutcome | None:
    """Only of a program whose format shows whether it spoke: of another one nobody knows how far it came."""
    complained = 0 < (ended.exit_code or 0) < SHELL_RESERVED and ended.stderr.strip()
    return AgentOutcome.REFUSED_START if Capability.STREAM in kind.tells and not ended.spoke and complained else None


_QUESTIONS: tuple[Answer, ...] = (
    _stopped_by_a_clock,
    _finished,
    _by_words,
    _by_exit_code,
    _by_status,
    _signalled,
    _refused_to_start,
)
