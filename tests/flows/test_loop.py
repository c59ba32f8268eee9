"""Whole loops on a real engine, with a scripted agent: what is decided, what is recorded, what it costs."""

import json
import shlex
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deployments.show import report_page
from flows.loop import loop
from helmsman.config.layers import from_assignments
from helmsman.oversee.decide import questions
from helmsman.records.agent import AgentOutcome
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Outcome
from helmsman.records.request import LoopRequest
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records, read_state
from tests.fakes.scripted_agent import PROMISE, Call, calls_made, fails_with, message_events, prompt_of, says
from tests.flows.conftest import Drive
from tests.unit.test_research import APPROACH, WHOLE

SOLVE = 'echo 42 > answer; git add answer; git commit -qm "Answer"'


@pytest.mark.feature("V9", "M2")
def test_a_claim_with_failing_checks_is_not_believed_and_the_next_prompt_says_so(drive: Drive) -> None:
    driven = drive([says(f"Done.\n{PROMISE}"), says(f"Done.\n{PROMISE}", shell=SOLVE)])
    assert driven.state.outcome is Outcome.COMPLETED
    assert driven.state.iteration == 2
    assert "You asked for completion in iteration 1. It was refused: checks fail" in prompt_of(driven.agent, 1)


@pytest.mark.slow
@pytest.mark.feature("E4")
def test_an_overloaded_model_is_tried_again_with_delays_and_costs_no_iteration(drive: Drive) -> None:
    retry = {"attempts": 3, "first_delay_seconds": 0.2}
    begun = time.monotonic()
    driven = drive([fails_with(529, "Overloaded"), fails_with(500, "Internal"), says(PROMISE, shell=SOLVE)], retry=retry)
    assert driven.state.outcome is Outcome.COMPLETED
    assert (driven.state.iteration, calls_made(driven.agent)) == (1, 3)
    assert time.monotonic() - begun >= 0.2 + 0.4


@pytest.mark.slow
@pytest.mark.feature("E4")
def test_refused_credentials_are_never_retried_and_are_the_operators_fault(drive: Drive) -> None:
    driven = drive([fails_with(401, "Failed to authenticate. API Error: 401 bad key")])
    assert calls_made(driven.agent) == 1
    assert driven.state.ending is not None
    assert (driven.state.ending.outcome, driven.state.ending.fault) == (Outcome.FAILED, "operator")
    assert "401" in driven.state.ending.reason


@pytest.mark.slow
@pytest.mark.feature("E5")
def test_an_agent_that_prints_nothing_is_ended_unless_its_command_may_take_longer_and_its_partial_work_kept(drive: Drive) -> None:
    hang = Call(shell="echo half > notes; sleep 60")
    tests = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make", "timeout": 30_000}}
    told = {"type": "assistant", "message": {"id": "m", "content": [tests]}, "parent_tool_use_id": None, "session_id": "s"}
    busy = f"echo {shlex.quote(json.dumps(told))}; sleep 4; {SOLVE}"
    driven = drive([hang, says(PROMISE, shell=busy)], claude={"idle_timeout_minutes": 0.03})
    last, first = read_records(open_repository(driven.repository), "loop")
    assert last.execution.call.outcome is AgentOutcome.FINISHED
    assert first.execution.call.outcome is AgentOutcome.HUNG
    assert first.execution.change.files == ("notes",)
    assert driven.state.outcome is Outcome.COMPLETED


@pytest.mark.slow
@pytest.mark.feature("S7")
def test_an_agent_that_crashes_again_and_again_has_one_pause_and_then_stops_the_loop(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "COOL_DOWN_MINUTES", 0.01)
    driven = drive([Call(events=message_events("hm"), exit_code=1)], limits={"agent_failures": 2})
    crashed, paused, last = list(read_records(open_repository(driven.repository), "loop"))[::-1]
    assert (crashed.decision.rule, paused.decision.rule) == ("continue", "breaker.open")
    assert paused.decision.until is not None
    assert last.started_at >= paused.decision.until
    assert (driven.state.iteration, driven.state.oversight.ladder.rung) == (2, EscalationLevel.PATCH)
    assert driven.state.ending is not None
    assert (driven.state.ending.rule, driven.state.ending.fault) == ("limits.agent_failures", "agent")
    assert calls_made(driven.agent) == 3


@pytest.mark.slow
@pytest.mark.feature("V2")
def test_a_tree_that_was_checked_is_not_checked_again(drive: Drive, tmp_path: Path) -> None:
    count = tmp_path / "count"
    driven = drive([says(), says(), says()], checks=[f"echo x >> {count}; false"], limits={"iterations": 3})
    assert driven.state.iteration == 3
    assert count.read_text() == "x\n"


