"""Judge an iteration's work: findings in its changes, verified claims of the agent, the conditions for completion, and the
judge's verdict if all others hold.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.errors import OperatorError
from helmsman.oversee.drift import measure_drift, task_of
from helmsman.parsers.paths import is_visible_to_git, matches_any
from helmsman.parsers.plan_order import noted_item
from helmsman.parsers.source import is_generated, is_test_file
from helmsman.records.agent import Drift, Execution
from helmsman.records.agents import prints_text
from helmsman.records.checks import CheckReport, Finding, Judgement
from helmsman.records.iteration import Evidence
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.verify.claims import Case, contradictions, read_claims
from helmsman.verify.commands import scripts_run_by
from helmsman.verify.completion import (
    apply_judgement,
    criteria_of_doubts,
    criterion_of,
    criterion_of_block,
    mark_proven,
    prove,
    prove_item,
)
from helmsman.verify.diff import FileDiff
from helmsman.verify.findings import conflicts_in, find_worktree_path
from helmsman.verify.hints import hints, weigh
from helmsman.verify.judge.request import JudgeRequest, build_request
from helmsman.verify.judge.view import JudgeQuestion, Source, has_generated_name, mentioned_files, tests_for
from helmsman.verify.touched import file_roles
from tasks.checks.targets import Range, change_of, find_outside_links, reverted_paths, work_of
from tasks.models.judge import ask_judge
from tasks.models.sending import CallSettings, Credentials
from tasks.repository.diffs import Blob, read_diff, read_texts, tree_of
from tasks.repository.git import GitError, git, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.objects import MISSING
from tasks.repository.plan import plan_at
from tasks.system.secrets import without_secrets

PUT_BACK_SHOWN = 20

Keep = Callable[[JudgeRequest], None]
MOST_NAMED = 12  # maximum of unchanged files for the judge
LARGEST_SCRIPT = 20_000  # maximum bytes of a file to search for further names


def adjudicate(context: LoopContext, state: LoopState, evidence: Evidence, credentials: Credentials, keep: Keep) -> Evidence:
    """Add the proof and the judge's verdict. The judge, which costs money, is asked only if all else holds.

    `keep` is called with each request before it is sent.
    """
    item, current = prove_item(state, evidence), evidence.plan.item if evidence.plan else None
    item_criterion = criterion_of(current, state.config.judge) if current and item and item.needs_word else None
    evidence = evidence.model_copy(update={"item": mark_proven(item) if item and item_criterion else item})
    proof = prove(state.config, state.done, evidence)  # what remains for the judge of the whole, if it finds the item done
    needs_judge = proof.open and bool(state.config.judge.criteria)
    since_start = evidence.since_start or SinceStart()
    doubts = criteria_of_doubts(since_start.changed_expectations, since_start.looked_up) if needs_judge else ()
    criteria = (*(state.config.judge.criteria if proof.open else ()), *doubts, *([item_criterion] if item_criterion else ()))
    if not criteria:
        # if the agent says a second time that it is blocked, accept that whatever the judge says
        is_blocked = evidence.claims.blocked and evidence.checks is not None and not state.done.blocked
        block_criterion = criterion_of_block(state.config.judge) if is_blocked else None
        block_judgement = _ask_judge(context, state, evidence, (block_criterion,), credentials, keep) if block_criterion else None
        return evidence.model_copy(update={"proof": proof, "item": item, "block_judged": block_judgement})
    judgement = _ask_judge(context, state, evidence, criteria, credentials, keep)
    if item and item_criterion:
        item = apply_judgement(item, item_criterion, judgement)
        proof = prove(state.config, state.done, evidence.model_copy(update={"item": item}))
    return evidence.model_copy(update={"proof": proof, "judgement": judgement, "item": item})


def request_for(context: LoopContext, state: LoopState) -> JudgeRequest:
    """Request that the judge would get on the loop's current branch, with the last checks."""
    judge, top, tree = state.config.judge, context.worktree, tree_of(context.worktree, state.head)
    question = question_on(work_of(context, state, state.head), top, state.checks, judge.criteria, tree)
    question = replace(question, findings=state.findings, earlier=state.judge.verdicts, notes=state.judge.notes)
    return build_request(without_secrets(question), judge)


