"""Decide whether the loop is done. The agent's request is a claim; the conditions below are read from evidence.

Done = requested AND every check green AND a tree that differs from the start AND, if every check was green at the start, a new
test that fails on the start's source (or a judge, or proven plan items) AND tests ran in the checks that report tests (not
required for those that reported none at the start) AND no blocking finding AND the required tests ran AND every plan item is
proven (if there is a plan) AND the hidden checks and the probes pass AND (with the dual gate) enough of the last iterations look
complete. The judge is asked last, when all of that holds. No other statement of the agent counts.
"""

import re
from collections.abc import Iterator, Sequence

from helmsman.config import CriterionConfig, JudgeConfig, LoopConfig
from helmsman.parsers.plan_order import is_named_by, refers_to
from helmsman.parsers.source import is_test_file
from helmsman.plain import clean, in_plain_words
from helmsman.prompts import render
from helmsman.records.advance import failure_floor
from helmsman.records.checks import CheckReport, CheckResult, Judgement, checks_fail
from helmsman.records.iteration import Evidence
from helmsman.records.plan import ItemProof, PlanItem
from helmsman.records.proof import Denial, DoneSignals, Proof, SinceStart
from helmsman.records.state import LoopState
from helmsman.records.verification import Case, OutcomeTable
from helmsman.verify.altered_tests import describe_cannot_fail
from helmsman.verify.findings import describe_blocking, describe_checks_without_tests, describe_survivors, join_some
from helmsman.verify.new_tests import NO_NEW_TEST, asks_for_tests
from helmsman.verify.outcomes import failing_at_start
from helmsman.verify.stubs import describe_unexercised

ALL_TICKED = "every item of the plan is ticked"
UNCHANGED = "nothing differs from the start"
UNPROVEN = "every check was green before the change, and no new test fails without it"
ONLY_CHANGED = "only changed tests support the change, and none of them fails without it"
NOT_BY_WORK = "what failed before any work passes now without the change as well, so something else has fixed it"
RECENT = 5  # number of iterations in the dual gate


def prove(config: LoopConfig, before: DoneSignals, evidence: Evidence) -> Proof:
    """Evaluate the gates for one iteration. `before`: signals of completion from earlier iterations."""
    checks, claims, limit = evidence.checks, evidence.claims, config.completion.test_only_limit
    green = checks is not None and (checks.passed or not config.checks)
    test_only = green and changed_tests_only(evidence)
    claims_done = claims.wants_to_finish or (claims.status is not None and claims.status.status == "complete")
    looks_complete = green and claims_done
    saturated = limit is not None and test_only and before.test_only_in_row + 1 >= limit
    plan_done = green and evidence.plan is not None and not evidence.items_left
    saturation = f"the last {before.test_only_in_row + 1} iterations changed nothing but tests" if saturated else ""
    return Proof(
        asked=claims.wants_to_finish or saturated or plan_done,
        how=claims.how or saturation or (ALL_TICKED if plan_done else ""),
        green=green,
        denied=_denials(config, before, evidence, looks=looks_complete),
        looks_complete=looks_complete,
        test_only=test_only,
    )


def rests_on_start_alone(config: LoopConfig, table: OutcomeTable) -> bool:
    """Whether the only proof is what failed before any work, so that another cause than the work may have fixed it."""
    proofs = table.of("proves")
    return bool(proofs) and not (config.judge.criteria or config.plan.file or any(case.fails_on_base for case in proofs))


def required_tests(config: LoopConfig) -> tuple[str, ...]:
    """Return the names of tests that must have run: the operator's and those that criteria name."""
    by_criteria = (name for criterion in config.judge.criteria for name in criterion.tests)
    return tuple(dict.fromkeys((*config.completion.required_tests, *by_criteria)))


def unseen_tests(config: LoopConfig, report: CheckReport | None) -> list[str]:
    """Return required tests without evidence that they ran."""
    ran = {name for result in report.results for name in result.ran} if report else set[str]()
    return [name for name in required_tests(config) if name not in ran]