@pytest.mark.feature("V2")
def test_failing_tests_and_output_reach_the_next_prompt(drive: Drive) -> None:
    check = "echo 'FAILED tests/test_a.py::test_sum - assert 1 == 2'; echo '=== 1 failed, 2 passed in 0.10s ==='; exit 1"
    driven = drive([says(), says()], checks=[check], limits={"iterations": 2})
    prompt = prompt_of(driven.agent, 1)
    assert "tests/test_a.py::test_sum" in prompt
    assert "exits with 1" in prompt
    counts = driven.state.checks.results[0].counts if driven.state.checks else None
    assert counts is not None
    assert (counts.passed, counts.failed) == (2, 1)


@pytest.mark.slow
@pytest.mark.feature("S19")
def test_a_loop_at_its_limit_is_reset_to_its_best_tree_and_resumes_from_it(drive: Drive) -> None:
    checks = ("grep -q one answer", "grep -q two answer", "grep -q three answer")
    calls = [
        says(shell="echo one two > answer"),
        says(shell="echo one > answer"),
        says(PROMISE, shell="echo one two three > answer"),
    ]
    stopped = drive(calls, checks=checks, limits={"iterations": 2})
    repository, kept = open_repository(stopped.repository), stopped.state.failed
    assert kept is not None
    assert stopped.state.ending is not None
    assert "; the branch is left at " in stopped.state.ending.reason
    assert git(repository.top, "show", "helmsman/loop:answer") == "one two\n"
    assert git(repository.top, "show", f"{kept.ref}:answer") == "one\n"
    assert f"<code>{kept.ref}</code> after iteration 2: " in report_page(repository, "loop")
    request = LoopRequest(
        repository=str(stopped.repository), loop="loop", reopen=True, settings=from_assignments(["limits.iterations=5"])
    )
    loop(request, return_state=True)
    assert read_state(repository, "loop")[0].outcome is Outcome.COMPLETED
    assert "Your tree is the best one" in prompt_of(stopped.agent, 2)


@pytest.mark.slow
@pytest.mark.feature("E13")
def test_a_loop_waits_for_the_reset_when_its_share_of_the_usage_window_is_used(drive: Drive) -> None:
    reset = int(time.time()) + 12
    info = {"status": "allowed_warning", "resetsAt": reset, "rateLimitType": "five_hour", "utilization": 0.93}
    first = says(shell="echo 41 > answer")
    first = Call(first.shell, ({"type": "rate_limit_event", "rate_limit_info": info, "session_id": "s"}, *first.events))
    driven = drive([first, says(PROMISE, shell=SOLVE)], usage_limit={"pause_at": 0.9, "margin_seconds": 0})
    second, waited = read_records(open_repository(driven.repository), "loop")
    assert waited.decision.rule == "usage_limit.pause_at"
    assert waited.decision.until == datetime.fromtimestamp(reset, UTC)
    assert waited.decision.until is not None
    assert second.started_at >= waited.decision.until
    assert [signal.rule for record in (waited, second) for signal in record.signals].count("usage_limit.near") == 1
    assert (driven.state.outcome, driven.state.iteration) == (Outcome.COMPLETED, 2)
    assert "a usage limit is nearly reached" not in prompt_of(driven.agent, 1)  # it was reset


@pytest.mark.feature("V13")
def test_a_loop_that_weakens_a_test_completes_only_when_the_original_test_passes_too(drive: Drive) -> None:
    weaken, mend = "echo 41 > answer; echo 'test -s answer' > check.sh", f"{SOLVE}; echo '# a number' >> check.sh"
    driven = drive([says(PROMISE, shell=weaken), says(PROMISE, shell=mend)], invariants={"trusted": ["*.sh"]})
    first, second = sorted(read_records(open_repository(driven.repository), "loop"), key=lambda record: record.iteration)
    (finding,) = [one for one in first.findings if one.rule == "trusted.expectations"]
    assert finding.path == "check.sh"
    assert (first.proof.green, first.proven, second.proven) == (True, False, True)
    assert not [one for one in second.findings if one.weight is Weight.BLOCK]
    assert (driven.state.outcome, driven.state.iteration) == (Outcome.COMPLETED, 2)


PYTHON_CHECK = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -B -m pytest -q -p no:cacheprovider"
REWRITE = "sed -i 's/double(2) == 4/double(2) == 5/' test_double.py; git commit -qam Expect"
TRIPLE = "printf 'def double(n):\\n    return n + 3\\n' > calc.py"


def with_tests(repository: Path, source: str) -> None:
    """Two tests of `double`, of which `source` passes one or both."""
    (repository / "calc.py").write_text(source)
    tests = "def test_two():\n    assert double(2) == 4\n\n\ndef test_one():\n    assert double(1) == 4\n"
    (repository / "test_double.py").write_text(f"from calc import double\n\n\n{tests}")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "tests")


