"""Handoffs in real repositories: one commit on the loop's branch, once, whatever the state of the file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.memory.handoff import handoff_section
from helmsman.parsers.alignment_file import read, render
from helmsman.parsers.pushes import is_own_commit
from helmsman.records.alignment import ALIGNMENT, Alignment
from helmsman.records.iteration import Completed, WorkingMemory
from helmsman.records.state import LoopState
from tasks.loop.alignment_file import align_folder, with_alignment
from tasks.loop.handoff import HANDOFF_FILE, handoffs_at_commit, handoffs_in_checkout, write_handoff
from tasks.repository.git import Repository
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import remove_worktree
from tasks.system.secrets import without_secrets
from tests.fakes.repositories import BRANCH, LOOP, LoopWork, commit, make_repository, sh, start_loop
from tests.unit.builders import STOP

pytestmark = pytest.mark.feature("L7")
GOAL = "make it work"
AGREED = Alignment(goal=GOAL, deliverables=("a tool",))
HEADING = f"## Handoff of loop {LOOP} (2026-11-22)"
MEMORY = WorkingMemory(completed=(Completed(text="the parser"),), remaining_gap="You must mend the printer.")


def start(tmp_path: Path, files: dict[str, str] | None = None, *options: str) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", files or {ALIGNMENT: render(AGREED)}, *options), tmp_path / "tree")


def completed(work: LoopWork, **changes: object) -> LoopState:
    """The loop after an iteration that completed it."""
    head = commit(work.path, "the work", {"app.py": "2\n"})
    return work.state.model_copy(update={"head": head, "verified": head, "memory": MEMORY, "ending": STOP, **changes})


def inside(work: LoopWork) -> Repository:
    """The repository opened from the loop's worktree."""
    return Repository(work.path, work.repository.common, bare=False)


def configured(state: LoopState, **changes: object) -> LoopState:
    return state.model_copy(update={"config": LoopConfig.model_validate({**state.config.model_dump(), **changes})})