def changed_tests_only(evidence: Evidence) -> bool:
    change = evidence.execution.change
    return bool(change.files) and change.files_changed == len(change.files) and all(map(is_test_file, change.files))


def _denials(config: LoopConfig, before: DoneSignals, evidence: Evidence, *, looks: bool) -> tuple[Denial, ...]:
    """Return the closed gates, each with its reason."""
    since, judged = evidence.since_start or SinceStart(), bool(config.judge.criteria)
    verifies = evidence.plan is not None and evidence.plan.item is not None and evidence.plan.item.verify
    remaining, seen = evidence.items_left, sum((*before.indicators, looks)[-RECENT:])
    proven, needed = evidence.item.item if evidence.item and evidence.item.proven else "", config.completion.indicators
    left_names = join_some([name for name in evidence.plan.left if name != proven], remaining) if evidence.plan else ""
    failing_hidden = [result.name for result in evidence.hidden if not result.passed]
    too_few = f"{seen} of the last {RECENT} iterations look complete, {needed} are needed"
    gates = (
        Denial(rule="unchanged", why=UNCHANGED if since.unchanged and not verifies else ""),  # a verifying item needs no change
        Denial(rule="unproven", why=_unproven_reason(config, since)),
        # if there is a judge, it decides on the next two instead
        Denial(rule="expectations", why="" if judged else _expectations_reason(since)),
        Denial(rule="looked_up", why=_format_reason("answers look hard-coded", since.looked_up, judged)),
        Denial(rule="unproven", why=describe_cannot_fail(since.cannot_fail)),
        Denial(rule="unproven", why="" if judged else describe_unexercised(since.unexercised)),
        Denial(rule="unproven", why=describe_checks_without_tests(() if since.unchanged else since.without_test)),
        Denial(rule="invariants", why=describe_blocking(evidence.findings)),
        Denial(rule="required_tests", why=_format_reason("required tests did not run", unseen_tests(config, evidence.checks))),
        Denial(rule="indicators", why=too_few if seen < needed else ""),
        Denial(rule="plan", why=f"items of {config.plan.file} are not proven ({remaining}): {left_names}" if remaining else ""),
        Denial(rule="processes", why=describe_survivors(evidence)),
        Denial(rule="hidden", why=_format_reason("a hidden check fails", failing_hidden)),
        Denial(
            rule="probes",
            why=_format_reason("a case that a model wrote fails", evidence.probed.failing if evidence.probed else ()),
        ),
    )
    return tuple(gate for gate in gates if gate.why)


def _format_reason(problem: str, names: Sequence[str], judged: bool = False) -> str:
    return f"{problem}: {join_some([clean(name) for name in names])}" if names and not judged else ""


def _expectations_reason(since: SinceStart) -> str:
    """Return why tests are in question; for a check that names no test and failed before, in the words of its outcome."""
    checks = {case.name: f"the check {clean(case.name)} {case.why}" for case in _failing_checks_in_question(since)}
    tests = [name for name in since.changed_expectations if name not in checks]
    of_tests = _format_reason("tests of the start fail on the new source, or no longer run", tests)
    return "; ".join(filter(None, (of_tests, join_some([*checks.values()], most=1))))


def _failing_checks_in_question(since: SinceStart) -> list[Case]:
    return [case for case in since.table.of("asks") if case.name == case.check and case.red_on_base]


def _unproven_reason(config: LoopConfig, since: SinceStart) -> str:
    if since.unchanged:
        return ""
    if not since.needs_test:
        permitted = any(case.outcome == "CHANGED" and case.consequence == "reported" for case in since.table.cases)
        if since.table.of("proves") or config.judge.criteria or config.plan.file:
            return ""
        return _format_reason(NOT_BY_WORK, since.passing_now) or (ONLY_CHANGED if permitted else "")
    if asks_for_tests(config.goal) and not since.table.new_test_proves:
        return "" if _failing_checks_in_question(since) else NO_NEW_TEST  # one reason is enough where a check needs the tests
    return "" if since.failing else UNPROVEN


