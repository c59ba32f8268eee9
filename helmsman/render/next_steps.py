"""What a person may want to type now: one command that shows the work, and one that goes on."""

import shlex
from collections.abc import Iterator

from helmsman.plain import clean
from helmsman.records.gates import Gate
from helmsman.records.result import LoopResult
from helmsman.records.verdict import Outcome
from helmsman.render.gates import answer_command

LIMITS = "limits."


def next_lines(result: LoopResult, gate: Gate | None = None) -> Iterator[str]:
    """The commands as lines of a terminal."""
    yield from (f"{label:<10} {command}" for label, command in next_steps(result, gate))


def next_steps(result: LoopResult, gate: Gate | None = None) -> Iterator[tuple[str, str]]:
    """What each command is for, and the command. Where a question is open, `gate`: its answer comes first."""
    if result.unverified:
        yield "next", f"helmsman resume {result.loop}  # says what can be done about an unverified state, and does nothing else"
        return
    yield "look", _look(result)
    if step := _step(result, gate):
        yield "next", step


def _look(result: LoopResult) -> str:
    if result.merged:
        return f"git show --stat --first-parent {result.merged.commit[:12]}"
    return f"git diff ...{_branch(result)}" if result.outcome is Outcome.COMPLETED else f"helmsman log {result.loop}"


def _step(result: LoopResult, gate: Gate | None) -> str:
    if gate is not None:
        choice, effect = next(iter(gate.choices.items()))
        return f"{answer_command(gate, choice, result.loop)}  # {effect} Other choices: helmsman answer {result.loop}"
    if result.merged:
        same = result.merged.commit == result.merged.base
        return "" if same else f"git revert -m 1 {result.merged.commit[:12]}  # only to take it out again"
    if result.outcome is Outcome.COMPLETED:
        return f"git merge {_branch(result)}"
    more = f" --set {result.rule}=VALUE" if result.outcome is Outcome.STOPPED and result.rule.startswith(LIMITS) else ""
    return f"helmsman resume {result.loop}{more}"


def _branch(result: LoopResult) -> str:
    return shlex.quote(clean(result.branch))  # git allows what a shell would run, and whoever reads it may copy it