def test_it_is_one_commit_on_the_loops_branch_of_that_file_only(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    write_handoff(work.context, state)
    assert work.sh("diff", "--name-only", state.verified, BRANCH) == ALIGNMENT
    assert work.sh("rev-parse", f"{BRANCH}^") == state.verified
    assert read(work.at(ALIGNMENT)) == AGREED.model_copy(update={"more": work.at(ALIGNMENT)[len(render(AGREED)) + 1 :].rstrip()})
    assert f"\n{HEADING}\n\n> Goal: make it work\n" in work.at(ALIGNMENT)
    author, committer, message = sh(work.path, "log", "-1", "--format=%ae%n%ce%n%B", BRANCH).split("\n", 2)
    assert is_own_commit(author, committer, "")
    assert is_own_commit("", "", message)
    assert work.sh("status", "--porcelain") == ""
    assert (work.path / ALIGNMENT).read_text() == work.at(ALIGNMENT) + "\n"


def test_a_repetition_without_the_worktree_changes_nothing(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    write_handoff(work.context, state)
    first = sh(work.repository.top, "rev-parse", BRANCH)
    remove_worktree(work.repository, work.path)
    write_handoff(work.context, state)
    sh(work.repository.top, "merge", "--quiet", "--ff-only", BRANCH)
    write_handoff(work.context, state)
    assert sh(work.repository.top, "rev-parse", BRANCH) == first
    assert sh(work.repository.top, "status", "--porcelain") == ""


def test_a_crash_between_file_and_commit_is_recovered(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    write_handoff(work.context, state)
    work.sh("update-ref", f"refs/heads/{BRANCH}", state.head)
    assert work.sh("status", "--porcelain") == f"M  {ALIGNMENT}"
    write_handoff(work.context, state)
    assert work.sh("status", "--porcelain") == ""
    assert work.at(ALIGNMENT).count(HEADING) == 1


def test_the_next_loop_gets_a_merged_handoff_as_information(tmp_path: Path) -> None:
    work = start(tmp_path)
    write_handoff(work.context, completed(work))
    assert handoffs_in_checkout(work.repository, ALIGNMENT) == handoffs_at_commit(work.repository, work.start, ALIGNMENT) == ""
    assert "You must mend the printer." in handoffs_at_commit(work.repository, BRANCH, ALIGNMENT)
    remove_worktree(work.repository, work.path)
    sh(work.repository.top, "merge", "--quiet", BRANCH)
    told = handoff_section(handoffs_in_checkout(work.repository, ALIGNMENT))
    assert "Loop the-loop (2026-11-22)" in told
    assert "\n```\nLoop the-loop" in told
    assert "You must mend the printer." in told
    found = read((work.repository.top / ALIGNMENT).read_text())
    assert isinstance(found, Alignment)
    assert (found.due, found.questions, found.answered) == ("", (), ())


def test_a_loop_in_place_commits_there_and_leaves_a_clean_checkout(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"docs/align.md": render(AGREED)})
    work = start_loop(top, tmp_path / "tree")
    in_place = configured(work.state, workspace={"in_place": True}, alignment="docs/align.md")
    head = commit(top, "the work", {"app.py": "2\n"})
    state = in_place.model_copy(update={"branch": "main", "head": head, "ending": STOP, "memory": MEMORY})
    write_handoff(LoopContext(work.repository, top, work.context.folder), state)
    assert sh(top, "status", "--porcelain") == ""
    assert HEADING in (top / "docs" / "align.md").read_text()


def test_a_persons_uncommitted_edits_of_the_file_stay_and_prevent_the_handoff(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    (work.path / ALIGNMENT).write_text("a person's\n")
    with pytest.raises(OperatorError, match="that checkout could not be updated"):
        write_handoff(work.context, state)
    assert (work.path / ALIGNMENT).read_text() == "a person's\n"
    assert HEADING not in work.at(ALIGNMENT)
    (work.path / ALIGNMENT).write_text(work.at(ALIGNMENT) + "\n")
    write_handoff(work.context, state)
    assert HEADING in work.at(ALIGNMENT)


def test_an_uncommitted_file_stays_and_the_branch_can_be_merged(tmp_path: Path) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    state = completed(work)
    (work.repository.top / ALIGNMENT).write_text(render(AGREED))
    kept = align_folder(work.repository, ALIGNMENT).left
    write_handoff(work.context, state)
    write_handoff(work.context, state)
    assert kept.read_text().count(HEADING) == 1
    assert (work.repository.top / ALIGNMENT).read_text() == render(AGREED)
    assert work.sh("rev-parse", BRANCH) == state.head
    sh(work.repository.top, "merge", "--quiet", BRANCH)
    assert "the parser" in handoffs_in_checkout(work.repository, ALIGNMENT)


def test_a_separately_stored_handoff_allows_a_loop_with_another_goal(tmp_path: Path) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    (work.repository.top / ALIGNMENT).write_text(render(AGREED))
    another = LoopConfig(goal="print it", checks=work.state.config.checks)
    with pytest.raises(OperatorError, match="about another goal"):
        with_alignment(work.repository, another)
    write_handoff(work.context, completed(work))
    assert with_alignment(work.repository, another) == another


@pytest.mark.usefixtures("private_umask")
def test_others_can_read_a_handoff_and_its_file(tmp_path: Path) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    (work.repository.top / ALIGNMENT).write_text(render(AGREED))
    write_handoff(work.context, completed(work))
    written = align_folder(work.repository, ALIGNMENT).left, work.context.folder.root / HANDOFF_FILE
    assert [path.stat().st_mode & 0o777 for path in written] == [0o644, 0o644]


def test_a_file_committed_after_the_start_stays_unchanged(tmp_path: Path) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    state = completed(work)
    commit(work.repository.top, "align", {ALIGNMENT: render(AGREED)})
    write_handoff(work.context, state)
    assert (work.context.folder.root / HANDOFF_FILE).read_text().startswith(HEADING)
    assert sh(work.repository.top, "status", "--porcelain") == ""
    assert "the parser" in handoffs_in_checkout(work.repository, ALIGNMENT)


@pytest.mark.parametrize("name", [ALIGNMENT, "docs/deep/a b,c.md"])
def test_a_missing_file_is_not_created(tmp_path: Path, name: str) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    state = configured(completed(work), alignment=name)
    write_handoff(work.context, state)
    assert work.sh("rev-parse", BRANCH) == state.head


def test_a_loop_of_a_bare_repository_hands_over_as_well(tmp_path: Path) -> None:
    source = make_repository(tmp_path / "source", {ALIGNMENT: render(AGREED)})
    sh(tmp_path, "clone", "--quiet", "--bare", str(source), "top.git")
    work = start_loop(tmp_path / "top.git", tmp_path / "tree")
    write_handoff(work.context, completed(work))
    assert HEADING in work.at(ALIGNMENT)


def test_a_loop_without_an_alignment_file_writes_none(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    write_handoff(work.context, configured(state, alignment=""))
    assert work.sh("rev-parse", BRANCH) == state.head


def as_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def damaged(path: Path) -> None:
    path.write_text(render(AGREED).replace("## Gap check", "## Gaps"))


def huge(path: Path) -> None:
    path.write_text(render(AGREED) + "x" * 2_000_000)


@pytest.mark.parametrize("deed", [as_link, damaged, huge])
@pytest.mark.parametrize("committed", [True, False])
def test_anything_else_in_its_place_is_left_and_the_reason_reported(
    tmp_path: Path, deed: Callable[[Path], None], *, committed: bool
) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    where = work.path if committed else work.repository.top
    deed(where / ALIGNMENT)
    before = work.sh("rev-parse", BRANCH)
    state = completed(work)
    with pytest.raises(OperatorError):
        write_handoff(work.context, state)
    assert work.sh("rev-parse", f"{BRANCH}^") == before
    assert (work.context.folder.root / HANDOFF_FILE).read_text().startswith(HEADING)


@pytest.mark.parametrize("text", ["# Alignment of our wheels\n", ""])
def test_another_document_of_that_name_is_left(tmp_path: Path, text: str) -> None:
    work = start(tmp_path, {ALIGNMENT: text})
    state = completed(work)
    write_handoff(work.context, state)
    assert work.sh("rev-parse", BRANCH) == state.head
    assert (
        handoffs_at_commit(work.repository, BRANCH, ALIGNMENT)
        == handoffs_in_checkout(inside(work), ALIGNMENT)
        == handoffs_in_checkout(inside(work), "")
        == ""
    )


def test_line_endings_bom_and_mode_stay(tmp_path: Path) -> None:
    work = start(tmp_path)
    (work.path / ALIGNMENT).write_bytes(b"\xef\xbb\xbf" + render(AGREED).replace("\n", "\r\n").encode())
    (work.path / ALIGNMENT).chmod(0o755)
    state = completed(work)
    write_handoff(work.context, state)
    after = (work.path / ALIGNMENT).read_bytes()
    assert after.startswith(b"\xef\xbb\xbf# Alignment\r\n")
    assert after.count(b"\n") == after.count(b"\r\n")
    assert work.sh("ls-tree", BRANCH, ALIGNMENT).startswith("100755")
    assert work.sh("status", "--porcelain") == ""
    assert "Loop the-loop" in handoffs_at_commit(work.repository, BRANCH, ALIGNMENT)
    assert "Loop the-loop" in handoffs_in_checkout(inside(work), ALIGNMENT)


def test_a_branch_without_the_proven_work_is_left(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    work.sh("reset", "--quiet", "--hard", work.start)
    with pytest.raises(OperatorError, match="no longer contains the loop's work"):
        write_handoff(work.context, state)
    assert work.sh("rev-parse", BRANCH) == work.start


def test_no_secret_is_in_a_handoff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-of-the-shop")
    work = start(tmp_path)
    memory = WorkingMemory(uncertainties=("is s3cr3t-of-the-shop still valid?",))
    write_handoff(work.context, without_secrets(completed(work, memory=memory)))  # as the driver has it
    assert "is [SHOP_TOKEN] still valid?" in work.at(ALIGNMENT)
    assert "s3cr3t" not in (work.context.folder.root / HANDOFF_FILE).read_text()
