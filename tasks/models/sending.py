"""Send one question to a model: by the Messages API, or by Claude Code in print mode.

The API's answer is streamed, so that a long one keeps its connection and waiting is bounded. It uses structured output instead of
a forced tool: Opus 5.5, Sonnet 5.5 and Fable 5.1 refuse forced tools. Claude Code runs in a separate session, without tools,
settings or files, in an empty folder.
"""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Literal

import httpx

from helmsman.config import JudgeConfig, LoopConfig
from helmsman.errors import Cancelled, OperatorError, TransientError
from helmsman.parsers.agent_actions import parse_event
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.prices import with_cost
from helmsman.records.agent import AgentOutcome
from helmsman.records.base import Reply, Usage
from helmsman.records.iteration import Question
from helmsman.verify.judge.request import ANSWER_TOKENS
from helmsman.verify.judge.votes import LONGEST, CliReader
from tasks.system.environment import agent_environment, find_binary, own_environment
from tasks.system.process import never_stop, run
from tasks.system.secrets import redact, register_credentials

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import TextBlockParam

Credentials = Callable[[], Mapping[str, str]]
"""Returns variables in addition to the environment's, called only when a model is asked."""
VOTE_SECONDS = 300.0  # a long answer about a large diff takes two minutes
WRITING_SECONDS = 90.0  # for optional texts (O5); after it templates are used
_RETRIES = 1  # by the client, within seconds; after that the whole step is retried
_CONNECT = 10.0  # seconds
_POLL = 0.2  # seconds between checks of `stop`
_WORDS = 500
_RETRIED = "Helmsman retries automatically"

_CREDENTIALS = ("the judge's credentials were refused", "set a valid ANTHROPIC_API_KEY, in the environment or in a block")
_CREDIT = ("the judge's account has no credit", "add credit to the account of the key, or set judge.way to claude")
_REQUEST = ("the judge's request was refused", "set judge.model to one with structured outputs and a larger context")
_MODEL = ("the API does not know the judge's model", "set judge.model to a model that the key may use")
_ADDRESS = ("the address of the judge's API is invalid", "fix ANTHROPIC_BASE_URL; it must begin with https:// or http://")

_BY_STATUS = {**dict.fromkeys((400, 413, 422), _REQUEST), **dict.fromkeys((401, 403), _CREDENTIALS), 402: _CREDIT, 404: _MODEL}
"""Errors that the operator can fix, by HTTP status; all others may be temporary."""


@dataclass(frozen=True)
class CallSettings:
    """Settings of a call: configuration, credentials, tag, cancellation and time limit."""

    config: LoopConfig
    credentials: Credentials
    tag: str  # must be unique among running processes
    stop: Callable[[], bool] = never_stop
    seconds: float = VOTE_SECONDS  # time limit of one attempt

    def environment(self) -> Mapping[str, str]:
        """Variables of the call. Its credentials are redacted from now on."""
        credentials = self.credentials()
        register_credentials(credentials)
        return {**agent_environment(own_environment(), self.config.claude.environment), **credentials}


def send(request: Question, settings: CallSettings, environment: Mapping[str, str]) -> Reply:
    """Send one request, by API or Claude Code. Raises OperatorError, TransientError, Cancelled."""
    ask = _ask_by_api if way_of(settings.config.judge, environment) == "api" else _ask_by_cli
    return ask(request, settings, environment)


def way_of(config: JudgeConfig, environment: Mapping[str, str]) -> Literal["api", "claude"]:
    """How to call the model: as configured, or else by the API if there is a key."""
    if config.way != "auto":
        return config.way
    return "api" if environment.get("ANTHROPIC_API_KEY") else "claude"


def asks_claude_code(config: LoopConfig) -> bool:
    """Whether a judge is called through Claude Code. False if credentials in a block decide, unknown at the start."""
    judge, environment = config.judge, agent_environment(own_environment(), config.claude.environment)
    is_unknown = judge.way == "auto" and (judge.block or config.claude.block)
    return bool(judge.criteria) and not is_unknown and way_of(judge, environment) == "claude"


