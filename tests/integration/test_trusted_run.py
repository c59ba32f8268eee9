"""The checks on real commits with the tests that the loop began with: branch and worktree are as before, wherever they run."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.agent import Execution
from helmsman.records.checks import Finding, TrustedRun, Weight
from helmsman.records.iteration import Evidence
from helmsman.records.plan import PlanItem
from helmsman.records.state import LoopState
from helmsman.records.verification import Case
from helmsman.verify.outcomes import outcomes
from tasks.checks.targets import Range, passing_on_start, run_for_loop, run_on_start, run_trusted, work_of
from tasks.loop import steps
from tasks.loop.since_start import with_item_checks
from tests.fakes.repositories import BRANCH, LoopWork, commit, make_repository, start_loop, write

pytestmark = pytest.mark.feature("V13")

CHECK = "cat tests/*.sh > seen.log; for one in tests/*.sh; do sh $one || exit 1; done"
STRICT, WEAK = 'test "$(cat answer)" = 42\n', "exit 0\n"


@pytest.fixture(params=[True, False], ids=["in a clean checkout", "in the agent's folder"])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> LoopWork:
    files = {"answer": "1\n", "tests/one.sh": STRICT, "tests/deep/two.sh": "x\n", ".gitignore": "*.log\n", "tests/exact": "7\n"}
    begun = start_loop(make_repository(tmp_path / "top", files), tmp_path / "tree")
    return begun.configured(workspace={"clean": request.param})


def trusted(work: LoopWork, state: LoopState, done: Execution) -> TrustedRun:
    of_work = work_of(work.context, state, done.change.commit)
    return run_trusted(of_work, done.change.tree, partial(run_for_loop, work.context, state))


def judged(work: LoopWork, check: str = CHECK, **invariants: Any) -> tuple[TrustedRun, list[Finding]]:
    """The further run, and what is found in it."""
    state, done = work.configured(checks=[check], invariants=invariants).state, work.execution()
    config = state.config
    copy = trusted(work, state, done)
    return copy, list(outcomes(steps.checks.fn(work.context, state, done), copy, {check}, "x", config.invariants).findings)


def unmoved(work: LoopWork, head: str) -> bool:
    at = work.sh("rev-parse", "HEAD", BRANCH).split() == [head, head]
    return at and work.sh("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}" and work.sh("status", "--porcelain") == ""


def test_a_weakened_test_blocks(work: LoopWork) -> None:
    head = commit(work.path, "cheat", {"tests/one.sh": WEAK, "answer": "2\n"})
    copy, (finding,) = judged(work)
    assert copy.put_back == ("tests/one.sh",)
    assert (finding.rule, finding.weight, finding.path) == ("trusted.expectations", Weight.BLOCK, "tests/one.sh")
    assert unmoved(work, head)
    assert (work.path / "tests/one.sh").read_text() == WEAK


def test_honest_test_changes_give_no_finding(work: LoopWork) -> None:
    commit(work.path, "work", {"tests/one.sh": f"# what is asked for\n{STRICT}", "answer": "42\n", "tests/more.sh": "exit 0\n"})
    copy, found = judged(work)
    assert (set(copy.put_back), found) == ({"tests/one.sh", "tests/more.sh"}, [])
    assert copy.report is not None
    assert copy.report.passed
    assert [one.name for one in copy.report.results] == [CHECK]


def test_nothing_runs_unless_a_trusted_file_changed(work: LoopWork) -> None:
    commit(work.path, "work", {"answer": "42\n"})
    assert judged(work) == (TrustedRun(), [])
    copy, (finding,) = judged(work, trusted=["answer"])
    assert (copy.put_back, finding.path) == (("answer",), "answer")


def test_data_that_only_the_check_reads_is_restored(tmp_path: Path) -> None:
    files = {"check.sh": "test $(cat size) -le $(cat limits.txt)\n", "size": "9\n", "limits.txt": "1\n", "other.txt": "1\n"}
    work = start_loop(make_repository(tmp_path / "top", files), tmp_path / "tree")
    commit(work.path, "cheat", {"limits.txt": "10\n", "other.txt": "2\n"})
    copy, found = judged(work, "sh check.sh")
    assert (copy.put_back, copy.data, found) == (("limits.txt",), ("limits.txt",), [])
    assert copy.report is not None
    assert not copy.report.passed


@pytest.mark.parametrize(
    ("script", "goal", "restored"),
    [
        ("setup.sh", "Make it work.", True),
        ("setup.sh", "Let setup.sh write 42.", False),
        ("Gemfile", "Make it work.", False),  # a manifest changes with each new dependency
    ],
)
def test_a_script_that_set_up_runs_is_restored_unless_the_goal_names_it(
    tmp_path: Path, script: str, goal: str, *, restored: bool
) -> None:
    files = {script: "echo 1 > answer\n", ".gitignore": "answer\n"}
    work = start_loop(make_repository(tmp_path / "top", files), tmp_path / "tree")
    work = work.configured(goal=goal, workspace={"setup": [f"sh {script}"]})
    commit(work.path, "work", {script: "echo 42 > answer\n"})
    check = "grep 42 answer"
    state, done = work.configured(checks=[check]).state, work.execution()
    copy = trusted(work, state, done)
    found = outcomes(steps.checks.fn(work.context, state, done), copy, {check}, goal, state.config.invariants)
    assert (copy.data, found.findings, found.changed) == ((("setup.sh",), (), (check,)) if restored else ((), (), ()))


def test_a_script_that_is_no_longer_executable_is_restored(tmp_path: Path) -> None:
    work = start_loop(make_repository(tmp_path / "top", {"t/two.sh": "exit 1\n", "other.sh": "true\n"}), tmp_path / "tree")
    (work.path / "t/two.sh").chmod(0o755)
    start = commit(work.path, "start")
    (work.path / "t/two.sh").chmod(0o644)
    commit(work.path, "cheat", {"other.sh": "true # or not\n"})
    assert Range(work.context.repository, start, work.sh("rev-parse", "HEAD").strip(), work.state.config).kinds.data == (
        "t/two.sh",
    )


def test_files_of_every_type_are_restored(work: LoopWork) -> None:
    """A folder where a file was, a file where a folder was, a link, a lost bit, a name that is no text."""
    write(work.path, {"answer": "42\n"})
    (work.path / "tests/deep/two.sh").unlink()
    (work.path / "tests/deep").rmdir()
    (work.path / "tests/deep").write_text("a file now\n")
    (work.path / "tests/exact").unlink()
    write(work.path, {"tests/exact/file": "a folder now\n"})
    (work.path / "tests/one.sh").unlink()
    (work.path / "tests/one.sh").symlink_to("../answer")
    (work.path / "tests" / "odd\n\udcffname").write_text("new\n")
    head = commit(work.path, "shapes")
    copy, _ = judged(work, "test -d tests/deep && test ! -L tests/one.sh && grep -q 7 tests/exact && test ! -e tests/odd*")
    assert copy.report is not None
    assert copy.report.passed
    assert unmoved(work, head)


@pytest.mark.feature("V5")
def test_inline_tests_of_the_start_run_on_the_new_source(work: LoopWork) -> None:
    tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn two() { assert_eq!(super::one(), 2); }\n}\n"
    begun = commit(work.path, "start", {"lib.rs": f"fn one() -> u8 {{ 1 }}\n{tests}"})
    head = commit(work.path, "cheat", {"lib.rs": "fn one() -> u8 { 3 }\n" + tests.replace("assert_eq!(super::one(), 2);", "")})
    state = work.configured(checks=["grep 'u8 { 3 }' lib.rs && ! grep assert_eq lib.rs"]).state
    state = state.model_copy(update={"base_commit": begun})
    copy = trusted(work, state, work.execution(begun))
    assert copy.put_back == ("lib.rs",)
    assert copy.report is not None
    assert (copy.report.results[0].passed, "u8 { 3 }" in copy.report.results[0].head) == (False, True)
    assert unmoved(work, head)


def test_stale_caches_of_equal_size_are_ignored(work: LoopWork) -> None:
    """What is compiled by time and size, as Python does, is compiled anew on both ways."""
    program = "python3 -c 'import sys; sys.path[:0] = [\"tests\"]; import judge; sys.exit(judge.CODE)'"
    commit(work.path, "start", {"tests/judge.py": "CODE = 1\n", ".gitignore": "*.log\n__pycache__/\n"})
    head = work.sh("rev-parse", "HEAD")
    begun = replace(work, state=work.state.model_copy(update={"base_commit": head}), start=head)
    commit(work.path, "cheat", {"tests/judge.py": "CODE = 0\n"})
    for _ in range(2):
        copy, (finding,) = judged(begun, program)
        assert copy.report is not None
        assert (copy.report.results[0].exit_code, finding.weight) == (1, Weight.BLOCK)


def test_a_cancelled_check_leaves_the_branch_unchanged(work: LoopWork) -> None:
    head = commit(work.path, "cheat", {"tests/one.sh": WEAK})
    cancel = work.context.folder.cancel
    cancel.parent.mkdir(parents=True, exist_ok=True)
    state, done = work.configured(checks=[CHECK]).state, work.execution()
    cancel.touch()
    with pytest.raises(Exception, match="cancelled"):
        trusted(work, state, done)
    assert unmoved(work, head)


@pytest.mark.feature("V9", "V16")
def test_only_tests_that_fail_on_the_start_prove_the_work(work: LoopWork) -> None:
    strict = 'test "$(cat answer)" = 2\n'
    state = work.configured(checks=["for one in tests/*.sh; do sh $one || exit 1; done"]).state

    def compared() -> tuple[bool, bool, tuple[str, ...]]:
        done = work.execution()
        report, changes = steps.checks.fn(work.context, state, done), work_of(work.context, state, done.change.commit)
        shown = run_on_start(changes, done.change.tree, report, partial(run_for_loop, work.context, state))
        return bool(changes.changed), bool(changes.tests_as_they_were), shown.failing

    assert compared() == (False, False, ())
    commit(work.path, "work", {"tests/one.sh": "exit 0\n", "answer": "2\n"})
    assert compared() == (True, True, ())
    head = commit(work.path, "test it", {"tests/two.sh": strict})
    assert compared() == (True, True, (state.config.checks[0].command,))
    assert unmoved(work, head)
    assert (work.path / "answer").read_text() == "2\n"


@pytest.mark.feature("V9")
def test_a_failure_that_something_else_fixed_is_noticed(work: LoopWork) -> None:
    """The service is down when the loop begins, and up at the claim."""
    service = work.path.parent / "service"
    state = work.configured(checks=['test "$(cat answer)" = 2', f"test -e '{service}'"]).state
    head = commit(work.path, "work", {"answer": "2\n"})
    service.touch()
    proof = {"outcome": "FAIL_TO_PASS", "consequence": "proves", "why": ""}
    names = [check.title for check in state.config.checks]
    cases = [Case.model_validate({"name": name, "check": name, **proof}) for name in names]
    changes = work_of(work.context, state, head)
    passing = passing_on_start(changes, work.execution().change.tree, cases, partial(run_for_loop, work.context, state))
    assert passing == (names[1],)
    assert unmoved(work, head)


@pytest.mark.feature("M8")
def test_an_item_check_must_fail_at_the_start_with_its_new_tests(work: LoopWork) -> None:
    state = work.configured(checks=["true"]).state
    empty, strict = "exit 0\n", 'test "$(cat answer)" = 2\n'
    commit(work.path, "work", {"tests/new_test.sh": empty, "tests/item_test.sh": strict, "answer": "2\n"})
    proofs: dict[str, tuple[bool, bool]] = {}
    for check in ("sh tests/new_test.sh", "sh tests/item_test.sh", "true"):
        item = PlanItem(id="T001", title="answer", check=check)
        evidence = with_item_checks(work.context, state, Evidence(execution=work.execution()), item)
        assert evidence.own is not None
        proofs[check] = evidence.own.results[0].passed, evidence.own_cannot_fail
    # "true" passes in any case: nothing says that its item needs a change
    assert proofs == {"sh tests/new_test.sh": (True, True), "sh tests/item_test.sh": (True, False), "true": (True, False)}
