"""What every attribute and instrument is called and means: the table that spans and points are made by, and docs/telemetry.md.

`gen_ai.*`, `error.type` and `vcs.*` are OpenTelemetry's semantic conventions (0.66, in development there); `helmsman.*` is ours.
"""

from typing import Literal, NamedTuple

TOKEN_BUCKETS = tuple(float(4**power) for power in range(14))
DURATION_BUCKETS = tuple(0.01 * 2**power for power in range(14))
"""Both as the conventions advise."""
ITERATION_BUCKETS = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0)
"""Seconds; an agent's call alone may take 15 min."""

ATTRIBUTES = {
    "gen_ai.operation.name": "`invoke_workflow`, `invoke_agent`, `execute_tool` or `chat`",
    "gen_ai.workflow.name": "`helmsman`",
    "gen_ai.provider.name": "`anthropic`, `openai`, …; the agent's own name where it may ask anybody",
    "gen_ai.agent.name": "the agent's program: `claude`, `codex`, …",
    "gen_ai.agent.version": "version of that program, where it tells",
    "gen_ai.conversation.id": "its session",
    "gen_ai.request.model": "model that was asked for",
    "gen_ai.response.model": "model that answered",
    "gen_ai.usage.input_tokens": "tokens that went in, cached ones included",
    "gen_ai.usage.output_tokens": "tokens that came out",
    "gen_ai.usage.cache_read.input_tokens": "of those that went in, read from the cache",
    "gen_ai.usage.cache_creation.input_tokens": "of those that went in, written to the cache",
    "gen_ai.token.type": "`input` or `output`",
    "gen_ai.tool.name": "the tool",
    "gen_ai.tool.call.id": "the agent's own id of the call",
    "gen_ai.tool.type": "`function`",
    "error.type": "what went wrong, in a word: how the call ended, `tool_error`, `check_failed`, whose fault a stop is",
    "vcs.ref.head.revision": "commit that the iteration ended with",
    "helmsman.loop.id": "the loop",
    "helmsman.iteration": "number of the iteration",
    "helmsman.attempt": "attempt at it; 2 and more after a crash or a usage limit",
    "helmsman.mode": "`basic`, `judge` (criteria are set) or `autonomous` (it merges by itself)",
    "helmsman.hat": "the persona that the iteration was made in, where hats are used",
    "helmsman.step": "the step",
    "helmsman.check": "name of the check",
    "helmsman.check.passed": "whether it passed",
    "helmsman.checks": "`passed`, `failed`, or `none` where nothing was checked",
    "helmsman.proven": "whether everything that completion needs was there",
    "helmsman.decision": "`continue`, `wait` or `stop`",
    "helmsman.decision.rule": "the rule that decided",
    "helmsman.outcome": "how the loop ended: `completed`, `unproven`, `nothing_changed`, `blocked`, `stopped`, `waiting`,"
    " `ejected`, `failed` or `cancelled`",
    "helmsman.verdict": "the judge's: `approved`, `rejected` or `undecided`",
    "helmsman.verdict.score": "weighted share of criteria that are met, 0 to 1",
    "helmsman.cost_usd": "US dollars, agent, judge and other calls together",
    "helmsman.paid_for": "what the money went to: `agent`, `judge`, `prompt`",
    "helmsman.tokens": "all tokens of the loop",
    "helmsman.iterations": "iterations of the loop that count",
    "helmsman.completion": "how far the work is by evidence, 0 to 1",
    "helmsman.level": "rung of the ladder, 0 (patch) to 4 (eject)",
    "helmsman.control.output": "urgency, 0 to 1",
    "helmsman.agent.outcome": "how the agent's call ended",
    "helmsman.agent.turns": "turns that it took",
    "helmsman.agent.tool_calls": "tool calls that it made; more than have a span, where they were many",
    "helmsman.files_changed": "files that the iteration changed",
    "helmsman.findings": "what the invariants found",
    "helmsman.contradictions": "claims of the agent that did not hold",
    "helmsman.signal.rule": "a detector's rule",
    "helmsman.signal.severity": "`LOG`, `WARN`, `REDIRECT`, `PAUSE` or `ABORT`",
    "helmsman.signal.value": "what it measured",
    "helmsman.signal.threshold": "against which bound",
}
"""What it means, by name."""

SPANS = {
    "invoke_workflow helmsman": "the loop, from its creation to its end; told when it ends",
    "iteration": "one attempt at one iteration; its notes (span events) are the signals of the overseer",
    "step {name}": "one step: orient, plan, prompt, execute, checks, …",
    "invoke_agent {agent}": "the agent's call, within `step execute`",
    "execute_tool {tool}": "a tool call of the agent's",
    "check {name}": "a check, within the step that ran it",
    "chat {model}": "judge, within `step judge`; the model that writes for the prompt, within `step plan`",
}
"""What is told, by the name of the span."""


class Instrument(NamedTuple):
    """What points are recorded with."""

    kind: Literal["counter", "histogram"]
    unit: str
    meaning: str
    buckets: tuple[float, ...] = ()


INSTRUMENTS = {
    "gen_ai.client.token.usage": Instrument("histogram", "{token}", "tokens of a call, in and out apart", TOKEN_BUCKETS),
    "gen_ai.client.operation.duration": Instrument("histogram", "s", "how long a call took", DURATION_BUCKETS),
    "helmsman.cost": Instrument("counter", "{USD}", "US dollars, as far as programs tell"),
    "helmsman.iterations": Instrument("counter", "{iteration}", "attempts at iterations, with what came of them"),
    "helmsman.iteration.duration": Instrument("histogram", "s", "how long an iteration took", ITERATION_BUCKETS),
    "helmsman.verdicts": Instrument("counter", "{verdict}", "verdicts of the judge"),
    "helmsman.signals": Instrument("counter", "{signal}", "what the detectors noticed"),
    "helmsman.contradictions": Instrument("counter", "{claim}", "claims of the agent that did not hold"),
    "helmsman.loops": Instrument("counter", "{loop}", "loops that ended"),
}
