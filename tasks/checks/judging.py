"""What stands for and against an iteration's work: findings in what it changed, its agent's claims and what holds of them, what
has to be true before a loop is done, and the judge's word where all the rest is.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.errors import OperatorError
from helmsman.oversee.drift import drift, task_of
from helmsman.parsers.paths import git_would_show, matches_any
from helmsman.parsers.plan_order import noted
from helmsman.parsers.test_files import is_generated, is_test_file
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Drift, Execution
from helmsman.records.agents import prints_text
from helmsman.records.checks import CheckReport, Finding, Judgement
from helmsman.records.iteration import Evidence
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.verify.claims import Case, contradictions, read_claims
from helmsman.verify.commands import scripts
from helmsman.verify.completion import prove
from helmsman.verify.diff import FileDiff
from helmsman.verify.findings import conflicts_in
from helmsman.verify.hints import hints, weigh
from helmsman.verify.items import (
    criteria_of_doubts,
    criterion_of,
    criterion_of_block,
    judged,
    prove_item,
    taken_as_proven,
)
from helmsman.verify.judge.request import JudgeRequest, build_request
from helmsman.verify.judge.view import JudgeQuestion, Source, files_testing, is_product, named_files
from helmsman.verify.touched import tables
from tasks.checks.targets import NOT_THERE, Range, change_of, links_outside, reverted_paths, work_of
from tasks.models.asking import Asking, Credentials
from tasks.models.judge import ask_judge
from tasks.repository.diffs import Blob, read_diff, read_texts, tree_of
from tasks.repository.git import GitError, git, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import plan_at
from tasks.system.secrets import without_secrets

PUT_BACK_SHOWN = 20

Keep = Callable[[JudgeRequest], None]
MOST_NAMED = 12
"""Unchanged files that the judge is shown."""
MOST_ASKED_FOR = 20
"""Files that it may ask for."""
LARGEST_SCRIPT = 20_000
"""Bytes of a file that is searched for further names."""


def adjudicate(context: LoopContext, state: LoopState, evidence: Evidence, credentials: Credentials, keep: Keep) -> Evidence:
    """With the gates weighed. The judge is asked only where nothing but its word is missing, because it costs money.

    `keep` is given each request before it is sent.
    """
    item = prove_item(state, evidence)
    of_item = (
        criterion_of(evidence.plan.item if evidence.plan else None, state.config.judge) if item and item.needs_word else None
    )
    evidence = evidence.model_copy(update={"item": taken_as_proven(item) if item and of_item else item})
    proof = prove(state.config, state.done, evidence)  # what is left to the judge of the whole, if it finds the item done
    asked = proof.open and bool(state.config.judge.criteria)
    since = evidence.since_start or SinceStart()
    of_tests = criteria_of_doubts(since.changed_expectations, since.looked_up) if asked else ()
    criteria = (*(state.config.judge.criteria if proof.open else ()), *of_tests, *([of_item] if of_item else ()))
    if not criteria:
        # the second time that the agent says that it is blocked, it is believed whatever the judge says
        blocked = evidence.claims.blocked and evidence.checks is not None and not state.done.blocked
        of_block = criterion_of_block(state.config.judge) if blocked else None
        seen = _ask(context, state, evidence, (of_block,), credentials, keep) if of_block else None
        return evidence.model_copy(update={"proof": proof, "item": item, "block_judged": seen})
    judgement = _ask(context, state, evidence, criteria, credentials, keep)
    if item and of_item:
        item = judged(item, of_item, judgement)
        proof = prove(state.config, state.done, evidence.model_copy(update={"item": item}))
    return evidence.model_copy(update={"proof": proof, "judgement": judgement, "item": item})


def request_for(context: LoopContext, state: LoopState) -> JudgeRequest:
    """What the judge would be sent if it were asked about the loop's branch as it stands, with what the last checks said."""
    change = Change(start=state.base_commit, commit=state.head, tree="")
    call = AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=0)
    found = Evidence(execution=Execution(call=call, change=change), checks=state.checks, findings=state.findings)
    tree, judge = tree_of(context.worktree, state.head), state.config.judge
    return build_request(without_secrets(_question(context, state, found, judge.criteria, tree)), judge)


