"""The step `plan` where orders may contradict each other: when a model is asked, and what of it is kept and charged."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from deployments.demo_model import Turn, say
from helmsman.oversee.conflict_question import fingerprint
from helmsman.records.control import ConflictSearch, EscalationLevel, Ladder, Oversight
from helmsman.records.iteration import Planned
from helmsman.records.state import LoopState
from tasks.models.planning import write
from tasks.repository.git import git, open_repository
from tasks.repository.instructions import read_orders
from tasks.repository.loop_context import LoopContext
from tasks.system.paths import LoopFolder
from tests.fakes.faults import Fault
from tests.fakes.judge_api import JudgeApi, Raw
from tests.unit.builders import config, orientation, state
from tests.unit.histories import history, step

pytestmark = pytest.mark.feature("S11")
RULES = "- Answers must be odd.\n- Stored values must be even.\n- Commit every step.\n"
READ = json.dumps({"conflicts": [{"first": 2, "second": 3, "kind": "pattern", "about": "the answer"}]})


@pytest.fixture
def context(tmp_path: Path) -> LoopContext:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "commit", "--quiet", "--allow-empty", "--message", "start")
    (work / "AGENTS.md").write_text(RULES)
    return LoopContext(open_repository(work), work, LoopFolder(tmp_path / "loop"))


def stands(
    rung: EscalationLevel = EscalationLevel.REFACTOR,
    search: ConflictSearch | None = None,
    *,
    asks: bool = True,
    seconds: float = 60,
) -> LoopState:
    of = config("make it so", prompt={"contradictions": asks, "timeout_seconds": seconds})
    return state(of, iteration=4, oversight=Oversight(ladder=Ladder(rung=rung, reason="stuck"), sought=search))


def planned(context: LoopContext, before: LoopState, *answers: Turn | Raw) -> tuple[Planned, int]:
    """What was planned, and how often a model was asked."""
    with JudgeApi(answers or (say(READ),)) as api:
        credentials: Mapping[str, str] = {"ANTHROPIC_API_KEY": "sk-ant-of-the-test", "ANTHROPIC_BASE_URL": api.url}
        return write(context, before, orientation(), lambda: credentials), len(api.requests)


def test_in_trouble_a_model_is_asked_once_about_the_orders_of_the_worktree(context: LoopContext) -> None:
    plan, asked = planned(context, stands())
    assert plan.sought
    assert [(one.first.text, one.second.line, one.by) for one in plan.sought.conflicts] == [("Answers must be odd.", 2, "model")]
    assert (asked, plan.usage.tokens > 0, plan.reasons) == (1, True, ())
    again, asked = planned(context, stands(search=plan.sought))
    assert (asked, again) == (0, Planned())


def test_orders_that_changed_are_asked_about_again(context: LoopContext) -> None:
    known = ConflictSearch(orders=fingerprint(read_orders(context.worktree, stands().config)))
    (context.worktree / "AGENTS.md").write_text(f"{RULES}- Push nothing.\n")
    assert planned(context, stands(search=known))[1] == 1


@pytest.mark.parametrize(
    ("before", "rules"),
    [
        (stands(EscalationLevel.PATCH), RULES),
        (stands(asks=False), RULES),
        (stands(), ""),
        (stands(), "- Use mocks.\n- Never use mocks.\n"),
    ],
    ids=["healthy", "off", "one order", "rules see it"],
)
def test_a_loop_that_need_not_ask_pays_nothing(context: LoopContext, before: LoopState, rules: str) -> None:
    (context.worktree / "AGENTS.md").write_text(rules)
    assert planned(context, before) == (Planned(), 0)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [(say("I see none."), 60), (Fault(delay=60), 3)],
    ids=["words", "late"],
)
def test_a_call_that_fails_changes_nothing_and_says_why(context: LoopContext, answer: Turn, seconds: float) -> None:
    plan, asked = planned(context, stands(seconds=seconds), answer)
    assert (plan.sought, asked) == (None, 1)
    assert [reason.startswith("asked for contradictions between orders: ") for reason in plan.reasons] == [True]
    assert (plan.usage.tokens > 0) is (not isinstance(answer, Fault) or answer.status is None)


@pytest.mark.feature("O5", "O8")
@pytest.mark.parametrize("turn", [say("no"), Fault(status=401)])
def test_where_no_model_can_write_the_templates_serve_with_the_reasons(context: LoopContext, turn: Turn) -> None:
    of = config("make it so", prompt={"written": True, "compact": True, "timeout_seconds": 20})
    redesign = Oversight(ladder=Ladder(rung=EscalationLevel.REDESIGN, reason="stuck"))
    plan, asked = planned(context, state(of, iteration=1, history=history(step()), oversight=redesign), turn, turn)
    assert (plan.focus, plan.compacted and plan.compacted.by, asked, len(plan.reasons)) == (None, "template", 2, 2)
