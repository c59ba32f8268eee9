"""Ask the judge by the CLI in print mode: a separate session, without tools, settings or files, in an empty folder."""

import json
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from helmsman.config import ClaudeConfig, JudgeConfig
from helmsman.errors import Cancelled, OperatorError, TransientError
from helmsman.parsers.agent_actions import parse_event
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentOutcome
from helmsman.records.base import Reply
from helmsman.records.iteration import Question
from helmsman.verify.judge.request import ANSWER_TOKENS
from helmsman.verify.judge.votes import CliReader
from tasks.system.claude_binary import find_binary
from tasks.system.process import run
from tasks.system.secrets import redact

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


def ask_by_cli(
    request: Question,
    config: JudgeConfig,
    *,
    claude: ClaudeConfig,
    environment: Mapping[str, str],
    tag: str,
    stop: Callable[[], bool],
) -> Reply:
    """Get one vote. `tag` must be unique among running processes. Raises OperatorError, TransientError, Cancelled."""
    binary = find_binary(claude)
    call, answers = ClaudeReader(), CliReader()

    def listen(line: bytes) -> None:
        event = parse_event(line)
        if event is not None:
            call.feed(event)
            answers.feed(event)

    with tempfile.TemporaryDirectory(prefix="helmsman-judge-") as empty:
        ended = run(
            [str(binary), *arguments(request, config)],
            cwd=Path(empty),
            env={**environment, **_ISOLATION, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(ANSWER_TOKENS)},
            tag=tag,
            deadline=config.timeout_seconds,
            stdin=request.prompt.encode(),
            on_line=listen,
            stop=stop,
        )
    if ended.by == "stop":
        raise Cancelled("cancelled while the judge was running")
    now = datetime.now(UTC)
    concluded = call.conclude(exit_code=ended.exit_code, ended_by=ended.by, stderr=ended.stderr, seconds=ended.seconds, now=now)
    answer = answers.answer(concluded.usage) if ended.by == "itself" else None
    if answer is not None:
        return answer
    found, again = redact(concluded.error), "Helmsman retries automatically"
    if concluded.outcome in _FIXABLE:
        problem, remedy = _FIXABLE[concluded.outcome]
        raise OperatorError(problem, found=found, remedy=remedy)
    if concluded.outcome is AgentOutcome.TIMED_OUT:
        expected = f"an answer within {config.timeout_seconds:g} s (judge.timeout_seconds)"
        raise TransientError("the judge did not answer in time", expected=expected, remedy=again)
    raise TransientError(f"the judge gave no answer ({concluded.outcome})", found=found, remedy=again)


def arguments(request: Question, config: JudgeConfig) -> list[str]:
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