PATCH = "import calc\\ncalc.double = lambda n: 4\\n"
CHEATS = {
    "rewritten": REWRITE,
    "patched": f"printf '{PATCH}' > conftest.py",
    "left out in pyproject.toml": "printf '[tool.pytest.ini_options]\\naddopts = \"-k one\"\\n' > pyproject.toml",
}
"""By what becomes of a red test."""


@pytest.mark.slow
@pytest.mark.feature("V5", "V13")
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_red_test_that_is_kept_from_failing_completes_no_loop(cheat: str, drive: Drive, repository: Path) -> None:
    with_tests(repository, "def double(n):\n    return n + 3\n")  # test_two is red
    driven = drive([says(PROMISE, shell=CHEATS[cheat])], checks=(PYTHON_CHECK,), limits={"iterations": 1})
    (record,) = read_records(open_repository(driven.repository), "loop")
    assert record.proof.green
    (finding,) = [one for one in record.findings if one.weight is Weight.BLOCK]
    assert (finding.rule, "test_double.py::test_two " in finding.message) == ("trusted.expectations", True)
    assert driven.state.outcome is Outcome.STOPPED


@pytest.mark.feature("V5", "V9")
def test_where_an_expectation_that_held_is_changed_a_person_decides(drive: Drive, repository: Path) -> None:
    with_tests(repository, "def double(n):\n    return 4\n")
    (repository / "more.sh").write_text("test -e more\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "more")
    work = f"{TRIPLE}; touch more; git add more; {REWRITE}"
    driven = drive([says(PROMISE, shell=work), says(PROMISE)], checks=(PYTHON_CHECK, "sh more.sh"))
    assert driven.state.outcome is Outcome.UNPROVEN
    assert driven.state.ending
    assert "tests of the start fail on the new source, or no longer run: test_double.py::test_two" in driven.state.ending.reason
    assert "make it pass them unless the goal demands otherwise" in prompt_of(driven.agent, 1)


@pytest.mark.slow
@pytest.mark.feature("V17")
def test_an_agent_that_says_twice_that_it_is_blocked_ends_the_loop_with_its_reason(drive: Drive) -> None:
    blocked = says("I looked at all of it.\n\nBLOCKED: A person has to connect the terminal.")
    driven = drive([blocked, blocked])
    assert driven.state.ending
    assert (driven.state.ending.rule, driven.state.outcome, driven.state.iteration) == ("agent.blocked", Outcome.BLOCKED, 2)
    assert "A person has to connect the terminal." in driven.state.ending.reason
    assert "The last session said that it is blocked" in prompt_of(driven.agent, 1)


@pytest.mark.slow
@pytest.mark.feature("M6")
def test_research_changes_no_source_is_asked_for_until_it_is_complete_and_leads_the_work(drive: Drive, repository: Path) -> None:
    found = f"cat > .helmsman/research.md <<'END'\n{WHOLE}END\n"
    hasty = f"{SOLVE}\n{found}"
    driven = drive([says(shell=hasty), says(shell=found), says(PROMISE, shell=SOLVE)], research={"use": True})
    first, second, third = sorted(read_records(open_repository(repository), "loop"), key=lambda record: record.iteration)
    prompts = [prompt_of(driven.agent, number) for number in range(3)]
    assert ["# Research: this iteration changes no source" in prompt for prompt in prompts] == [True, True, False]
    assert "1 file changed and restored (answer)" in prompts[1]
    assert f"APPROACH: {APPROACH}" in prompts[2]
    assert (first.execution.put_back, first.execution.change.files_changed) == (("answer",), 0)
    assert [bool(record.memory.research.problems) for record in (first, second)] == [True, False]
    assert [record.moment is None for record in (first, second, third)] == [True, True, False]
    assert git(repository, "log", "-1", "--format=%s", "refs/helmsman/loop/failed/1-1") == "Answer\n"
    assert git(repository, "ls-tree", "-r", "--name-only", "helmsman/loop").split() == ["answer", "check.sh"]
    assert driven.state.outcome is Outcome.COMPLETED


@pytest.mark.feature("V9")
def test_a_loop_completes_only_with_its_branch_at_the_verified_commit(drive: Drive, repository: Path, tmp_path: Path) -> None:
    """The branch moves once while the checks run, as by a person who resets or amends it."""
    moved = tmp_path / "moved"
    commit = "git commit-tree helmsman/loop^{tree} -p helmsman/loop -m mine"
    move = f"touch {moved}; cd {repository} && git update-ref refs/heads/helmsman/loop $({commit})"
    driven = drive(
        [says(PROMISE, shell=SOLVE), says(PROMISE)],
        checks=["sh check.sh", f"test -e {moved} || ! test -e answer || {{ {move}; }}"],
    )
    assert (driven.state.outcome, driven.state.iteration) == (Outcome.COMPLETED, 2)
    assert git(repository, "log", "-1", "--format=%H %s", "helmsman/loop").strip() == f"{driven.state.head} mine"
