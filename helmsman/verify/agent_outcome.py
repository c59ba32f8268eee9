"""How a call of the agent ended, as an ordered list of questions; each answers from a literal table or not at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from helmsman.records.evidence import AgentOutcome, RateLimit
from helmsman.verify.loose_json import count, items, last, text
from helmsman.verify.usage_limits import REJECTED, names_a_limit

EndedBy = Literal["itself", "deadline", "idle", "stop"]
WORDS = 2000
FINAL = 8000


@dataclass(frozen=True, kw_only=True)
class ResultEvent:
    """What a result event says of how the turn ended."""

    subtype: str
    is_error: bool
    terminal_reason: str
    api_error: str
    status: int
    """HTTP status of the API's refusal, 0 where there was none."""
    turns: int
    words: str
    """The CLI's own words where it is an error, else the agent's: the beginning."""
    errors: str
    final: str
    """The same as words: the end."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """All that decides the outcome."""

    ended_by: EndedBy
    exit_code: int | None
    stderr: str
    spoke: bool
    """Whether there was any event."""
    result: ResultEvent | None
    kind: str
    """Class of the API error that the CLI printed in the agent's place."""
    limit: RateLimit | None

    @property
    def verdict(self) -> ResultEvent | None:
        """The result, where the CLI came to its own end; a call that was ended from outside has none."""
        return self.result if self.ended_by == "itself" else None


BY_CLOCK: dict[EndedBy, AgentOutcome] = {
    "deadline": AgentOutcome.TIMED_OUT,
    "idle": AgentOutcome.HUNG,
    "stop": AgentOutcome.ABORTED,
}

BY_SIGNAL: dict[int | None, AgentOutcome] = {
    # TERM, HUP and INT are requests, as the CLI reports them or as the system does; any other signal is a death.
    143: AgentOutcome.ABORTED,
    -15: AgentOutcome.ABORTED,
    129: AgentOutcome.ABORTED,
    -1: AgentOutcome.ABORTED,
    130: AgentOutcome.ABORTED,
    -2: AgentOutcome.ABORTED,
}

_BY_TERMINAL_REASON = {
    "max_turns": AgentOutcome.MAX_TURNS,
    "budget_exhausted": AgentOutcome.CALL_BUDGET,
    "prompt_too_long": AgentOutcome.CONTEXT_FULL,
    "blocking_limit": AgentOutcome.CONTEXT_FULL,
    "rapid_refill_breaker": AgentOutcome.CONTEXT_FULL,
    "image_error": AgentOutcome.REJECTED_REQUEST,
    "aborted_streaming": AgentOutcome.ABORTED,
    "aborted_tools": AgentOutcome.ABORTED,
    "hook_stopped": AgentOutcome.BLOCKED_BY_HOOK,
    "stop_hook_prevented": AgentOutcome.BLOCKED_BY_HOOK,
}

_BY_SUBTYPE = {
    "error_max_turns": AgentOutcome.MAX_TURNS,
    "error_max_budget_usd": AgentOutcome.CALL_BUDGET,
}

_BY_API_ERROR = {
    "usage_limit_reached": AgentOutcome.USAGE_LIMIT,
    "connection_failed": AgentOutcome.OVERLOADED,
    "stream_idle_timeout": AgentOutcome.OVERLOADED,
    "no_response": AgentOutcome.OVERLOADED,
    "computer_slept": AgentOutcome.OVERLOADED,
    "model_requires_usage_credits": AgentOutcome.BILLING,
    "long_context_credits_required": AgentOutcome.BILLING,
    "autocompact_thrashing": AgentOutcome.CONTEXT_FULL,
    "message_over_context_limit": AgentOutcome.CONTEXT_FULL,
    "hook_denied": AgentOutcome.BLOCKED_BY_HOOK,
}

_BY_KIND = {
    "authentication_failed": AgentOutcome.AUTHENTICATION,
    "oauth_org_not_allowed": AgentOutcome.AUTHENTICATION,
    "verification_required": AgentOutcome.AUTHENTICATION,
    "cloud_credential_error": AgentOutcome.AUTHENTICATION,
    "account_on_hold": AgentOutcome.BILLING,
    "billing_error": AgentOutcome.BILLING,
    "rate_limit": AgentOutcome.RATE_LIMITED,
    "overloaded": AgentOutcome.OVERLOADED,
    "server_error": AgentOutcome.OVERLOADED,
    "model_not_found": AgentOutcome.BAD_MODEL,
    "invalid_request": AgentOutcome.REJECTED_REQUEST,
    "max_output_tokens": AgentOutcome.REJECTED_REQUEST,
}