def _ask(
    context: LoopContext,
    state: LoopState,
    evidence: Evidence,
    criteria: Sequence[CriterionConfig],
    credentials: Credentials,
    keep: Keep,
) -> Judgement:
    by = Asking(state.config, credentials, f"{context.tag(state)}/judge", context.folder.cancel.exists)
    tree = tree_of(context.worktree, evidence.execution.change.commit)
    return judgement_on(by, _question(context, state, evidence, criteria, tree), criteria, context.worktree, tree, keep)


def judgement_on(
    by: Asking,
    question: JudgeQuestion,
    criteria: Sequence[CriterionConfig],
    top: Path,
    tree: Sequence[Blob],
    keep: Keep = lambda _: None,
) -> Judgement:
    """The judge's word on these criteria. Of the commit whose files `tree` names it may ask for some, once."""
    return ask_judge(
        question,
        by.config.judge.model_copy(update={"criteria": tuple(criteria)}),
        credentials=by.credentials(),
        claude=by.config.claude,
        tag=by.tag,
        keep=keep,
        shelf=lambda paths: read_texts(top, tree, paths[:MOST_ASKED_FOR]),
        stop=by.stop,
    )


def _question(
    context: LoopContext, state: LoopState, evidence: Evidence, criteria: Sequence[CriterionConfig], tree: Sequence[Blob]
) -> JudgeQuestion:
    work = work_of(context, state, evidence.execution.change.commit)
    return replace(
        question_on(work, context.worktree, evidence.checks, criteria, tree),
        proving=evidence.since_start.tests if evidence.since_start else (),
        blocked_by=evidence.claims.blocked,
        findings=evidence.findings,
        earlier=state.judge.verdicts,
        notes=state.judge.notes,
    )


def question_on(
    work: Range, top: Path, report: CheckReport | None, criteria: Sequence[CriterionConfig], tree: Sequence[Blob]
) -> JudgeQuestion:
    """What the judge is shown of the work between two commits. `top`: a folder of the repository; `tree`: of the later one."""
    plan = work.config.plan.file  # ticks are no evidence
    diff = [file for file in read_diff(top, work.base, work.commit) if file.path != plan]
    texts = {file.path: file.after or file.before for file in diff}
    made = {path for path, text in texts.items() if is_product(path) or text is None or is_generated(path, text)}
    written = [file for file in diff if file.path not in made]
    return JudgeQuestion(
        goal=work.config.goal,
        outputs=report.results if report else (),
        sources=tuple((file.path, file.after) for file in written if file.status != "D"),
        deleted=tuple(file.path for file in diff if file.status == "D"),
        commits=f"{work.base[:7]}..{work.commit[:7]}",
        diff=tuple(written),
        generated=tuple(file.path for file in diff if file.status != "D" and file.path in made),
        named=_named(top, work.config.checks, criteria, diff, tree),
        paths=tuple(blob.path for blob in tree if not is_product(blob.path)),
    )


def _named(
    top: Path,
    checks: Sequence[CheckConfig],
    criteria: Sequence[CriterionConfig],
    diff: Sequence[FileDiff],
    tree: Sequence[Blob],
) -> tuple[Source, ...]:
    """Unchanged files that criteria and checks name, that a script among those names, and tests of what was changed."""
    changed = {file.path for file in diff}
    paths = {blob.path: blob.size for blob in tree}
    said = [text for one in criteria for text in (one.text, *one.tests, *one.checks)]
    first = named_files([*said, *(check.command for check in checks)], paths)
    scripts = read_texts(top, tree, [path for path in first if paths[path] <= LARGEST_SCRIPT and not is_test_file(path)])
    further = named_files((text for _, text in scripts if text), paths)
    found = dict.fromkeys((*first, *further, *files_testing(changed, paths)))
    wanted = [path for path in found if path not in changed and not is_product(path)][:MOST_NAMED]
    return tuple(read_texts(top, tree, wanted))


