"""A loop with a plan that is killed in the steps that belong to plans: no tick is lost, and none is made twice."""

import pytest

from helmsman.records.verdict import Outcome
from tasks.repository.git import git
from tests.e2e.test_crash import dies
from tests.fakes.bench import Bench, ended
from tests.fakes.two_sessions import LOOP, SESSIONS

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("E3", "M8")]

PLAN = """\
[[item]]
id = "T001"
title = "Half of it"
check = "test -s two.txt"

[[item]]
id = "T002"
title = "The rest"
needs = ["T001"]
check = "test -s three.txt"
"""
IN_THE_MIDDLE = "900"
"""Calls of Python functions, with which the tick has made its commit and is about to stand on it."""


@pytest.mark.slow
def test_a_loop_killed_while_it_checks_and_ticks_an_item_ticks_each_item_once(loop_bench: Bench) -> None:
    (loop_bench.repository / "plan.toml").write_text(PLAN)
    git(loop_bench.repository, "add", "--all")
    git(loop_bench.repository, "commit", "--quiet", "--message", "plan")
    loop_bench.variables["HELMSMAN_PLAN__FILE"] = "plan.toml"
    for moment in (("item_check", "end"), ("tick", "start"), ("tick", "middle", IN_THE_MIDDLE), ("tick", "end")):
        dies(loop_bench, *moment)
    resumed = ended(loop_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed
    ending = loop_bench.ending()
    assert (ending.outcome, ending.iterations, ending.agent_calls, ending.records) == (Outcome.COMPLETED, 2, 2, (2, 1))
    assert ending.commits == (
        "Tick T002: The rest",
        "The rest",
        "Tick T001: Half of it",
        "helmsman: keep what iteration 1 left uncommitted",
        "Half of it",
    )
    assert git(loop_bench.repository, "show", f"helmsman/{LOOP}:plan.toml").count("done = true") == 2
    # No stop is blocked, since the item's own check passes.
    assert loop_bench.sessions() == [(1, len(SESSIONS[1])), (2, len(SESSIONS[2]))]
    assert loop_bench.state.plan.ticked == {"T001": 1, "T002": 2}
    assert loop_bench.salvaged() == {}
