"""How a call of an agent ended, from literal tables, in the order of what is believed first. The unknown is a crash, no guess."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from helmsman.parsers.loose import text
from helmsman.parsers.usage_limits import REJECTED, names_a_limit
from helmsman.records.agent import AgentOutcome, RateLimit
from helmsman.records.agents import AgentKind, Capability
from helmsman.toml_of import bundled

EndedBy = Literal["itself", "deadline", "idle", "stop"]
WORDS = 2000
FINAL = 8000
SHELL_RESERVED = 126  # from here on an exit code speaks of signals or of the shell
_UNKNOWN_SESSION = "No conversation found with session ID"
_BLOCKED_PROMPT = "UserPromptSubmit operation blocked by hook"
_STATUS = re.compile(r"\bstatus:? (\d{3})\b|\"code\": ?(\d{3})\b")  # as codex writes it, and as Google's services answer
_IN_ANY_CASE = ("warning", "yolo mode is enabled")  # how lines begin that programs print to stderr in any case

_CLOCK: Mapping[EndedBy, AgentOutcome] = {
    "deadline": AgentOutcome.TIMED_OUT,
    "idle": AgentOutcome.HUNG,
    "stop": AgentOutcome.ABORTED,
}
# TERM, HUP and INT are requests, as the CLI reports them or as the system does; any other signal is a death.
_SIGNAL: Mapping[int | None, AgentOutcome] = dict.fromkeys((143, -15, 129, -1, 130, -2), AgentOutcome.ABORTED)
ENDINGS: Mapping[str, Mapping[str, AgentOutcome]] = {
    name: {word: AgentOutcome(outcome) for outcome, words in table.items() for word in words}
    for name, table in bundled("helmsman.parsers", "endings.toml").items()
}
"""By what tells it and its word."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program's process ended."""

    by: EndedBy
    exit_code: int | None  # none: it is read back after a crash, and only what it printed is known
    stderr: str
    spoke: bool  # whether it printed anything that its format knows

    @property
    def refused_to_start(self) -> bool:
        return not self.spoke and 0 < (self.exit_code or 0) < SHELL_RESERVED and bool(self.stderr.strip())


# --- Claude Code ----------------------------------------------------------------------------------------------------


def claude_ending(ended: Ended, result: Mapping[str, Any] | None, kind: str, limit: RateLimit | None) -> tuple[AgentOutcome, str]:
    """The outcome, and the CLI's own words on why the call did not finish.

    `result`: what the event said that ended its turn. `kind`: the class of the API error that the CLI printed in the agent's
    place. A call that was ended from outside has no result: one that ran out of time is never taken for a usage limit.
    """
    said = [ended.stderr]
    if result is None or ended.by != "itself":
        answers: Iterable[AgentOutcome | Literal[False] | None] = (
            _CLOCK.get(ended.by),
            not ended.spoke and _UNKNOWN_SESSION in ended.stderr and AgentOutcome.UNKNOWN_SESSION,
            ended.refused_to_start and AgentOutcome.REFUSED_START,
            _SIGNAL.get(ended.exit_code),
        )
    else:
        words, errors, reason = result["result"], result["errors"], result["terminal_reason"]
        before_a_turn = result["num_turns"] == 0  # then the words cannot be the agent's
        subtype, status = result["subtype"], result["api_error_status"]
        # For versions that do not type the error. A plain 429 is `rejected` as well, but names no reset.
        announced = status and limit and limit.status == REJECTED and limit.resets_at
        used_up = kind in {"rate_limit", ""} and status in {429, 0} and (announced or names_a_limit(words))
        said = [words, errors, ended.stderr, reason]
        answers = (
            ENDINGS["terminal_reason"].get(reason),
            ENDINGS["subtype"].get(subtype),
            before_a_turn and _UNKNOWN_SESSION in errors and AgentOutcome.UNKNOWN_SESSION,
            before_a_turn and words.startswith(_BLOCKED_PROMPT) and AgentOutcome.BLOCKED_BY_HOOK,
            subtype == "success" and not result["is_error"] and AgentOutcome.FINISHED,
            ENDINGS["api_error"].get(result["api_error"]),
            bool(used_up) and AgentOutcome.USAGE_LIMIT,
            ENDINGS["error_kind"].get(kind),
            _by_status(status),
        )
    outcome = next((answer for answer in answers if answer), AgentOutcome.CRASHED)
    finished = outcome is AgentOutcome.FINISHED
    return outcome, "" if finished else next((text(words, WORDS).strip() for words in said if words.strip()), "")


def _by_status(status: int) -> AgentOutcome | None:
    """By a status of HTTP with which the API refused; 0: there was none."""
    return ENDINGS["status"].get(str(status)) or ENDINGS["status_class"].get(str(status // 100))


# --- all others -----------------------------------------------------------------------------------------------------


def other_ending(ended: Ended, kind: AgentKind, *, well: bool | None, words: str, status: int) -> tuple[AgentOutcome, str]:
    """The outcome, and the program's words on it. `well`: how it said that its turn ended; None: it did not say."""
    streams = Capability.STREAM in kind.tells
    # A program that prints events must have said so itself; of the others the exit code is all that there is.
    says = well if streams else well is not False and ended.exit_code == 0
    found, spoken = _STATUS.search(words), f"{words}\n{ended.stderr if ended.exit_code else ''}".lower()
    answers = (
        _CLOCK.get(ended.by),
        says and ended.exit_code in {0, None} and AgentOutcome.FINISHED,
        # before the status: a 429 may be a rate limit, a used-up allowance or an empty account
        next((outcome for phrase, outcome in kind.words.items() if phrase.lower() in spoken), None),
        kind.exits.get(str(ended.exit_code)),
        _by_status(status or (int(found[1] or found[2]) if found else 0)),
        _SIGNAL.get(ended.exit_code),
        streams and ended.refused_to_start and AgentOutcome.REFUSED_START,  # of the others nobody knows how far they came
    )
    outcome = next((answer for answer in answers if answer), AgentOutcome.CRASHED)
    complaint = (line for line in ended.stderr.splitlines() if not line.lower().startswith(_IN_ANY_CASE))
    return outcome, "" if outcome is AgentOutcome.FINISHED else (words or text("\n".join(complaint).strip(), WORDS)).strip()