# --- the current plan item --------------------------------------------------------------------------------------------
# The agent may claim that it is done; the evidence decides. Proven = checks ran AND no blocking finding AND, if the item has its
# own check: it passes, and nothing fails that did not fail before. If it has none: every check of the loop passes, something was
# changed for it (or it only verifies), AND a test that names it has turned green, or the judge finds its acceptance criteria met,
# or a person confirms it. Judge and person are asked if the agent notes it as done; that claim alone proves nothing, and no other
# claim of the agent counts against the item.

ITEM = "plan."  # prefix of the criterion id for an item
LONGEST_CRITERION = 4_000
CANNOT_FAIL = "its check passes without the change as soon as its new tests are there, so they do not test this item"
_ABOUT_TESTS = re.compile(r"tests?|spec|coverage", re.IGNORECASE)
NO_EVIDENCE = "only the agent says that it is done"


def prove_item(state: LoopState, evidence: Evidence) -> ItemProof | None:
    """Return the proof of the current item without the judge's verdict; None if there is no item."""
    item = evidence.plan.item if evidence.plan else None
    if item is None:
        return None
    if evidence.execution.plan and evidence.execution.plan.kept:
        why = "the plan was regenerated; its items can be proven from the next iteration on"
        return ItemProof(item=item.id, title=item.title, missing=(why,), tried=False)
    missing = tuple(filter(None, _reasons_against(state, evidence, item)))
    proof = ItemProof(item=item.id, title=item.title, proven=not missing, missing=missing, tried=evidence.execution.needs_checks)
    if missing or (item.check and not evidence.own_cannot_fail) or tests_that_name(state, evidence, item):
        return proof
    # only the agent knows whether it has finished the item
    claimed = (claim.subject for claim in evidence.claims.claims if claim.kind == "item_done")
    noted = evidence.noted == item.id or (state.plan.noted and state.plan.now == item.id)
    is_claimed = noted or evidence.claims.wants_to_finish or any(refers_to(line, item.id, item.title) for line in claimed)
    how_to_show = (
        f"nothing shows that it is done: add a test that names `{item.id}` and fails without the change, or the"
        f" line `{item.id}: done` to the notes to have it reviewed"
    )
    why = CANNOT_FAIL if evidence.own_cannot_fail else NO_EVIDENCE if is_claimed else how_to_show
    return proof.model_copy(update={"proven": False, "missing": (why,), "needs_word": is_claimed})


def is_about_tests(item: PlanItem) -> bool:
    """Whether tests that pass without a change may be what an item asks for."""
    return _ABOUT_TESTS.search(item.title) is not None


def tests_that_name(state: LoopState, evidence: Evidence, item: PlanItem) -> tuple[str, ...]:
    """Return tests that name the item and turned green: they failed before any work, or fail on the start's source."""
    before = failing_at_start(state.history) or ()
    on_start = evidence.since_start.tests if evidence.since_start else ()
    return tuple(name for name in dict.fromkeys((*sorted(before), *on_start)) if is_named_by(name, item.id, item.title))


def criterion_of(item: PlanItem, config: JudgeConfig) -> CriterionConfig | None:
    """Return the judge's criterion for an item that nothing else can prove; None without a judge."""
    if not config.criteria:
        return None
    requirements = "\n".join(f"- {line}" for line in item.acceptance) or item.details
    text = f"This item of the plan is done, completely: {item.title}\n{requirements}".strip()
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", item.id)
    return CriterionConfig(id=f"{ITEM}{plain}"[:60], text=text[:LONGEST_CRITERION])


def criterion_of_block(config: JudgeConfig) -> CriterionConfig | None:
    """Return the judge's criterion for an agent that reports to be blocked; None if there is no judge."""
    return CriterionConfig(id="agent.blocked", text=render("judge_blocked")) if config.criteria else None