def _ask_judge(
    context: LoopContext,
    state: LoopState,
    evidence: Evidence,
    criteria: Sequence[CriterionConfig],
    credentials: Credentials,
    keep: Keep,
) -> Judgement:
    settings = CallSettings(state.config, credentials, f"{context.tag(state)}/judge", context.folder.cancel.exists)
    top, commit = context.worktree, evidence.execution.change.commit
    tree = tree_of(top, commit)
    question = replace(
        question_on(work_of(context, state, commit), top, evidence.checks, criteria, tree),
        proving=evidence.since_start.tests if evidence.since_start else (),
        blocked_by=evidence.claims.blocked,
        findings=evidence.findings,
        earlier=state.judge.verdicts,
        notes=state.judge.notes,
    )
    return ask_judge(question, criteria, settings, read_files=partial(read_texts, top, tree), keep=keep)


def question_on(
    work: Range, top: Path, report: CheckReport | None, criteria: Sequence[CriterionConfig], tree: Sequence[Blob]
) -> JudgeQuestion:
    """Question for the judge on the work between two commits. `top`: a folder of the repository; `tree`: of the later commit."""
    plan = work.config.plan.file  # ticks are not evidence
    diff = [file for file in read_diff(top, work.base, work.commit) if file.path != plan]
    texts = {file.path: file.after or file.before for file in diff}
    generated = {path for path, text in texts.items() if has_generated_name(path) or text is None or is_generated(path, text)}
    hand_written = [file for file in diff if file.path not in generated]
    return JudgeQuestion(
        goal=work.config.goal,
        outputs=report.results if report else (),
        sources=tuple((file.path, file.after) for file in hand_written if file.status != "D"),
        deleted=tuple(file.path for file in diff if file.status == "D"),
        commits=f"{work.base[:7]}..{work.commit[:7]}",
        diff=tuple(hand_written),
        generated=tuple(file.path for file in diff if file.status != "D" and file.path in generated),
        named=_named_files(top, work.config.checks, criteria, diff, tree),
        paths=tuple(blob.path for blob in tree if not has_generated_name(blob.path)),
    )


def _named_files(
    top: Path,
    checks: Sequence[CheckConfig],
    criteria: Sequence[CriterionConfig],
    diff: Sequence[FileDiff],
    tree: Sequence[Blob],
) -> tuple[Source, ...]:
    """Unchanged files named by criteria, checks or their scripts, and tests of changed files."""
    changed = {file.path for file in diff}
    paths = {blob.path: blob.size for blob in tree}
    texts = [text for criterion in criteria for text in (criterion.text, *criterion.tests, *criterion.checks)]
    first = mentioned_files([*texts, *(check.command for check in checks)], paths)
    scripts = read_texts(top, tree, [path for path in first if paths[path] <= LARGEST_SCRIPT and not is_test_file(path)])
    further = mentioned_files((text for _, text in scripts if text), paths)
    ordered = dict.fromkeys((*first, *further, *tests_for(changed, paths)))
    wanted = [path for path in ordered if path not in changed and not has_generated_name(path)][:MOST_NAMED]
    return tuple(read_texts(top, tree, wanted))


def audit(context: LoopContext, state: LoopState, execution: Execution) -> tuple[Finding, ...]:
    """Findings in the loop's whole diff, paths and links to outside of the repository, and unresolved merge conflicts."""
    checks, trouble = _all_checks(context, state, execution.change.start), state.merging.trouble
    work = work_of(context, state, execution.change.commit, checks)
    change = change_of(work, context.worktree)
    in_conflict = {file.path for file in trouble.files} if trouble else set[str]()
    unmerged = [finding for file in change.diff if file.path in in_conflict for finding in conflicts_in(file)]
    tied = [finding for file in change.diff for finding in find_worktree_path(file, str(context.worktree))]
    return weigh((*unmerged, *tied, *find_outside_links(work), *hints(change)), state.config.invariants)


