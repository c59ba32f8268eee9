"""The last gate: what has to be true before a loop is done, and the judge's word where all the rest is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.parsers.test_files import is_generated, is_test_file
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Execution
from helmsman.records.checks import CheckReport, Judgement
from helmsman.records.iteration import Evidence
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.verify.completion import prove
from helmsman.verify.diff import FileDiff
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
from tasks.checks.context import work_of
from tasks.checks.trusted_run import Range
from tasks.models.judge import ask_judge
from tasks.repository.diffs import Blob, read_diff, read_texts, tree_of
from tasks.repository.loop_context import LoopContext
from tasks.system.secrets import without_secrets

Credentials = Callable[[], Mapping[str, str]]
"""Looked up only where the judge is asked."""
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
    tree = tree_of(context.worktree, evidence.execution.change.commit)
    return ask_judge(
        _question(context, state, evidence, criteria, tree),
        state.config.judge.model_copy(update={"criteria": tuple(criteria)}),
        credentials=credentials(),
        claude=state.config.claude,
        tag=f"{context.tag(state)}/judge",
        keep=keep,
        shelf=lambda paths: read_texts(context.worktree, tree, paths[:MOST_ASKED_FOR]),
        stop=context.folder.cancel.exists,
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
