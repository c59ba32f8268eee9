"""Looking at what an iteration changed for ways of passing checks that are not the work."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.records.checks import CheckReport, TrustedCopy
from helmsman.records.evidence import Execution
from helmsman.records.findings import Finding, Weight
from helmsman.records.plan import Plan
from helmsman.records.state import LoopState
from helmsman.verify.diff import TreeDiff
from helmsman.verify.invariants import findings
from helmsman.verify.invariants.protected_files import protected
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.weighing import as_hints, weigh
from helmsman.verify.markers import conflicts_in
from helmsman.verify.trusted import differences
from tasks.plans.plan_file import plan_at
from tasks.repository.diffs import read_diff, tree_of, unchanged_tests
from tasks.repository.git import commit_and_tree, git, succeeds
from tasks.worktrees.workplace import Workplace

PUT_BACK_SHOWN = 20


def audit(
    place: Workplace,
    state: LoopState,
    execution: Execution,
    report: CheckReport | None,
    copy: TrustedCopy | None = None,
    own: CheckReport | None = None,
) -> tuple[Finding, ...]:
    """Findings of the invariants on the whole loop's diff and on this iteration's. `own`: of the item in hand, as in `copy`."""
    change, config = execution.change, state.config.invariants
    commands = _commands(place, state, change.start)

    def found(start: str) -> tuple[Finding, ...]:
        scene = _scene(place.worktree, state, start, change.commit, report, commands)
        return as_hints(findings(scene), scene.diff, config)

    of_loop = found(state.base_commit)
    of_loop = (*_untrusted(copy, report, own), *_unmerged(place.worktree, state, change.commit), *of_loop)
    return weigh(of_loop, () if change.start == state.base_commit else found(change.start), config)


def _untrusted(copy: TrustedCopy | None, report: CheckReport | None, own: CheckReport | None) -> tuple[Finding, ...]:
    if copy is None or report is None:
        return ()
    return tuple(differences(copy, (*report.results, *(own.results if own else ()))))


def put_back_protected(place: Workplace, state: LoopState, commit: str) -> tuple[str, ...]:
    """Undo, in a commit that says so, what the loop has done to protected files. Returns their paths."""
    back = dict[str, None]()
    while paths := [path for path in _harmed(place, state, commit) if path not in back]:  # findings are told by thirties
        for path in paths:
            _put_back(place.worktree, state.base_commit, path)
        back |= dict.fromkeys(paths)
        if not succeeds(place.worktree, "diff", "--cached", "--quiet"):
            git(place.worktree, "commit", "--quiet", "--no-verify", "--message", "helmsman: put back protected files")
        commit, _ = commit_and_tree(place.worktree)
    return tuple(sorted(back)[:PUT_BACK_SHOWN])


def _harmed(place: Workplace, state: LoopState, commit: str) -> list[str]:
    """Of a file under a new name only that one; its old one is found missing once the new one is gone."""
    scene = _scene(place.worktree, state, state.base_commit, commit, None, _commands(place, state, state.head))
    weighed = weigh(protected(scene), (), state.config.invariants)
    return sorted({finding.path for finding in weighed if finding.weight is Weight.BLOCK})


def _commands(place: Workplace, state: LoopState, start: str) -> tuple[str, ...]:
    """What judges the work: the loop's checks, and those of the plan's items as they were before the agent could touch them."""
    plans = (_plan_of(place, commit, state.config.plan.file) for commit in dict.fromkeys((state.base_commit, start)))
    of_items = (item.check for plan in plans if plan for item in plan.items if item.check)
    return tuple(dict.fromkeys((*(check.command for check in state.config.checks), *of_items)))


def _plan_of(place: Workplace, commit: str, path: str) -> Plan | None:
    """None where there is none that can be read: then no item of it is in hand either."""
    try:
        return plan_at(place.repository, commit, path) if path else None
    except OperatorError:
        return None


def _unmerged(worktree: Path, state: LoopState, commit: str) -> Iterator[Finding]:
    """Conflicts of a merge that stand in the files in which git left them."""
    trouble = state.merging.trouble
    met = {one.path for one in trouble.files} if trouble else set[str]()
    for file in read_diff(worktree, state.base_commit, commit) if met else ():
        if file.path in met:
            yield from conflicts_in(file)


def _put_back(worktree: Path, commit: str, path: str) -> None:
    literal = f":(literal){path}"
    if succeeds(worktree, "cat-file", "-e", f"{commit}:{path}"):
        git(worktree, "checkout", "--quiet", commit, "--", literal)
    else:
        git(worktree, "rm", "--quiet", "--force", "--ignore-unmatch", "--", literal)


def _without_plan(diff: TreeDiff, path: str) -> TreeDiff:
    """The plan's file has been put back by now; what differs there the loop itself has ticked."""
    return replace(
        diff,
        files=tuple(file for file in diff if file.path != path),
        left_out=tuple(name for name in diff.left_out if name != path),
    )


def _scene(
    worktree: Path, state: LoopState, start: str, commit: str, report: CheckReport | None, commands: tuple[str, ...]
) -> Scene:
    diff, tree = _without_plan(read_diff(worktree, start, commit), state.config.plan.file), tree_of(worktree, commit)
    return Scene(
        diff=diff,
        tests=unchanged_tests(worktree, tree, diff),
        paths=frozenset(blob.path for blob in tree),
        commands=commands,
        protected=state.config.invariants.protect,
        report=report,
        most_tests=state.most_tests,
    )