def audit(context: LoopContext, state: LoopState, execution: Execution) -> tuple[Finding, ...]:
    """Findings in the whole loop's diff, links out of the repository, and conflicts of a merge in files where git left them."""
    checks, trouble = _checks(context, state, execution.change.start), state.merging.trouble
    work = work_of(context, state, execution.change.commit, checks)
    change = change_of(work, context.worktree)
    met = {one.path for one in trouble.files} if trouble else set[str]()
    unmerged = [found for file in change.diff if file.path in met for found in conflicts_in(file)]
    return weigh((*unmerged, *links_outside(work), *hints(change)), state.config.invariants)


def revert_protected(context: LoopContext, state: LoopState, commit: str) -> tuple[str, ...]:
    """Undo, in a commit that says so, what the loop has done to protected files. Returns their paths.

    These are what the operator protects, what configures the loop, and the scripts of its checks that were there.
    """
    kept, worktree = state.config.invariants, context.worktree
    run = {path for check in _checks(context, state, state.head) for path in scripts(check.command)}
    paths = sorted(
        path
        for path, (before, _) in work_of(context, state, commit).changed.items()
        if not matches_any(path, kept.allow)
        and (matches_any(path, (*kept.protect, *tables()["own"])) or (path in run and not before.startswith(NOT_THERE)))
    )
    for path in paths:
        literal = f":(literal){path}"
        if succeeds(worktree, "cat-file", "-e", f"{state.base_commit}:{path}"):
            git(worktree, "checkout", "--quiet", state.base_commit, "--", literal)
        else:
            git(worktree, "rm", "--quiet", "--force", "--ignore-unmatch", "--", literal)
    if paths and not succeeds(worktree, "diff", "--cached", "--quiet"):
        git(worktree, "commit", "--quiet", "--no-verify", "--message", "helmsman: put back protected files")
    return reverted_paths(paths)[:PUT_BACK_SHOWN]


def _checks(context: LoopContext, state: LoopState, start: str) -> tuple[CheckConfig, ...]:
    """What judges the work: the loop's checks, and those of the plan's items as they were before the agent could touch them."""
    of_items: dict[str, None] = {}
    for commit in dict.fromkeys((state.base_commit, start)) if state.config.plan.file else ():
        with suppress(OperatorError):  # of a plan that cannot be read no item is in hand
            plan = plan_at(context.repository, commit, state.config.plan.file)
            of_items |= dict.fromkeys(item.check for item in plan.items if item.check)
    return (*state.config.checks, *(CheckConfig(command=command) for command in of_items))


def collect_claims(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """With what the agent said, what of that does not hold, and whether what it did has to do with the task."""
    execution, memory, tree = evidence.execution, evidence.memory, context.worktree
    start, text, promise = execution.change.start, execution.call.final_text, state.config.completion.promise
    claims = read_claims(text, promise, only_at_end=prints_text(state.agent))
    files, commits = ([one.subject for one in claims.claims if one.kind == kind] for kind in ("file_changed", "committed"))
    earlier = git(tree, "diff", "--name-only", "-z", "--no-renames", state.base_commit, start, "--") if files else ""
    # git answers for each id whether it has an object of it
    answers = git(tree, "cat-file", "--batch-check", stdin="".join(f"{one}\n" for one in commits).encode()) if commits else ""
    known = zip(commits, answers.splitlines(), strict=True)
    case = Case(
        claims=claims,
        change=execution.change,
        call=execution.call,
        report=evidence.checks,
        ignored=_ignored(tree, files),
        worktree=str(tree),
        earlier_files=tuple(name for name in earlier.split("\0") if name),
        no_commits=tuple(name for name, answer in known if answer.endswith(" missing")),
    )
    found, checked = contradictions(case)
    drifted = drift(task_of(state), execution, str(tree)) if execution.worth_checking else Drift()
    item = noted(state.plan, (entry.text for entry in state.memory.completed), (entry.text for entry in memory.completed))
    return evidence.model_copy(
        update={"claims": claims, "contradictions": found, "claims_checked": checked, "drift": drifted, "noted": item}
    )


def _ignored(worktree: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Those of the named files that git does not look at, so that a change in them shows nowhere."""
    named = [name for name in files if git_would_show(name, str(worktree))]  # git refuses all for one that lies outside
    if not named:
        return ()
    try:
        found = git(worktree, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(named).encode())
    except GitError:  # none of them is ignored, or one lies outside
        return ()
    return tuple(name for name in found.split("\0") if name)
