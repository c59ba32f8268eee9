"""Determine how an agent call ended, from tables in order of precedence. Unknown endings are crashes, never guesses."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from helmsman.parsers.loose import text
from helmsman.parsers.usage_limits import REJECTED, is_limit_message
from helmsman.records.agent import AgentOutcome, RateLimit
from helmsman.records.agents import AgentKind, Capability
from helmsman.toml_text import load_bundled

EndCause = Literal["itself", "deadline", "idle", "stop"]
WORDS = 2000
FINAL = 8000
SHELL_RESERVED = 126  # exit codes from here on come from signals or the shell
_UNKNOWN_SESSION = "No conversation found with session ID"
_BLOCKED_PROMPT = "UserPromptSubmit operation blocked by hook"
_STATUS = re.compile(r"\bstatus:? (\d{3})\b|\"code\": ?(\d{3})\b")  # formats of codex and of Google's services
_HARMLESS_PREFIXES = ("warning", "yolo mode is enabled")  # prefixes of stderr lines that are not errors

_CLOCK: Mapping[EndCause, AgentOutcome] = {
    "deadline": AgentOutcome.TIMED_OUT,
    "idle": AgentOutcome.HUNG,
    "stop": AgentOutcome.ABORTED,
}
# TERM, HUP and INT, reported by the CLI or the system, are requests; any other signal is a crash.
_SIGNAL: Mapping[int | None, AgentOutcome] = dict.fromkeys((143, -15, 129, -1, 130, -2), AgentOutcome.ABORTED)
ENDINGS: Mapping[str, Mapping[str, AgentOutcome]] = {
    name: {word: AgentOutcome(outcome) for outcome, words in table.items() for word in words}
    for name, table in load_bundled("helmsman.parsers", "endings.toml").items()
}
"""Outcomes by source and word."""


@dataclass(frozen=True, kw_only=True)
class ProcessEnd:
    """How an agent's process ended."""

    by: EndCause
    exit_code: int | None  # None if restored after a crash, when only its output is known
    stderr: str
    has_output: bool  # whether it printed anything in its format

    @property
    def refused_to_start(self) -> bool:
        return not self.has_output and 0 < (self.exit_code or 0) < SHELL_RESERVED and bool(self.stderr.strip())


# --- Claude Code ----------------------------------------------------------------------------------------------------


def claude_ending(
    ended: ProcessEnd, result: Mapping[str, Any] | None, kind: str, limit: RateLimit | None
) -> tuple[AgentOutcome, str]:
    """Return the outcome, and the CLI's message on why the call did not finish.

    `result`: fields of the event that ended the turn. `kind`: class of the API error that the CLI reported as a message. A call
    that was ended from outside has no result: a timeout is never taken for a usage limit.
    """
    sources = [ended.stderr]
    if result is None or ended.by != "itself":
        answers: Iterable[AgentOutcome | Literal[False] | None] = (
            _CLOCK.get(ended.by),
            not ended.has_output and _UNKNOWN_SESSION in ended.stderr and AgentOutcome.UNKNOWN_SESSION,
            ended.refused_to_start and AgentOutcome.REFUSED_START,
            _SIGNAL.get(ended.exit_code),
        )
    else:
        answer_text, errors, reason = result["result"], result["errors"], result["terminal_reason"]
        before_a_turn = result["num_turns"] == 0  # then the text cannot be the agent's
        subtype, status = result["subtype"], result["api_error_status"]
        # For versions without an error class. A plain 429 is `rejected` as well, but has no reset time.
        announced = status and limit and limit.status == REJECTED and limit.resets_at
        used_up = kind in {"rate_limit", ""} and status in {429, 0} and (announced or is_limit_message(answer_text))
        sources = [answer_text, errors, ended.stderr, reason]
        answers = (
            ENDINGS["terminal_reason"].get(reason),
            ENDINGS["subtype"].get(subtype),
            before_a_turn and _UNKNOWN_SESSION in errors and AgentOutcome.UNKNOWN_SESSION,
            before_a_turn and answer_text.startswith(_BLOCKED_PROMPT) and AgentOutcome.BLOCKED_BY_HOOK,
            subtype == "success" and not result["is_error"] and AgentOutcome.FINISHED,
            ENDINGS["api_error"].get(result["api_error"]),
            bool(used_up) and AgentOutcome.USAGE_LIMIT,
            ENDINGS["error_kind"].get(kind),
            _outcome_of_status(status),
        )
    outcome = next((answer for answer in answers if answer), AgentOutcome.CRASHED)
    finished = outcome is AgentOutcome.FINISHED
    return outcome, "" if finished else next((text(source, WORDS).strip() for source in sources if source.strip()), "")


def _outcome_of_status(status: int) -> AgentOutcome | None:
    """Return the outcome for an HTTP status of the API; 0 if there was none."""
    return ENDINGS["status"].get(str(status)) or ENDINGS["status_class"].get(str(status // 100))


# --- other agents ---------------------------------------------------------------------------------------------------


def other_ending(ended: ProcessEnd, kind: AgentKind, *, well: bool | None, message: str, status: int) -> tuple[AgentOutcome, str]:
    """Return the outcome, and the program's message. `well`: whether it reported success; None if it reported nothing."""
    streams = Capability.STREAM in kind.capabilities
    # A program that prints events must report success itself; for others only the exit code is known.
    succeeded = well if streams else well is not False and ended.exit_code == 0
    status_match, output = _STATUS.search(message), f"{message}\n{ended.stderr if ended.exit_code else ''}".lower()
    answers = (
        _CLOCK.get(ended.by),
        succeeded and ended.exit_code in {0, None} and AgentOutcome.FINISHED,
        # before the status: a 429 may be a rate limit, a used-up allowance or an empty account
        next((outcome for phrase, outcome in kind.words.items() if phrase.lower() in output), None),
        kind.exits.get(str(ended.exit_code)),
        _outcome_of_status(status or (int(status_match[1] or status_match[2]) if status_match else 0)),
        _SIGNAL.get(ended.exit_code),
        streams and ended.refused_to_start and AgentOutcome.REFUSED_START,  # how far other programs came is unknown
    )
    outcome = next((answer for answer in answers if answer), AgentOutcome.CRASHED)
    errors = (line for line in ended.stderr.splitlines() if not line.lower().startswith(_HARMLESS_PREFIXES))
    return outcome, "" if outcome is AgentOutcome.FINISHED else (message or text("\n".join(errors).strip(), WORDS)).strip()
