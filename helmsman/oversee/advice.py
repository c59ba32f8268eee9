"""What the next iteration is told to do differently: one table from situation to stance, orders and session.

The first row that holds decides, and the last one always does. Its orders are the one paragraph of advice in the prompt; numbers,
rungs and names of rules are for people and stand in none of them.
"""

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict

from helmsman.oversee.detector import ADVICE as WORDS
from helmsman.oversee.drift import flagged
from helmsman.oversee.ladder import CYCLES
from helmsman.parsers.progress_file import without_plan
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Ladder, Stance, Strategy
from helmsman.records.iteration import WorkingMemory
from helmsman.records.state import LoopState
from helmsman.texts import plural

MOST = 5  # orders of one row
NEAR = 0.8  # completion above which an approach is finished rather than changed
DONE = 0.95  # completion from which, under green checks, an agent is expected to ask to be done
IDLE = 2  # iterations in a row without progress from which something else is tried; one may be research
RECURS = 2  # iterations in which the same class of failure was seen


PERSONAS: Mapping[str, str] = {"": "", **WORDS["personas"]}  # whose eyes an iteration looks with
SPECIALISTS: Mapping[FailureClass, str] = {FailureClass(kind): name for kind, name in WORDS["specialists"].items()}


class Advice(BaseModel):
    """One row of the table: what follows from a situation. Its words are explained in `advice.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    situation: str
    stance: Stance = "persist"
    because: str = ""
    orders: tuple[str, ...] = ()
    fresh: bool = False
    anew: bool = False
    specialist: bool = False
    instructed: bool = False
    persona: str = ""  # one of `PERSONAS`
    model: str = ""  # model that it is made with. Empty: the loop's own.


def advise(state: LoopState) -> Advice:
    """What the iteration that is due is told; nothing where the ladder is only watched."""
    if not state.config.ladder.act:
        return ADVICE["ordinary"]
    row, oversight = ADVICE[next(situation for situation, holds in SITUATIONS if holds(state))], state.oversight
    orders = (*(oversight.instructions[:1] if row.instructed else ()), *row.orders)
    # of the classes of failure that are still there the one with the longest run
    recurring = [learnt for learnt in oversight.learning if learnt.in_row >= RECURS] if row.specialist else []
    longest = max(recurring, key=lambda learnt: (learnt.in_row, learnt.recurred, learnt.seen), default=None)
    asked = SPECIALISTS.get(longest.kind, row.persona) if longest else row.persona
    redesigns = oversight.ladder.rung is EscalationLevel.REDESIGN or row.anew
    model = state.config.ladder.redesign_model if redesigns else ""
    return row.model_copy(update={"orders": orders[:MOST], "persona": asked, "model": model})


def strategy_of(state: LoopState) -> Strategy:
    """The same for people, with the numbers."""
    advice, oversight = advise(state), state.oversight
    idle = f", {plural(oversight.idle, 'iteration')} without progress" if oversight.idle else ""
    because = f"{advice.situation}: {oversight.progress.completion:.0%} done{idle}, {oversight.ladder.rung.title}"
    return Strategy(stance=advice.stance, reasoning=because, priorities=advice.orders)


def planned_anew(memory: WorkingMemory, state: LoopState) -> WorkingMemory:
    """The agent's notes as the advice leaves them: a plan that failed is discarded, what was decided and done stays."""
    return without_plan(memory) if advise(state).anew else memory


# --- situations -----------------------------------------------------------------------------------------------------


def _on(ladder: Ladder, *rungs: EscalationLevel, begins: bool | None = None) -> bool:
    """On a rung that has brought nothing yet. `begins`: whether this is its first iteration."""
    last = ladder.climbs[-1] if ladder.climbs else None
    eased = last is not None and last.after < last.before < EscalationLevel.HUMAN  # then it begins with what got on
    gets_on = not ladder.spent and (ladder.clean or eased)
    return ladder.rung in rungs and not gets_on and begins in (None, not ladder.spent)


def _goes_round(state: LoopState, *, begins: bool) -> bool:
    ladder = state.oversight.ladder
    return _cause(ladder) in CYCLES and _on(ladder, EscalationLevel.REFACTOR, EscalationLevel.REDESIGN, begins=begins)


def _cause(ladder: Ladder) -> str:
    """The rule that led to the rung; the ladder puts it before its reason."""
    return ladder.reason.partition(":")[0]


def _stuck(state: LoopState) -> bool:
    oversight = state.oversight
    slow = oversight.control.band == "pivot" and oversight.idle >= IDLE and oversight.diagnosis != "productive"
    return slow or oversight.diagnosis == "stuck"


SITUATIONS: tuple[tuple[str, Callable[[LoopState], bool]], ...] = (
    ("double bind", lambda state: state.oversight.diagnosis == "double_bind"),
    ("denied", lambda state: "denied" in state.oversight.redirected),
    (
        "nothing done",  # nothing at all, as far as its program tells
        lambda state: (
            len(state.worked) >= IDLE
            and not any(one.tool_calls or one.files_changed or "tools" in one.untold for one in state.worked)
        ),
    ),
    ("broken", lambda state: state.oversight.feedback == "broken"),
    (
        "plan diverged",
        lambda s: _cause(s.oversight.ladder) == "plan.diverged" and _on(s.oversight.ladder, EscalationLevel.REFACTOR),
    ),
    ("goes round", lambda state: _goes_round(state, begins=True)),
    ("goes round still", lambda state: _goes_round(state, begins=False)),
    ("redesign", lambda state: _on(state.oversight.ladder, EscalationLevel.REDESIGN, begins=True)),
    ("redesign goes on", lambda state: _on(state.oversight.ladder, EscalationLevel.REDESIGN, begins=False)),
    ("refactor", lambda state: _on(state.oversight.ladder, EscalationLevel.REFACTOR)),
    ("amnesiac", lambda state: state.oversight.diagnosis == "amnesiac"),
    ("redirected", lambda state: bool(state.oversight.redirected and state.oversight.instructions)),
    ("stuck", _stuck),
    ("gutter", lambda state: state.oversight.feedback == "gutter"),
    ("judge", lambda state: any(one.iteration == state.judge.reset_at for one in state.judge.feedback[-1:])),
    ("refused", lambda state: bool(state.done.refused) or any(one.weight is Weight.BLOCK for one in state.findings)),
    ("off the task", lambda state: flagged(state.last_call.drift)),
    ("warned", lambda state: bool(state.oversight.instructions)),
    ("gets on", lambda state: state.oversight.ladder.rung in (EscalationLevel.REFACTOR, EscalationLevel.REDESIGN)),
    ("not asked", lambda s: bool(s.checks and s.checks.passed and s.worked) and s.oversight.progress.completion >= DONE),
    ("near", lambda state: state.oversight.progress.completion > NEAR),
    ("ordinary", lambda _: True),
)
"""Orders that cannot be followed come first, then what keeps any work from starting, failed levels, standstill, and the end."""
ADVICE: Mapping[str, Advice] = {
    name: Advice.model_validate({"situation": name, **WORDS["situations"].get(name, {})}) for name, _ in SITUATIONS
}
