"""The steps in the worktree: files for the agent are written and read back, whatever the agent put in their place."""

from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.parsers.progress_file import KEPT_CHARACTERS, LONGEST_FILE
from helmsman.records.agent import Change, Execution
from helmsman.records.checks import CheckReport
from helmsman.records.events import CheckFinished, Event
from helmsman.records.iteration import Completed, WorkingMemory
from helmsman.records.proof import JudgeMemory, Rejection
from tasks.loop.prepare import copy_notes, prepare, read_notes
from tasks.loop.steps import checks, checks_fingerprint
from tasks.repository.git import current_branch
from tasks.repository.worktree import commit_turn, dirty_paths
from tasks.system.journal import listening
from tests.fakes.repositories import BRANCH, NOW, LoopWork, commit, make_repository, record_of, shell, start_loop

pytestmark = pytest.mark.feature("O4")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", {"app.py": "1\n"}), tmp_path / "tree")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of the user's that the agent would like us to write or to read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "progress.md").write_text("## COMPLETED\n- precious\n")
    return tmp_path / "outside" / "progress.md"


def progress(work: LoopWork) -> Path:
    return work.path / ".helmsman" / "progress.md"


def test_working_memory_is_laid_out_and_read_back(work: LoopWork) -> None:
    notes = "Done: the parser\nNext: the printer"
    memory = WorkingMemory(notes=notes, completed=(Completed(text="the parser"),), remaining_gap="the printer")
    state = work.state.model_copy(update={"memory": memory})
    prepare(work.context, state, NOW)
    assert progress(work).read_text() == f"{notes}\n"
    assert read_notes(work.context, state) == memory


def test_the_facts_are_the_commit_it_begins_with_and_the_loops_last_commits(work: LoopWork) -> None:
    for number in range(14):
        commit(work.path, f"number {number}")
    head = commit(work.path, "number 14")
    facts = prepare(work.context, work.state, NOW)
    assert (facts.started_at, facts.start_commit) == (NOW, head)
    assert [one.subject for one in facts.commits] == [f"number {number}" for number in range(14, 4, -1)]


def test_a_file_that_is_gone_keeps_what_was_known(work: LoopWork) -> None:
    state = work.state.model_copy(update={"memory": WorkingMemory(remaining_gap="the printer")})
    prepare(work.context, state, NOW)
    progress(work).unlink()
    memory = read_notes(work.context, state)
    assert memory.remaining_gap == "the printer"
    assert "missing" in memory.problems[0]


def test_a_file_without_end_and_bytes_that_are_no_text_are_read_up_to_a_bound(work: LoopWork) -> None:
    prepare(work.context, work.state, NOW)
    with progress(work).open("ab") as file:
        file.write(b"\xff\xfe\x00" + b"x" * 4 * LONGEST_FILE)
    assert len(read_notes(work.context, work.state).notes) <= KEPT_CHARACTERS


IN_ITS_PLACE = {
    "a link to a file": "rm .helmsman/progress.md; ln -s {outside} .helmsman/progress.md",
    "a link to a folder": "rm -r .helmsman; ln -s {folder} .helmsman",
    "a pipe": "rm .helmsman/progress.md; mkfifo .helmsman/progress.md",
    "a folder": "rm .helmsman/progress.md; mkdir -p .helmsman/progress.md/deeper",
    "a file instead of our folder": "rm -r .helmsman; printf x > .helmsman",
}
TO_WRITE = {
    **IN_ITS_PLACE,
    "a hard link": "rm .helmsman/progress.md; ln {outside} .helmsman/progress.md",
    "read only": "chmod 400 .helmsman/progress.md; chmod 500 .helmsman",
    "a link that git ignores by": "rm .helmsman/.gitignore; ln -s {outside} .helmsman/.gitignore",
}


def planted(work: LoopWork, outside: Path, deed: str) -> None:
    shell(work.path, TO_WRITE[deed].format(outside=outside, folder=outside.parent))


@pytest.mark.feature("X3")
@pytest.mark.parametrize("deed", TO_WRITE)
def test_whatever_lies_in_the_place_of_our_files_is_replaced_and_nothing_outside_is_written(
    work: LoopWork, outside: Path, deed: str
) -> None:
    prepare(work.context, work.state, NOW)
    planted(work, outside, deed)
    prepare(work.context, work.state, NOW)
    assert outside.read_text() == "## COMPLETED\n- precious\n"
    assert list(outside.parent.iterdir()) == [outside]
    assert progress(work).read_text() == ""
    assert not (work.path / ".helmsman").is_symlink()
    assert dirty_paths(work.path) == ()