def _ask_by_api(request: Question, settings: CallSettings, environment: Mapping[str, str]) -> Reply:
    """Wait in a separate thread, because the client cannot be interrupted between events; after a cancel it is ignored."""
    outcome: Queue[Reply | Exception] = Queue()

    def put_answer() -> None:
        try:
            outcome.put(_request_answer(request, settings, environment))
        except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
            outcome.put(error)

    threading.Thread(target=put_answer, name="judge", daemon=True).start()
    while True:
        with suppress(Empty):
            answer = outcome.get(timeout=_POLL)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if settings.stop():
            raise Cancelled("cancelled while the judge was running")


def _request_answer(request: Question, settings: CallSettings, environment: Mapping[str, str]) -> Reply:
    """Send one message. All votes on a question have the same prefix up to the end of the evidence, which is cached."""
    model, seconds = settings.config.judge.model, settings.seconds
    deadline = time.monotonic() + seconds * (1 + _RETRIES)
    cached = (request.task, request.facts, request.closing)
    content: list[TextBlockParam] = [{"type": "text", "text": part, "cache_control": {"type": "ephemeral"}} for part in cached]
    with (
        _translating_errors(seconds),
        _client(seconds, environment) as client,
        client.messages.stream(
            model=model,
            max_tokens=ANSWER_TOKENS,
            system=[{"type": "text", "text": request.rules}],
            messages=[
                {"role": "user", "content": [*content, {"type": "text", "text": request.more}] if request.more else content}
            ],
            output_config={"format": {"type": "json_schema", "schema": request.form}},
        ) as stream,
    ):
        for event in stream:
            if time.monotonic() > deadline:
                raise _late_error(seconds)
            if event.type == "text" and len(event.snapshot) > LONGEST:
                raise _broken_error(f"it is longer than {LONGEST:,} characters")
        message = stream.current_message_snapshot
    if message.stop_reason is None:
        raise _broken_error("it ended before the message did")
    usage_counts, text = message.usage, "".join(block.text for block in message.content if block.type == "text")
    usage = Usage(
        input_tokens=usage_counts.input_tokens,
        cache_creation_tokens=usage_counts.cache_creation_input_tokens or 0,
        cache_read_tokens=usage_counts.cache_read_input_tokens or 0,
        output_tokens=usage_counts.output_tokens,
    )
    return Reply(text=text, stop=message.stop_reason, usage=with_cost(usage, model))