BY_STATUS = {
    401: AgentOutcome.AUTHENTICATION,
    402: AgentOutcome.BILLING,
    403: AgentOutcome.AUTHENTICATION,
    404: AgentOutcome.BAD_MODEL,
    408: AgentOutcome.OVERLOADED,
    429: AgentOutcome.RATE_LIMITED,
}

BY_STATUS_CLASS = {4: AgentOutcome.REJECTED_REQUEST, 5: AgentOutcome.OVERLOADED}

SHELL_RESERVED = 126  # from here on an exit code speaks of signals or of the shell
_UNKNOWN_SESSION = "No conversation found with session ID"
_BLOCKED_PROMPT = "UserPromptSubmit operation blocked by hook"


def read_result(event: Mapping[str, Any]) -> ResultEvent:
    return ResultEvent(
        subtype=text(event.get("subtype")),
        is_error=event.get("is_error") is True,
        terminal_reason=text(event.get("terminal_reason")),
        api_error=text(event.get("api_error")),
        status=count(event.get("api_error_status")),
        turns=count(event.get("num_turns")),
        words=text(event.get("result"), WORDS),
        errors="\n".join(text(error, WORDS) for error in items(event.get("errors"))[:10])[:WORDS],
        final=last(event.get("result"), FINAL),
    )


def outcome_of(ending: Ending) -> AgentOutcome:
    """The first answer; an ending that no question knows is a crash."""
    result = ending.verdict
    answers = (ask(ending, result) for ask in _WITH_RESULT) if result else (ask(ending) for ask in _WITHOUT_RESULT)
    return next((answer for answer in answers if answer), AgentOutcome.CRASHED)


def words_of(ending: Ending, outcome: AgentOutcome) -> str:
    """The CLI's own words on why the call did not finish."""
    if outcome is AgentOutcome.FINISHED:
        return ""
    result = ending.verdict
    said = (result.words, result.errors, ending.stderr, result.terminal_reason) if result else (ending.stderr,)
    return next((text(words, WORDS).strip() for words in said if words.strip()), "")


def _stopped_by_a_clock(ending: Ending) -> AgentOutcome | None:
    # First of all questions: a call that ran out of time is never taken for a usage limit.
    return BY_CLOCK.get(ending.ended_by)


def _session_unknown_to_stderr(ending: Ending) -> AgentOutcome | None:
    return AgentOutcome.UNKNOWN_SESSION if not ending.spoke and _UNKNOWN_SESSION in ending.stderr else None


def _refused_to_start(ending: Ending) -> AgentOutcome | None:
    complained = 0 < (ending.exit_code or 0) < SHELL_RESERVED and ending.stderr.strip()
    return AgentOutcome.REFUSED_START if not ending.spoke and complained else None


def _signalled(ending: Ending) -> AgentOutcome | None:
    return BY_SIGNAL.get(ending.exit_code)


_WITHOUT_RESULT: tuple[Callable[[Ending], AgentOutcome | None], ...] = (
    _stopped_by_a_clock,
    _session_unknown_to_stderr,
    _refused_to_start,
    _signalled,
)


def _blocked_at_the_prompt(_: Ending, result: ResultEvent) -> AgentOutcome | None:
    # Without a turn the words cannot be the agent's.
    blocked = result.turns == 0 and result.words.startswith(_BLOCKED_PROMPT)
    return AgentOutcome.BLOCKED_BY_HOOK if blocked else None


def _session_unknown(_: Ending, result: ResultEvent) -> AgentOutcome | None:
    unknown = result.turns == 0 and _UNKNOWN_SESSION in result.errors
    return AgentOutcome.UNKNOWN_SESSION if unknown else None


def _finished(_: Ending, result: ResultEvent) -> AgentOutcome | None:
    return AgentOutcome.FINISHED if result.subtype == "success" and not result.is_error else None


def _used_up(ending: Ending, result: ResultEvent) -> AgentOutcome | None:
    """For versions that do not type the error. A plain 429 is `rejected` as well, but names no reset."""
    if ending.kind not in {"rate_limit", ""} or result.status not in {429, 0}:
        return None
    limit = ending.limit
    announced = result.status and limit and limit.status == REJECTED and limit.resets_at
    return AgentOutcome.USAGE_LIMIT if announced or names_a_limit(result.words) else None


_WITH_RESULT: tuple[Callable[[Ending, ResultEvent], AgentOutcome | None], ...] = (
    lambda _, result: _BY_TERMINAL_REASON.get(result.terminal_reason),
    lambda _, result: _BY_SUBTYPE.get(result.subtype),
    _session_unknown,
    _blocked_at_the_prompt,
    _finished,
    lambda _, result: _BY_API_ERROR.get(result.api_error),
    _used_up,
    lambda ending, _: _BY_KIND.get(ending.kind),
    lambda _, result: BY_STATUS.get(result.status),
    lambda _, result: BY_STATUS_CLASS.get(result.status // 100),
)
