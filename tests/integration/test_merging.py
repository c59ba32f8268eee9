"""Merging proven work in real git: what arrives was checked as it is, and whatever stands in the way is told."""

from pathlib import Path

import pytest

from helmsman.parsers.alignment_file import render
from helmsman.records.alignment import Alignment
from helmsman.records.checks import CheckReport
from helmsman.records.decision import Outcome
from tasks.loop.merge import begin_merge, merge_loop
from tests.fakes.proven_loops import AT_MOST_TWO, ProvenLoop, make_proven_loop, repository
from tests.fakes.repositories import commit, make_repository, sh, write

pytestmark = pytest.mark.feature("M4")


@pytest.fixture
def landing(tmp_path: Path) -> ProvenLoop:
    return make_proven_loop(repository(tmp_path / "top"), tmp_path, {"items/mine": "mine\n"})


def checked_trees(landing: ProvenLoop) -> list[str]:
    """Land, and tell which trees the checks ran on."""
    trees = list[str]()

    def check(commit_: str, tree: str) -> CheckReport:
        trees.append(tree)
        return landing.check(commit_, tree)

    merge_loop(landing.context, begin_merge(landing.context, landing.state), check)
    return trees


def test_work_on_top_of_the_base_arrives_as_a_merge_of_exactly_the_tree_that_was_checked(landing: ProvenLoop) -> None:
    before, head = landing.at("main"), landing.state.head
    trees = checked_trees(landing)
    merged = landing.merged
    assert sh(landing.top, "rev-list", "--parents", "-1", "main").split() == [merged.commit, before, head]
    assert trees == [sh(landing.top, "rev-parse", "main^{tree}")]
    assert landing.state.outcome is Outcome.COMPLETED


def test_the_merge_says_which_loop_it_is_of_and_what_proves_it(landing: ProvenLoop) -> None:
    landing.land()
    told = sh(landing.top, "log", "-1", "--format=%B", "main")
    assert told.startswith("Merge helmsman/the-loop: make it work\n")
    for part in ("1 iteration", "all pass", "sh check.sh", "Helmsman-Loop: the-loop"):
        assert part in told


def test_where_the_base_has_moved_the_work_is_rebased_and_checked_again(landing: ProvenLoop) -> None:
    base, head = commit(landing.top, "theirs", {"app.py": "one\ntwo\nTHREE\n"}), landing.state.head
    trees = checked_trees(landing)
    merged = landing.merged
    assert sh(landing.top, "rev-list", "--parents", "-1", "main").split() == [merged.commit, base, merged.head]
    assert trees == [sh(landing.top, "rev-parse", "main^{tree}")]
    assert sh(landing.top, "rev-parse", f"{merged.head}^") == base
    assert landing.at(landing.state.branch) == merged.head == landing.state.head
    assert landing.state.base_commit == base
    assert head in sh(landing.top, "for-each-ref", "--format=%(objectname)", "refs/helmsman/the-loop/rebased")


def test_a_branch_that_has_merged_before_is_joined_and_not_rebased(landing: ProvenLoop) -> None:
    tree = landing.context.worktree
    sh(tree, "checkout", "--quiet", "-b", "side", "HEAD^")
    commit(tree, "aside", {"side.py": "1\n"})
    sh(tree, "checkout", "--quiet", landing.state.branch)
    sh(tree, "merge", "--quiet", "--no-ff", "--no-edit", "side")
    landing.change(head=sh(tree, "rev-parse", "HEAD"))
    base = commit(landing.top, "theirs", {"app.py": "one\ntwo\nTHREE\n"})
    head = landing.state.head
    landing.land()
    assert sh(landing.top, "rev-list", "--parents", "-1", landing.merged.head).split()[1:] == [head, base]


