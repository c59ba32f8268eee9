"""Answers in comments: `/helmsman approve` and its arguments. Choices that the open question does not offer are refused."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from helmsman.config.layers import display, from_assignments
from helmsman.errors import OperatorError
from helmsman.oversee.answers import EFFECTS, answer_from_form, apply_answer
from helmsman.parsers.issues import COMMAND, Command
from helmsman.records.forms import LONGEST_SETTINGS, read_form
from helmsman.records.gates import LONGEST_GUIDANCE, Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState

SET = "set"
SETTABLE = frozenset({"limits"})
"""Sections that a comment may change. A check or a program's path would run commands from a tracker's account."""


def answer_from_command(command: Command, state: LoopState, *, by: str, at: datetime) -> Answer:
    """The answer to the loop's open question. Raises OperatorError with the reason if the command is invalid."""
    gate = state.gate
    if gate is None:
        raise OperatorError("the loop no longer asks a question")
    sets = command.verb == SET and may_set_limits(gate)
    choice = Choice.APPROVE if sets else next((choice for choice in gate.choices if choice == command.verb), None)
    if choice is None:
        raise OperatorError("this command is not allowed here", found=f"{COMMAND} {display(command.verb)}")
    settings: Mapping[str, Any] = _parse_settings(command.rest) if sets else {}
    guidance = command.below if sets else "\n".join(filter(None, (command.rest, command.below)))
    if len(guidance) > LONGEST_GUIDANCE:
        raise OperatorError("the guidance is too long", expected=f"{LONGEST_GUIDANCE:,} characters", found=f"{len(guidance):,}")
    form = read_form(gate, {"decision": choice, "guidance": guidance, "by": by[:100]})
    answer = answer_from_form(state, gate, form, via="tracker", now=at)
    answer = answer.model_copy(update={"settings": dict(settings) or answer.settings})
    if (gate.kind, choice) in EFFECTS:
        apply_answer(state, answer, at)
    return answer


def may_set_limits(gate: Gate) -> bool:
    """Whether changed limits alone continue the loop; not where approval means more than that."""
    more = {GateKind.MERGE, GateKind.ITEM, GateKind.UNMERGED, GateKind.HANDED_OVER}
    return Choice.APPROVE in gate.choices and gate.kind not in more


def _parse_settings(assignments: str) -> Mapping[str, Any]:
    """Parse assignments separated by spaces, so values contain none."""
    if not assignments or len(assignments) > LONGEST_SETTINGS:
        raise OperatorError("the command sets no key", expected=f"{COMMAND} set limits.iterations=40")
    settings = from_assignments(assignments.split())
    refused = sorted(settings.keys() - SETTABLE)
    if refused or not all(isinstance(value, dict) for value in settings.values()):
        raise OperatorError(
            "a comment may set only limits",
            expected="limits.KEY=VALUE",
            found=", ".join(map(display, refused)) or "limits itself",
            remedy="answer on the command line or in the Prefect UI, where every key can be set",
        )
    return settings