def criteria_of_doubts(changed: Sequence[str], looked_up: Sequence[str]) -> tuple[CriterionConfig, ...]:
    """Return the judge's criteria if the start's tests fail on the new source, and if answers look hard-coded."""
    of_tests = render("judge_changed_tests", found=join_some(changed)) if changed else ""
    of_answers = render("judge_looked_up", found=join_some(looked_up)) if looked_up else ""
    asked = (("changed.tests", of_tests), ("looked.up", of_answers))
    return tuple(CriterionConfig(id=name, text=text[:LONGEST_CRITERION]) for name, text in asked if text)


def apply_judgement(proof: ItemProof, criterion: CriterionConfig, judgement: Judgement) -> ItemProof:
    """Apply the judge's verdict to a proof."""
    verdict = next((verdict for verdict in judgement.criteria if verdict.criterion == criterion.id), None)
    if verdict is not None and verdict.met:
        return mark_proven(proof)
    if verdict is not None and verdict.cannot_tell:
        why = f"the judge cannot tell whether it is done: {verdict.reason}"
        return proof.model_copy(update={"proven": False, "missing": (why,), "needs_word": True})
    why = f"the judge finds it not done: {verdict.reason if verdict else judgement.cause}"
    return proof.model_copy(update={"proven": False, "missing": (why,), "needs_word": False})


def mark_proven(proof: ItemProof) -> ItemProof:
    """Mark an item as proven by the missing confirmation."""
    return proof.model_copy(update={"proven": True, "missing": (), "needs_word": False})


# --- reasons against it ---------------------------------------------------------------------------------------------


def _reasons_against(state: LoopState, evidence: Evidence, item: PlanItem) -> Iterator[str]:
    """Yield the reasons against an item, with empty strings for those that do not apply."""
    ending = in_plain_words(evidence.execution.call.outcome)
    yield "" if evidence.checks else f"the agent's call ended as {ending}, so nothing was checked"
    yield describe_blocking(evidence.findings)
    yield describe_survivors(evidence)
    yield _check_own(evidence, item)
    yield _check_earlier_items(evidence, item)
    yield _check_failures(state, evidence, item)
    if not item.check:
        yield describe_checks_without_tests(evidence.since_start.without_test if evidence.since_start else ())
        earlier = state.plan.changed and state.plan.now == item.id
        changed = item.verify or earlier or evidence.execution.change.files_changed > 0
        yield "" if changed else "no change was made for it"


def _check_own(evidence: Evidence, item: PlanItem) -> str:
    if not item.check or evidence.checks is None:
        return ""
    result = next(iter(evidence.own.results), None) if evidence.own else None
    if result is None:
        return f"its check was not run: {item.check}"
    if result.ran_no_test:
        return f"no test ran in its check: {item.check}"
    how = "did not finish" if result.timed_out else f"fails (exit code {result.exit_code})"
    how = f"could not run ({result.error})" if result.error else how
    return "" if result.passed else f"its check {how}: {item.check}"


def _check_earlier_items(evidence: Evidence, item: PlanItem) -> str:
    """The checks of items that were ticked before; they run with the last item."""
    results = evidence.own.results if evidence.own else ()
    failing = [result.command for result in results if not result.passed and result.command != item.check]
    return f"checks of items that are ticked fail now: {join_some(failing)}" if failing else ""


def _check_failures(state: LoopState, evidence: Evidence, item: PlanItem) -> str:
    """All checks must pass; with an item's own check it is enough that nothing became worse.

    Worse than at the last tick: a failure that one iteration causes is not excused in the next.
    """
    if evidence.checks is None:
        return ""
    failing = evidence.checks.failures
    if item.check and state.checks is not None:
        floors = (state.plan.floor or failure_floor(state.best_checks), failure_floor(state.checks))
        failing = tuple(result for result in failing if any(_is_worse(floor.get(result.command, -1), result) for floor in floors))
        return f"it made checks worse: {join_some([result.name for result in failing])}" if failing else ""
    return (
        f"{checks_fail(len(failing), len(evidence.checks.results))}: {join_some([result.name for result in failing])}"
        if failing
        else ""
    )


def _is_worse(before: int, now: CheckResult) -> bool:
    return before == 0 or (before > 0 and now.counts is not None and now.counts.failed > before)