def test_a_conflict_becomes_a_task_and_the_base_stays_as_it_is(landing: ProvenLoop) -> None:
    commit(landing.context.worktree, "shout one", {"app.py": "ONE\ntwo\nthree\n"})
    landing.change(head=landing.at(landing.state.branch))
    work, base = landing.state.head, commit(landing.top, "whisper one", {"app.py": "(one)\ntwo\nthree\n"})
    state = landing.land()
    trouble = landing.trouble
    assert (state.ending, landing.at("main")) == (None, base)
    assert (trouble.kind, trouble.base, trouble.work, trouble.head) == ("conflict", base, work, state.head)
    assert [(one.path, one.how) for one in trouble.files] == [("app.py", "changed on both sides")]
    assert [one.subject for one in trouble.ours] == ["shout one"]
    assert [one.subject for one in trouble.theirs] == ["whisper one"]
    tree = landing.context.worktree
    assert "<<<<<<<" in (tree / "app.py").read_text()
    assert sh(tree, "status", "--porcelain") == ""
    assert sh(tree, "symbolic-ref", "HEAD") == f"refs/heads/{state.branch}"
    assert sh(tree, "rev-list", "--parents", "-1", "HEAD").split() == [state.head, work, base]
    assert (state.base_commit, state.checks, state.history, state.verified) == (base, None, (), "")


def test_what_an_iteration_makes_of_a_conflict_is_merged_though_the_base_has_moved_again(landing: ProvenLoop) -> None:
    commit(landing.context.worktree, "shout one", {"app.py": "ONE\ntwo\nthree\n"})
    landing.change(head=landing.at(landing.state.branch))
    commit(landing.top, "whisper one", {"app.py": "(one)\ntwo\nthree\n"})
    landing.land()
    landing.resolve({"app.py": "(ONE)\ntwo\nthree\n"})
    commit(landing.top, "three", {"app.py": "(one)\ntwo\n3\n"})
    landing.land()
    assert sh(landing.top, "show", "main:app.py") == "(ONE)\ntwo\n3"
    assert landing.state.merging.trouble is None


def test_sides_that_only_together_fail_the_checks_become_a_task(landing: ProvenLoop) -> None:
    base = commit(landing.top, "another second item", {"items/theirs": "theirs\n"})
    state = landing.land()
    assert (state.ending, landing.at("main")) == (None, base)
    assert (landing.trouble.kind, landing.trouble.files) == ("checks", ())
    assert "1 of 1 check failed on both sides together: sh check.sh" in landing.trouble.why
    assert [one.subject for one in landing.trouble.theirs] == ["another second item"]
    assert state.checks is not None
    assert not state.checks.passed
    assert (landing.context.worktree / "items" / "theirs").exists()
    assert landing.at(state.branch) == state.head == landing.trouble.head


def test_a_checkout_with_conflicting_changes_is_not_touched_and_the_work_stays_verified(tmp_path: Path) -> None:
    landing = make_proven_loop(repository(tmp_path / "top"), tmp_path, {"app.py": "ONE\ntwo\nthree\n"})
    before = landing.at("main")
    write(landing.top, {"app.py": "half done\n"})
    ending = landing.land().ending
    assert ending is not None
    assert (ending.outcome, ending.rule) == (Outcome.WAITING, "merge.hindered")
    assert "app.py" in ending.reason
    assert "commit or stash there" in ending.reason
    assert ((landing.top / "app.py").read_text(), landing.at("main")) == ("half done\n", before)
    sh(landing.top, "checkout", "--quiet", "--", "app.py")
    landing.change(ending=landing.state.merging.proven)
    landing.land()
    assert landing.at("main") == landing.merged.commit


def test_changes_to_other_files_survive_an_update_of_the_checkout(landing: ProvenLoop) -> None:
    write(landing.top, {"app.py": "half done\n"})
    landing.land()
    assert landing.at("main") == landing.merged.commit
    assert ((landing.top / "app.py").read_text(), (landing.top / "items" / "mine").read_text()) == ("half done\n", "mine\n")


def test_a_checkout_whose_git_folder_is_elsewhere_is_updated(tmp_path: Path) -> None:
    """As that of a submodule."""
    top = make_repository(tmp_path / "top", AT_MOST_TWO, "--separate-git-dir", str(tmp_path / "git"))
    landing = make_proven_loop(top, tmp_path, {"items/mine": "mine\n"})
    landing.land()
    assert landing.at("main") == landing.merged.commit
    assert sh(top, "status", "--porcelain") == ""


