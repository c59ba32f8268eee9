"""Situations of a loop, as the state before an iteration: what the agent is told in each is kept in `tests/fixtures/prompts`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from helmsman.records.agent import AgentOutcome, Commit, Drift, LastCall, Salvage
from helmsman.records.checks import CheckReport, Finding, TestCounts, Weight
from helmsman.records.control import (
    Conflict,
    EscalationLevel,
    Imperative,
    IterationSummary,
    Ladder,
    Movement,
    Oversight,
    RolledBack,
)
from helmsman.records.plan import CurrentItem, ItemSketch, PlanItem
from helmsman.records.proof import Denial, DoneSignals, JudgeMemory, Rejection
from helmsman.records.state import LoopState
from tests.unit.builders import NOW, check, config, orientation, report, state

GOAL = "Make every function in calc.py right, so that ./check.sh passes"
ALL = ("test_add", "test_sub", "test_half", "test_mx")
OF = config(GOAL, checks=("./check.sh",))
JUDGED = config(
    GOAL,
    checks=("./check.sh",),
    judge={
        "criteria": [{"id": "documented", "text": "Every function in calc.py has a docstring."}],
        "envisioning": "Somebody who reads calc.py knows what each function does.",
    },
)
GREEN = report(check(passed=True, command="./check.sh", name="check"))
COMMITS = (
    Commit(id="674ed9a" * 5, subject="calc: sub returns its value"),
    Commit(id="2138cb4" * 5, subject="calc: add is right"),
)


class Situation(NamedTuple):
    """The state before an iteration, and words that its prompt must not contain."""

    state: LoopState
    silent: tuple[str, ...] = ("RALPH_STATUS", "E-I", "urgency", "%", "mend ", "in vain", "rung", "regressing")
    commits: tuple[Commit, ...] = ()
    hand: CurrentItem | None = None

    @property
    def orientation(self) -> Any:
        return orientation(commits=self.commits, plan=self.hand)


def red(*failing: str) -> CheckReport:
    lines = tuple(f"tests/test_calc.py:{number} | TestCalc.{name} | None != 5" for number, name in enumerate(failing, 8))
    counts = TestCounts(passed=4 - len(failing), failed=len(failing), failing=failing)
    return report(check(passed=False, command="./check.sh", name="check", counts=counts, listed=lines, head="\n".join(lines)))


def moment(iteration: int, *failing: str, **fields: Any) -> IterationSummary:
    known = {"at": NOW, "outcome": AgentOutcome.FINISHED, "movement": Movement.FORWARD, "completion": 0.5, "tool_calls": 3}
    where = {"commit": f"{iteration:x}" * 40, "tree": f"t{iteration}", "failing": ("check", *failing), "files": ("calc.py",)}
    return IterationSummary.model_validate({"iteration": iteration, **known, **where, "files_changed": 1, **fields})


START = moment(0, *ALL, movement=Movement.WAITED)
WORKED = (START, moment(1, *ALL[1:]), moment(2, *ALL[2:]))


def after(*failing: str, **fields: Any) -> LoopState:
    history = fields.pop("history", WORKED)
    known = {"iteration": history[-1].iteration, "history": history, "checks": red(*failing) if failing else GREEN}
    return state(fields.pop("of", OF), **{**known, **fields})


def refused(*rules: str, why: str = "it is so") -> DoneSignals:
    return DoneSignals(refused=tuple(Denial.model_validate({"rule": rule, "why": why}) for rule in rules))


def on(rung: EscalationLevel, reason: str = "stuck: 1 %", **fields: Any) -> Oversight:
    return Oversight(ladder=Ladder(rung=rung, reason=reason), **fields)


def hand(*, own: bool) -> CurrentItem:
    item = PlanItem(id="T001", title="Write the parser", check="make parser" if own else "")
    sketch = (ItemSketch(id="T001", title="Write the parser"), ItemSketch(id="T002", title="Print"))
    return CurrentItem(item=item, left=("T001", "T002"), remaining=2, next="T002", total=2, sketch=sketch)


COPIED = Finding(
    rule="hard_coded",
    weight=Weight.BLOCK,
    path="calc.py",
    line=2,
    after="return {(2, 3): 5}.get(args)",
    message="answers copied from the tests",
    honest="Compute the result from the arguments.",
)
REJECTED = Rejection(
    iteration=2, at=NOW, consecutive=1, reason="documented: half says nothing of odd numbers", criteria=("documented",)
)
FAILED = RolledBack(
    iteration=2, ref="r", commit="f" * 40, back_to="a" * 40, why="worse", rule="regressing", files=("calc.py",)
)  # fmt: skip
BOUND = Conflict(
    kind="scope",
    first=Imperative(source="goal", text="Make every function in calc.py right.", modality="must"),
    second=Imperative(source="AGENTS.md", line=3, text="Never change calc.py.", modality="must_not"),
    about="calc.py",
)
BACK = (moment(1, *ALL[1:], tree="A"), moment(2, *ALL, tree="B"), moment(3, *ALL[1:], tree="A"))
IDLE = tuple(moment(number, *ALL, tool_calls=0, files=(), files_changed=0, movement=Movement.STILL) for number in (1, 2, 3))
SALVAGE = Salvage(iteration=1, attempt=1, ref="r", commit="e" * 40, files=2)
PLANNED = config(GOAL, checks=("./check.sh",), plan={"file": "plan.toml"})

SITUATIONS: Mapping[str, Situation] = {
    "first": Situation(state(OF, checks=red(*ALL))),
    "first-without-report": Situation(state(OF)),
    "without-checks": Situation(state(config(GOAL, checks=()))),
    "progress": Situation(after(*ALL[2:]), commits=COMMITS),
    "newly-broken": Situation(after("test_half", "test_add")),
    "green-not-asked": Situation(after()),
    "green-at-the-start": Situation(state(OF, checks=GREEN, green_at_start=True)),
    "claim-under-red-checks": Situation(after("test_mx", done=refused("checks"))),
    "claim-with-finding": Situation(after(done=refused("invariants"), findings=(COPIED,))),
    "claim-rejected-by-judge": Situation(after(of=JUDGED, done=refused("judge"), judge=JudgeMemory(feedback=(REJECTED,)))),
    "claim-unproven": Situation(after(done=refused("unproven"))),
    "two-refusals": Situation(after(done=refused("looked_up", "hidden"))),
    "claim-unchanged": Situation(after(done=refused("unchanged"))),
    "nothing-done": Situation(after(*ALL, history=IDLE, oversight=on(EscalationLevel.REDESIGN, idle=3))),
    "oscillating": Situation(after(*ALL[1:], history=BACK, oversight=on(EscalationLevel.REFACTOR, "oscillating: 3"))),
    "redesign": Situation(after(*ALL[2:], oversight=on(EscalationLevel.REDESIGN))),
    "double-bind": Situation(after("test_mx", oversight=Oversight(diagnosis="double_bind", conflicts=(BOUND,)))),
    "taken-back": Situation(after("test_mx", failed=FAILED), silent=("fixed:",)),
    "interrupted": Situation(after("test_mx", salvaged=(SALVAGE,))),
    "off-the-task": Situation(after("test_mx", last_call=LastCall(drift=Drift(deeds=4, strangers=("a.md", "b.md", "c.md"))))),
    "blocked": Situation(after("test_mx", done=DoneSignals(blocked=1, blocked_by="test_mx demands 9 and 10"))),
    "research": Situation(
        state(config(GOAL, checks=("./check.sh",), research={"use": True})), silent=("RALPH_STATUS", "<promise>")
    ),
    "plan-item-with-check": Situation(state(PLANNED, checks=red(*ALL)), hand=hand(own=True)),
    "plan-item-without-check": Situation(state(PLANNED, checks=red(*ALL)), hand=hand(own=False)),
}
