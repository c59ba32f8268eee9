"""What the next iteration must do differently: one table from situation to stance, instructions and session.

The first matching row decides; the last one always matches. Its instructions are the only paragraph of advice in the prompt;
numbers, levels and rule names are for people and never appear in it.
"""

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict

from helmsman.oversee.detector import ADVICE as TEXTS
from helmsman.oversee.drift import is_off_task
from helmsman.oversee.ladder import CYCLE_RULES
from helmsman.parsers.progress_file import without_next_steps
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Ladder, Stance, Strategy
from helmsman.records.iteration import WorkingMemory
from helmsman.records.state import LoopState
from helmsman.texts import plural

MOST = 5  # instructions of one row
NEAR = 0.8  # completion above which to finish an approach rather than change it
DONE = 0.95  # completion from which, with green checks, an agent is expected to claim completion
IDLE = 2  # iterations in a row without progress after which to try something else; one may be research
RECURS = 2  # iterations in a row with the same class of failure


PERSONAS: Mapping[str, str] = {"": "", **TEXTS["personas"]}  # role that the agent takes in an iteration
SPECIALISTS: Mapping[FailureClass, str] = {FailureClass(kind): name for kind, name in TEXTS["specialists"].items()}


class Advice(BaseModel):
    """One row of the table. Its fields are explained in `advice.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    situation: str
    stance: Stance = "persist"
    reason: str = ""
    instructions: tuple[str, ...] = ()
    fresh: bool = False
    new_plan: bool = False
    specialist: bool = False
    alert_first: bool = False
    persona: str = ""  # one of `PERSONAS`
    model: str = ""  # model of the iteration; empty: the loop's own


def advise(state: LoopState) -> Advice:
    """Advice for the due iteration; the ordinary row if the ladder only observes."""
    if not state.config.ladder.act:
        return ADVICE["ordinary"]
    row, oversight = ADVICE[next(situation for situation, applies in SITUATIONS if applies(state))], state.oversight
    alert = oversight.instructions[:1] if row.alert_first else ()
    instructions = (*alert, *row.instructions[len(alert) :])  # two first steps in one paragraph would contradict each other
    # the current class of failure with the longest run
    recurring = [learning for learning in oversight.learning if learning.in_row >= RECURS] if row.specialist else []
    longest = max(recurring, key=lambda learning: (learning.in_row, learning.recurred, learning.seen), default=None)
    persona = SPECIALISTS.get(longest.kind, row.persona) if longest else row.persona
    is_redesign = oversight.ladder.rung is EscalationLevel.REDESIGN or row.new_plan
    model = state.config.ladder.redesign_model if is_redesign else ""
    return row.model_copy(update={"instructions": instructions[:MOST], "persona": persona, "model": model})


def strategy_of(state: LoopState) -> Strategy:
    """The same for people, with numbers."""
    advice, oversight = advise(state), state.oversight
    idle = f", {plural(oversight.idle, 'iteration')} without progress" if oversight.idle else ""
    reasoning = f"{advice.situation}: {oversight.progress.completion:.0%} done{idle}, {oversight.ladder.rung.title}"
    return Strategy(stance=advice.stance, reasoning=reasoning, priorities=advice.instructions)


def without_failed_plan(memory: WorkingMemory, state: LoopState) -> WorkingMemory:
    """The agent's notes after the advice: a failed plan is discarded, decisions and completed work stay."""
    return without_next_steps(memory) if advise(state).new_plan else memory


# --- situations -----------------------------------------------------------------------------------------------------


def _is_stalled_on(ladder: Ladder, *rungs: EscalationLevel, is_first: bool | None = None) -> bool:
    """Whether the loop is on a level without progress so far. `is_first`: whether this is its first iteration there."""
    last = ladder.climbs[-1] if ladder.climbs else None
    has_descended = last is not None and last.after < last.before < EscalationLevel.HUMAN  # then it starts with progress
    has_progress = not ladder.spent and (ladder.clean or has_descended)
    return ladder.rung in rungs and not has_progress and is_first in (None, not ladder.spent)


def _is_cycling(state: LoopState, *, is_first: bool) -> bool:
    ladder = state.oversight.ladder
    return _rule_behind(ladder) in CYCLE_RULES and _is_stalled_on(
        ladder, EscalationLevel.REFACTOR, EscalationLevel.REDESIGN, is_first=is_first
    )


def _rule_behind(ladder: Ladder) -> str:
    """The rule that led to the level; the ladder puts it at the start of its reason."""
    return ladder.reason.partition(":")[0]


def _is_stuck(state: LoopState) -> bool:
    oversight = state.oversight
    slow = oversight.control.band == "pivot" and oversight.idle >= IDLE and oversight.diagnosis != "productive"
    return slow or oversight.diagnosis == "stuck"


SITUATIONS: tuple[tuple[str, Callable[[LoopState], bool]], ...] = (
    ("double bind", lambda state: state.oversight.diagnosis == "double_bind"),
    ("denied", lambda state: "denied" in state.oversight.redirected),
    (
        "nothing done",  # nothing at all, as far as its program reports
        lambda state: (
            len(state.past_iterations) >= IDLE
            and not any(past.tool_calls or past.files_changed or "tools" in past.untold for past in state.past_iterations)
        ),
    ),
    ("broken", lambda state: state.oversight.feedback == "broken"),
    (
        "plan diverged",
        lambda state: (
            _rule_behind(state.oversight.ladder) == "plan.diverged"
            and _is_stalled_on(state.oversight.ladder, EscalationLevel.REFACTOR)
        ),
    ),
    ("cycle", lambda state: _is_cycling(state, is_first=True)),
    ("cycle continues", lambda state: _is_cycling(state, is_first=False)),
    ("redesign", lambda state: _is_stalled_on(state.oversight.ladder, EscalationLevel.REDESIGN, is_first=True)),
    ("redesign continues", lambda state: _is_stalled_on(state.oversight.ladder, EscalationLevel.REDESIGN, is_first=False)),
    ("refactor", lambda state: _is_stalled_on(state.oversight.ladder, EscalationLevel.REFACTOR)),
    ("amnesiac", lambda state: state.oversight.diagnosis == "amnesiac"),
    ("redirected", lambda state: bool(state.oversight.redirected and state.oversight.instructions)),
    ("stuck", _is_stuck),
    ("session stuck", lambda state: state.oversight.feedback == "gutter"),
    ("judge", lambda state: any(rejection.iteration == state.judge.reset_at for rejection in state.judge.feedback[-1:])),
    ("claim denied", lambda state: bool(state.done.refused) or any(finding.weight is Weight.BLOCK for finding in state.findings)),
    ("off task", lambda state: is_off_task(state.last_call.drift)),
    ("warned", lambda state: bool(state.oversight.instructions)),
    ("improving", lambda state: state.oversight.ladder.rung in (EscalationLevel.REFACTOR, EscalationLevel.REDESIGN)),
    (
        "not claimed",  # a claim that a person sent back, at the merge say, leaves no denial
        lambda s: (
            bool(s.checks and s.checks.passed and s.past_iterations and not s.past_iterations[-1].asked)
            and s.oversight.progress.completion >= DONE
        ),
    ),
    ("nearly done", lambda state: bool(state.past_iterations) and state.oversight.progress.completion > NEAR),
    ("ordinary", lambda _: True),
)
"""Instructions that cannot be followed come first, then what prevents any work, failed levels, stagnation, and the end."""
ADVICE: Mapping[str, Advice] = {
    name: Advice.model_validate({"situation": name, **TEXTS["situations"].get(name, {})}) for name, _ in SITUATIONS
}