@pytest.mark.feature("X1", "X3")
@pytest.mark.parametrize("deed", IN_ITS_PLACE)
def test_what_a_link_leads_to_is_not_read_into_the_state(work: LoopWork, outside: Path, deed: str) -> None:
    prepare(work.context, work.state, NOW)
    planted(work, outside, deed)
    memory = read_notes(work.context, work.state)
    assert memory.completed == ()
    assert "missing" in memory.problems[0]


@pytest.mark.feature("X3")
def test_a_repository_that_comes_with_a_link_for_our_folder_is_not_followed(outside: Path, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "hostile", {"app.py": "1\n"})
    (top / ".helmsman").symlink_to(outside.parent)
    commit(top, "a trap")
    work = start_loop(top, tmp_path / "hostile-tree")
    prepare(work.context, work.state, NOW)
    change = commit_turn(work.repository, work.path, work.state, work.start)
    assert change.files == (".helmsman",)
    assert dirty_paths(work.path) == ()
    assert progress(work).read_text() == ""
    assert outside.read_text() == "## COMPLETED\n- precious\n"


@pytest.mark.feature("X1")
def test_a_secret_in_working_memory_does_not_reach_the_state(work: LoopWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "tok-0123456789")
    prepare(work.context, work.state, NOW)
    progress(work).write_text("Done: logged in with tok-0123456789\n")
    assert read_notes(work.context, work.state).notes == "Done: logged in with [DEPLOY_TOKEN]"


def checked(work: LoopWork, change: Change, **sections: object) -> CheckReport:
    """What the checks say of a change under this configuration."""
    config = LoopConfig.model_validate({"goal": "x", **sections})
    state = work.state.model_copy(update={"config": config})
    return checks.fn(work.context, state, Execution(call=record_of(state, 1).execution.call, change=change))


@pytest.mark.feature("M2")
@pytest.mark.parametrize(
    "command",
    ["git checkout -q -b elsewhere", "git commit -q --allow-empty -m by-a-check", "git checkout -q --detach", "echo 2 > app.py"],
)
def test_a_check_that_plays_with_git_does_not_take_the_loop_along(work: LoopWork, command: str) -> None:
    head = commit(work.path, "work", {"app.py": "2\n"})
    change = commit_turn(work.repository, work.path, work.state, work.start)
    named = f"git config user.name x; git config user.email x; {command}"
    report = checked(work, change, checks=({"command": named},), workspace={"clean": False})
    assert report.passed, report
    assert (current_branch(work.path), work.sh("rev-parse", BRANCH, "HEAD").split()) == (BRANCH, [head, head])
    assert dirty_paths(work.path) == ()


def test_reports_speak_for_the_commands_that_made_them_and_for_what_was_looked_for() -> None:
    one, other = {"command": "make test"}, {"command": "make lint"}
    sections = [{"checks": checks} for checks in ((), (one,), (other,), (one, other), (other, one))]
    required = {"checks": (one,), "completion": {"required_tests": ["test_a"]}}
    prints = {checks_fingerprint(LoopConfig.model_validate({"goal": "x", **each})) for each in (*sections, required)}
    assert len(prints) == 6
    same = LoopConfig.model_validate({"goal": "another", "checks": (one,)})
    assert checks_fingerprint(same) == checks_fingerprint(LoopConfig.model_validate({"goal": "x", "checks": (one,)}))


FAILS_FIRST = """\
if [ -e {marker} ]; then echo '=== 2 passed in 0.01s ==='; exit 0; fi
touch {marker}; touch made
echo '=== short test summary info ==='
echo 'FAILED tests/test_a.py::test_sometimes - assert 1 == 2'
echo '=== 1 failed, 1 passed in 0.01s ==='; exit 1
"""


@pytest.mark.feature("V3")
@pytest.mark.parametrize("tolerated", [True, False])
def test_a_check_that_passes_when_it_is_run_again_on_the_same_tree_is_flaky(
    work: LoopWork, tmp_path: Path, *, tolerated: bool
) -> None:
    change = commit_turn(work.repository, work.path, work.state, work.start)
    command = FAILS_FIRST.format(marker=tmp_path / "marker")
    published: list[Event] = []
    with listening(published.append):
        report = checked(work, change, checks=({"name": "unit", "command": command, "tolerate_flaky": tolerated},))
    assert (report.results[0].name, report.results[0].flaky) == ("unit", ("tests/test_a.py::test_sometimes",))
    assert report.passed == tolerated
    assert [event.result.name for event in published if isinstance(event, CheckFinished)] == ["unit", "unit, rerun"]
    assert dirty_paths(work.path) == ()