def test_an_uncommitted_file_is_not_overwritten(landing: ProvenLoop) -> None:
    write(landing.top, {"items/mine": "somebody's own\n"})
    ending = landing.land().ending
    assert ending is not None
    assert ending.rule == "merge.hindered"
    assert (landing.top / "items" / "mine").read_text() == "somebody's own\n"
    assert landing.at("main") == sh(landing.top, "rev-parse", "HEAD")


def test_a_base_that_moves_during_the_checks_is_merged(landing: ProvenLoop) -> None:
    moves = iter(["one", "two"])

    def check(commit_: str, tree: str) -> CheckReport:
        report = landing.check(commit_, tree)
        for name in moves:
            commit(landing.top, name, {f"{name}.py": "1\n"})
            break
        return report

    merge_loop(landing.context, begin_merge(landing.context, landing.state), check)
    assert {"one.py", "two.py", "items/mine"} <= set(sh(landing.top, "ls-tree", "-r", "--name-only", "main").split())
    assert sh(landing.top, "log", "-1", "--format=%s", landing.merged.base) == "two"


def test_a_base_that_nobody_has_checked_out_moves_by_compare_and_swap_too(landing: ProvenLoop) -> None:
    before = landing.at("main")
    sh(landing.top, "checkout", "--quiet", "--detach")
    theirs = commit(landing.top, "faster", {"faster.py": "1\n"})

    def check(commit_: str, tree: str) -> CheckReport:
        report = landing.check(commit_, tree)
        if landing.at("main") == before:
            sh(landing.top, "update-ref", "refs/heads/main", theirs)
        return report

    merge_loop(landing.context, begin_merge(landing.context, landing.state), check)
    assert landing.merged.base == theirs
    assert {"faster.py", "items/mine"} <= set(sh(landing.top, "ls-tree", "-r", "--name-only", "main").split())


def test_work_that_a_person_has_merged_by_hand_has_arrived(landing: ProvenLoop) -> None:
    sh(landing.top, "merge", "--quiet", "--no-ff", "--no-edit", landing.state.branch)
    by_hand = landing.at("main")
    landing.land()
    assert (landing.merged.commit, landing.at("main")) == (by_hand, by_hand)


def test_a_branch_with_new_commits_is_verified_again_before_the_merge(landing: ProvenLoop) -> None:
    before = landing.at("main")
    commit(landing.context.worktree, "by hand", {"more.py": "1\n"})
    state = landing.land()
    assert (state.ending, state.merging.proven, landing.at("main")) == (None, None, before)


def test_files_left_in_the_worktree_are_saved_to_a_ref(landing: ProvenLoop) -> None:
    write(landing.context.worktree, {"app.py": "not committed\n"})
    landing.land()
    (kept,) = sh(landing.top, "for-each-ref", "--format=%(refname)", "refs/helmsman/the-loop/salvage").split()
    assert sh(landing.top, "show", f"{kept}:app.py") == "not committed"
    assert sh(landing.top, "show", "main:app.py") == AT_MOST_TWO["app.py"].rstrip("\n")


def test_required_tests_have_to_be_seen_on_both_sides_together(tmp_path: Path) -> None:
    landing = make_proven_loop(repository(tmp_path / "top"), tmp_path, {"items/mine": "mine\n"})
    completion = landing.state.config.completion.model_copy(update={"required_tests": ("test_it",)})
    landing.change(config=landing.state.config.model_copy(update={"completion": completion}))
    landing.land()
    assert "required tests did not run: test_it" in landing.trouble.why


def test_what_the_loop_hands_over_is_part_of_what_is_checked_and_merged(tmp_path: Path) -> None:
    text = render(Alignment(goal="make it work"))
    top = make_repository(tmp_path / "top", {**AT_MOST_TWO, "ALIGNMENT.md": text})
    landing = make_proven_loop(top, tmp_path, {"items/mine": "mine\n"})
    trees = checked_trees(landing)
    assert "## Handoff of loop the-loop" in sh(top, "show", "main:ALIGNMENT.md")
    assert trees == [sh(top, "rev-parse", "main^{tree}")]
    assert landing.at(landing.state.branch) == landing.merged.head