def _client(seconds: float, environment: Mapping[str, str]) -> "Anthropic":
    from anthropic import Anthropic

    key, token = (environment.get(name, "").strip() or None for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
    if key is None and token is None:
        raise OperatorError(
            "the judge has no credentials for the API",
            expected="ANTHROPIC_API_KEY in the environment or in a block",
            remedy="set a key, or set judge.way to claude",
        )
    return Anthropic(
        api_key=key,
        auth_token=token,
        base_url=environment.get("ANTHROPIC_BASE_URL") or None,
        timeout=httpx.Timeout(seconds, connect=min(_CONNECT, seconds)),
        max_retries=_RETRIES,
    )


@contextmanager
def _translating_errors(seconds: float) -> Generator[None]:
    """Translate the client's errors into ours: those that the operator can fix, and temporary ones."""
    from anthropic import APIError, APITimeoutError

    try:
        yield
    except (APITimeoutError, httpx.TimeoutException) as error:
        raise _late_error(seconds) from error
    except APIError as error:
        fixing = _BY_STATUS.get(getattr(error, "status_code", 0))
        if isinstance(error.__cause__, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            fixing = _ADDRESS
        elif "credit balance" in error.message:  # its status is a plain 400
            fixing = _CREDIT
        if fixing:
            raise _fixable_error(fixing, redact(error.message)) from error
        raise TransientError("the judge could not be reached", found=redact(error.message)[:_WORDS], remedy=_RETRIED) from error
    except UnicodeEncodeError as error:  # headers are ASCII only
        raise _fixable_error(_CREDENTIALS, "a key with invalid characters") from error
    except httpx.InvalidURL as error:
        raise _fixable_error(_ADDRESS, str(error)) from error
    except (httpx.HTTPError, ValueError, RuntimeError, AssertionError) as error:  # the stream broke, or is not from the API
        raise _broken_error(redact(str(error))) from error


def _fixable_error(fixing: tuple[str, str], found: str) -> OperatorError:
    problem, remedy = fixing
    return OperatorError(problem, found=found[:_WORDS], remedy=remedy)


def _broken_error(found: str) -> TransientError:
    return TransientError("the judge's answer was cut off", found=found[:_WORDS], remedy=_RETRIED)


def _late_error(seconds: float) -> TransientError:
    return TransientError("the judge did not answer in time", expected=f"an answer within {seconds:g} s", remedy=_RETRIED)


# --- by Claude Code ---------------------------------------------------------------------------------------------------

_TURNS = 10  # maximum; the first one fills in the form

_ISOLATION = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # without it the CLI attaches every file that the text names as @path
}

_DENY_READ = json.dumps({"permissions": {"deny": ["Read"]}})
"""The same for versions that do not know the variable."""

_FIXABLE = {
    AgentOutcome.AUTHENTICATION: ("the judge's credentials were refused", "log in with `claude`, or set a valid key or token"),
    AgentOutcome.BILLING: ("the judge's account has no credit", "add credit, or judge with another account"),
    AgentOutcome.BAD_MODEL: ("the judge's CLI does not know the model", "set judge.model to a model that the account may use"),
    AgentOutcome.REJECTED_REQUEST: ("the judge's request was refused", "set judge.model to one with a larger context"),
    AgentOutcome.CONTEXT_FULL: ("the judge's request is too long", "set judge.model to one with a larger context"),
    AgentOutcome.REFUSED_START: ("the judge's CLI refused to start", "fix what it says, or install a newer one"),
    AgentOutcome.BLOCKED_BY_HOOK: ("a hook blocked the judge's CLI", "allow it in the managed hooks"),
}
"""Outcomes that the operator can fix. All others without an answer may be temporary."""


def _ask_by_cli(request: Question, settings: CallSettings, environment: Mapping[str, str]) -> Reply:
    config, binary = settings.config.judge, find_binary(settings.config.claude)
    call, answers = ClaudeReader(), CliReader()

    def listen(line: bytes) -> None:
        event = parse_event(line)
        if event is not None:
            call.feed(event)
            answers.feed(event)

    with tempfile.TemporaryDirectory(prefix="helmsman-judge-") as empty:
        ended = run(
            [str(binary), *_arguments(request, config)],
            cwd=Path(empty),
            env={**environment, **_ISOLATION, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(ANSWER_TOKENS)},
            tag=settings.tag,
            deadline=settings.seconds,
            stdin=request.prompt.encode(),
            on_line=listen,
            stop=settings.stop,
        )
    if ended.by == "stop":
        raise Cancelled("cancelled while the judge was running")
    now = datetime.now(UTC)
    concluded = call.conclude(exit_code=ended.exit_code, ended_by=ended.by, stderr=ended.stderr, seconds=ended.seconds, now=now)
    answer = answers.answer(concluded.usage) if ended.by == "itself" else None
    if answer is not None:
        return answer
    found = redact(concluded.error)
    if concluded.outcome in _FIXABLE:
        problem, remedy = _FIXABLE[concluded.outcome]
        raise OperatorError(problem, found=found, remedy=remedy)
    if concluded.outcome is AgentOutcome.TIMED_OUT:
        raise _late_error(settings.seconds)
    raise TransientError(f"the judge gave no answer ({concluded.outcome})", found=found, remedy=_RETRIED)


def _arguments(request: Question, config: JudgeConfig) -> list[str]:
    """Arguments of the CLI. Event streams contain the reason of a failure, unlike the single JSON object."""
    return [
        "-p",
        *("--output-format", "stream-json", "--verbose"),
        *("--model", config.model),
        *("--system-prompt", request.rules),
        *("--json-schema", json.dumps(request.form)),
        *("--tools", ""),
        *("--settings", _DENY_READ),
        *("--setting-sources", ""),
        *("--permission-mode", "dontAsk"),
        *("--max-turns", str(_TURNS)),
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--no-session-persistence",
    ]