@pytest.mark.feature("V10")
def test_the_required_tests_that_a_report_lists_are_noted(work: LoopWork) -> None:
    change = commit_turn(work.repository, work.path, work.state, work.start)
    skipped = '<testcase classname="t" name="test_b"><skipped/></testcase>'
    xml = f'<testsuite><testcase classname="t" name="test_a"/>{skipped}</testsuite>'
    writing = {"command": f"echo '{xml}' > report.xml", "report": "report.xml"}
    report = checked(work, change, checks=(writing,), completion={"required_tests": ["test_a", "test_b", "test_c"]})
    assert report.results[0].ran == ("test_a",)


@pytest.mark.feature("V3")
def test_a_test_file_that_a_runner_names_by_its_whole_path_is_named_from_the_root(work: LoopWork) -> None:
    change = commit_turn(work.repository, work.path, work.state, work.start)
    (result,) = checked(work, change, checks=(r"printf '1..1\nnot ok 1 - %s/a.test.js\n' $PWD; false",)).results
    assert result.counts is not None
    assert result.counts.failing == ("a.test.js",)


@pytest.mark.feature("V8")
def test_the_judges_memory_is_laid_out_where_there_is_a_judge_and_is_never_work(work: LoopWork) -> None:
    prepare(work.context, work.state, NOW)
    folder = work.path / ".helmsman"
    assert not (folder / "JUDGE_FEEDBACK.md").exists()
    rejection = Rejection(iteration=3, at=NOW, consecutive=2, reason="no docstring", repeated=1)
    memory = JudgeMemory(feedback=(rejection,), notes=("#3 rejected: read the docstrings",))
    config = LoopConfig.model_validate({"goal": "x", "judge": {"criteria": ["docstrings"]}})
    prepare(work.context, work.state.model_copy(update={"judge": memory, "config": config}), NOW)
    assert "## Iteration 3, 2 in a row" in (folder / "JUDGE_FEEDBACK.md").read_text()
    assert "- #3 rejected: read the docstrings" in (folder / "JUDGE_EVOLUTION.md").read_text()
    assert dirty_paths(work.path) == ()


@pytest.mark.feature("V2")
def test_the_whole_output_of_a_failing_check_is_laid_out_for_the_agent_and_is_never_work(work: LoopWork) -> None:
    change = commit_turn(work.repository, work.path, work.state, work.start)
    report = checked(work, change, checks=("echo $PWD/a.py:3:1: F401 unused; false",))
    prepare(work.context, work.state.model_copy(update={"checks": report}), NOW)
    (log,) = (work.path / ".helmsman" / "checks").iterdir()
    assert log.read_text().endswith("/a.py:3:1: F401 unused\n")
    assert report.results[0].listed == ("a.py:3 | F401 unused",)
    assert dirty_paths(work.path) == ()
    prepare(work.context, work.state, NOW)
    assert not list(log.parent.iterdir())


REJECTED = Rejection(iteration=1, consecutive=1, at=NOW, reason="too short")


@pytest.mark.feature("V8")
def test_notes_of_judge_and_research_are_kept_with_the_loop(tmp_path: Path) -> None:
    work = start_loop(make_repository(tmp_path / "top"), tmp_path / "tree")
    (work.path / ".helmsman").mkdir(exist_ok=True)
    (work.path / ".helmsman" / "research.md").write_text("## APPROACH\nby hand\n")
    judged = JudgeMemory(feedback=(REJECTED,), notes=("#1 rejected: look at names",))
    copy_notes(work.context, work.state.model_copy(update={"judge": judged}))
    kept = {path.name: path.read_text() for path in work.context.folder.notes.iterdir()}
    assert set(kept) == {"JUDGE_FEEDBACK.md", "JUDGE_EVOLUTION.md", "research.md"}
    assert "too short" in kept["JUDGE_FEEDBACK.md"]
    assert "look at names" in kept["JUDGE_EVOLUTION.md"]
    assert kept["research.md"] == "## APPROACH\nby hand\n"