def revert_protected(context: LoopContext, state: LoopState, commit: str) -> tuple[str, ...]:
    """Revert changes to protected files in a commit. Returns their paths.

    These are files that the operator protects, the loop's configuration, and existing scripts of its checks.
    """
    invariants, worktree = state.config.invariants, context.worktree
    scripted = {path for check in _all_checks(context, state, state.head) for path in scripts_run_by(check.command)}
    paths = sorted(
        path
        for path, (before, _) in work_of(context, state, commit).changed.items()
        if not matches_any(path, invariants.allow)
        and (matches_any(path, (*invariants.protect, *file_roles()["own"])) or (path in scripted and before.mode != MISSING))
    )
    for path in paths:
        literal = f":(literal){path}"
        if succeeds(worktree, "cat-file", "-e", f"{state.base_commit}:{path}"):
            git(worktree, "checkout", "--quiet", state.base_commit, "--", literal)
        else:
            git(worktree, "rm", "--quiet", "--force", "--ignore-unmatch", "--", literal)
    if paths and not succeeds(worktree, "diff", "--cached", "--quiet"):
        git(worktree, "commit", "--quiet", "--no-verify", "--message", "helmsman: restore protected files")
    return reverted_paths(paths)[:PUT_BACK_SHOWN]


def _all_checks(context: LoopContext, state: LoopState, start: str) -> tuple[CheckConfig, ...]:
    """The loop's checks, and those of the plan's items before the agent could change them."""
    of_items: dict[str, None] = {}
    for commit in dict.fromkeys((state.base_commit, start)) if state.config.plan.file else ():
        with suppress(OperatorError):  # an unreadable plan has no current item
            plan = plan_at(context.repository, commit, state.config.plan.file)
            of_items |= dict.fromkeys(item.check for item in plan.items if item.check)
    return (*state.config.checks, *(CheckConfig(command=command) for command in of_items))


def collect_claims(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """Add the agent's claims, their contradictions, and whether its actions drift from the task."""
    execution, memory, tree = evidence.execution, evidence.memory, context.worktree
    start, text, promise = execution.change.start, execution.call.final_text, state.config.completion.promise
    claims = read_claims(text, promise, only_at_end=prints_text(state.agent))
    files, commits = ([claim.subject for claim in claims.claims if claim.kind == kind] for kind in ("file_changed", "committed"))
    earlier = git(tree, "diff", "--name-only", "-z", "--no-renames", state.base_commit, start, "--") if files else ""
    # git answers for each id whether the object exists
    answers = git(tree, "cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in commits).encode()) if commits else ""
    existence = zip(commits, answers.splitlines(), strict=True)
    case = Case(
        claims=claims,
        change=execution.change,
        call=execution.call,
        report=evidence.checks,
        ignored=_list_ignored(tree, files),
        worktree=str(tree),
        earlier_files=tuple(name for name in earlier.split("\0") if name),
        no_commits=tuple(name for name, answer in existence if answer.endswith(" missing")),
    )
    contradicted, checked = contradictions(case)
    drifted = measure_drift(task_of(state), execution, str(tree)) if execution.needs_checks else Drift()
    item = noted_item(state.plan, (entry.text for entry in state.memory.completed), (entry.text for entry in memory.completed))
    return evidence.model_copy(
        update={"claims": claims, "contradictions": contradicted, "claims_checked": checked, "drift": drifted, "noted": item}
    )


def _list_ignored(worktree: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Files that git ignores, so that changes in them are invisible."""
    inside = [name for name in files if is_visible_to_git(name, str(worktree))]  # git rejects all if one is outside
    if not inside:
        return ()
    try:
        ignored = git(worktree, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(inside).encode())
    except GitError:  # none is ignored, or one is outside
        return ()
    return tuple(name for name in ignored.split("\0") if name)
