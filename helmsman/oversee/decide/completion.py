"""Questions about being done: proven, acknowledged, denied, rejected, blocked."""

import json
import shlex

from helmsman.oversee.decide.situation import Situation, go_on, question, standing, stop
from helmsman.plain import clean, shortened
from helmsman.records.findings import Weight
from helmsman.records.judgement import JudgementOutcome
from helmsman.records.modes import Rung
from helmsman.records.plan_folds import tries_after
from helmsman.records.proof import NEEDS_WORD
from helmsman.records.verdict import Decision, Outcome
from helmsman.texts import are_allowed, counted
from helmsman.verify.completion import ALL_TICKED, UNCHANGED
from helmsman.verify.grounds import grounds_of_loop
from helmsman.verify.objections import some

MOST_REFUSED = 2
"""Requests for nothing, or for what nothing shows: after the first the agent is told what is missing."""


def _no_better(s: Situation) -> bool:
    """Whether force_max has come to its end: a limit, or nothing that the loop could still improve by itself."""
    return bool(s.limits) or (s.steers and s.oversight.ladder.rung >= Rung.HUMAN)


def _proof_word(s: Situation) -> str:
    return "verified" if s.state.config.checks else "unverified"


def _why_done(s: Situation) -> str:
    judgement = s.evidence.judgement
    judged = f", and the judge agrees on {counted(len(judgement.criteria), 'criterion', 'criteria')}" if judgement else ""
    how = s.evidence.proof.how
    asked = how if how == ALL_TICKED else f"the agent asked to be done ({how})"
    since = s.evidence.since_start
    shown = " (its new tests fail without the work)" if since and since.failing else ""
    return f"{asked} and {_checked(s)}{shown}{judged}"


def _checked(s: Situation) -> str:
    report = s.evidence.checks
    if not s.state.config.checks or report is None:
        return "NOTHING WAS VERIFIED, because no check is configured"
    where = ", verified in the agent's folder" if report.clean is False else ""
    empty = some([result.name for result in report.results if result.ran_no_test])
    untested = f", no test ran in {empty}" if empty else ""
    return f"every check passes ({len(report.results)} of {len(report.results)}{untested}{where})"


def _gates(s: Situation) -> str:
    """How the gates of completion stand."""
    proof, judgement = s.evidence.proof, s.evidence.judgement
    told = (
        f"asked: {_yes(proof.asked)}",
        f"every check passes: {_yes(proof.green)}",
        f"objections: {len(proof.denied)}",
        *([f"the judge approves: {_yes(judgement.approved)}"] if judgement else ()),
        *(["force_max goes on"] if s.state.config.completion.force_max and s.evidence.proven else ()),
    )
    return ", ".join(told)


def _yes(held: bool) -> str:
    return "yes" if held else "no"


def _missing(s: Situation) -> str:
    """What would have completed it."""
    return "nothing was missing" if s.evidence.proven else standing(s)


def _rejections(s: Situation) -> str:
    judgement = s.evidence.judgement
    if judgement is None:
        return "no judge was asked"
    in_row = 0 if judgement.approved else s.state.judge.rejections + judgement.rejected
    return f"{counted(in_row, 'rejection')} in a row, {are_allowed(s.state.config.judge.rejections)}"


def _undecided(s: Situation) -> str:
    judgement = s.evidence.judgement
    undecided = sum(one.cannot_tell for one in judgement.criteria) if judgement else 0
    return f"{counted(undecided, 'criterion', 'criteria')} that cannot be told" if judgement else "no judge was asked"


def _refusals(s: Situation) -> str:
    done, refused = s.state.done, s.evidence.proof.refused_by
    unchanged, unproven = done.unchanged + ("unchanged" in refused), done.unproven + bool(refused & NEEDS_WORD)
    return f"{unchanged} on an unchanged tree, {unproven} without proof, {MOST_REFUSED} of either end it"


def _tries(s: Situation) -> int:
    return tries_after(s.state.plan, s.evidence).get(s.evidence.item.item, 0) if s.evidence.item else 0


def _item_in_hand(s: Situation) -> str:
    proof, allowed = s.evidence.item, s.state.config.plan.tries
    if proof is None:
        return "no item of a plan is in hand"
    return f"{proof.item} is proven" if proof.proven else f"{proof.item}: {_tries(s)} of {allowed} tries, missing: {proof.why}"


def _remedy(s: Situation) -> str:
    """What a person may do who has looked and finds the work honest."""
    paths = {finding.path for finding in s.evidence.findings if finding.weight is Weight.BLOCK}
    allowed = shlex.quote(
        f"invariants.allow={json.dumps([*s.state.config.invariants.allow, *sorted(paths)[:3]], ensure_ascii=False)}"
    )
    return f"; if you have looked and it is honest work: helmsman resume {s.state.loop} --set {allowed}" if paths else ""


def _requests(s: Situation) -> str:
    proof, limit = s.evidence.proof, s.state.config.completion.ask_limit
    denied = proof.asked and proof.green and bool(proof.denied)
    return f"{s.state.done.asked_in_row + 1 if denied else 0} in a row, {limit or 'any number'} may be"


def _said(s: Situation) -> str:
    if not s.evidence.claims.blocked:
        return "it does not say so"
    judged = s.evidence.block_judged
    seen = f", the judge: {judged.criteria[0].given.replace('_', ' ')}" if judged else ""
    return f"it says so, {s.state.done.blocked + 1} in a row{seen}; two in a row, or the judge's word, end it"


# --- the questions ----------------------------------------------------------------------------------------------------


@question("completion", "Is the work proven to be done?", _gates, _missing)
def completed(s: Situation) -> Decision | None:
    if not s.evidence.proven or (s.state.config.completion.force_max and not _no_better(s)):
        return None
    done = stop(s, f"completion.{_proof_word(s)}", f"{_why_done(s)} on {s.short}", Outcome.COMPLETED)
    return done.model_copy(update={"grounds": grounds_of_loop(s.evidence, s.state.config)})


@question(
    "completion.force_max",
    "Was it proven before, under force_max, and is it as green at the end?",
    lambda s: f"proven before: {s.state.verified[:10] or 'no'}, a limit is reached: {_yes(bool(s.limits))}",
    "an earlier proof, and green checks at the last iteration",
)
def completed_before(s: Situation) -> Decision | None:
    """With force_max the last iteration need not ask again, where an earlier one was proven and this one is as green."""
    proof, judged = s.evidence.proof, bool(s.state.config.judge.criteria)
    if not (s.state.config.completion.force_max and s.limits and s.state.verified and proof.green and not proof.denied) or judged:
        return None
    reason = f"it was proven first on {s.state.verified[:10]}, and at the end of all iterations {_checked(s)} on {s.short}"
    return stop(s, "completion.force_max", reason, Outcome.COMPLETED)


@question(
    "judge.rejections",
    "Has the judge rejected the work too often in a row?",
    _rejections,
    "an approval, other criteria, or judge.reset_strategy",
)
def rejected(s: Situation) -> Decision | None:
    judgement, config = s.evidence.judgement, s.state.config.judge
    in_row = s.state.judge.rejections + 1
    if judgement is None or not judgement.rejected or s.state.config.resets_strategy or in_row < config.rejections:
        return None
    unmet = ", ".join(verdict.criterion for verdict in judgement.criteria if verdict.unmet)
    about = f" (not met: {unmet})" if unmet else ""
    reason = f"the judge rejected the work {in_row} times in a row, {are_allowed(config.rejections)}: {judgement.cause}{about}"
    return stop(s, "judge.rejections", f"{reason}; a person has to look at the criteria or at the work", Outcome.WAITING)


@question(
    "judge.cannot_tell",
    "Is nothing unmet, and the judge cannot tell of the rest?",
    _undecided,
    "a verdict on every criterion: one that names the files that show it, or a check in its place",
)
def cannot_tell(s: Situation) -> Decision | None:
    """The item of a plan that it cannot tell of has a question of its own."""
    judgement, of_item = s.evidence.judgement, s.evidence.item is not None and s.evidence.item.needs_word
    if judgement is None or judgement.outcome is not JudgementOutcome.UNDECIDED or of_item:
        return None
    told = (f"{one.criterion}: {shortened(clean(one.reason), 300)}" for one in judgement.criteria if one.cannot_tell)
    reason = f"the judge cannot tell whether the work is done, so a person has to say: {'; '.join(told)}"
    return stop(s, "judge.cannot_tell", reason, Outcome.WAITING)


@question(
    "completion.denied",
    "Does the agent keep asking to be done while something else than the checks denies it?",
    _requests,
    lambda s: s.evidence.proof.objections or "nothing speaks against it",
)
def denied(s: Situation) -> Decision | None:
    limit, proof = s.state.config.completion.ask_limit, s.evidence.proof
    in_row = s.state.done.asked_in_row + 1
    others = [denial for denial in proof.denied if denial.rule != "plan"]  # which counts its own tries
    if limit is None or not (proof.asked and proof.green and others) or in_row < limit:
        return None
    reason = f"the agent asked to be done {in_row} times in a row under green checks, and this stands against it: "
    return stop(s, "completion.denied", f"{reason}{proof.objections}{_remedy(s)}", Outcome.STOPPED)


@question(
    "completion.nothing_changed",
    "Does the agent keep asking to be done on the tree that the loop began with?",
    _refusals,
    "work: a tree that differs from the start",
)
def nothing_changed(s: Situation) -> Decision | None:
    if "unchanged" not in s.evidence.proof.refused_by or s.state.done.unchanged + 1 < MOST_REFUSED:
        return None
    reason = f"the agent asked to be done {MOST_REFUSED} times ({s.evidence.proof.how}), and {UNCHANGED}: {s.short}"
    return stop(s, "completion.nothing_changed", reason, Outcome.NOTHING_CHANGED)


@question(
    "completion.no_proof",
    "Does the agent keep asking to be done with work that nothing shows?",
    _refusals,
    "a new test that fails on the source of the start, a criterion that the judge finds met, or a person's word",
)
def unproven_work(s: Situation) -> Decision | None:
    refused = s.evidence.proof.refused_by
    only_a_word = bool(refused) and refused <= NEEDS_WORD | {"plan"}  # nobody is asked to accept what stands under a finding
    if not only_a_word or s.state.done.unproven + 1 < MOST_REFUSED:
        return None
    why = "; ".join(denial.why for denial in s.evidence.proof.denied if denial.rule in NEEDS_WORD)
    asked = f"the agent asked to be done {MOST_REFUSED} times ({s.evidence.proof.how}), and {why}"
    kept = f"the work is kept on {s.state.branch}; accept it by your word, or go on with a test, check or criterion that shows it"
    return stop(s, "completion.no_proof", f"{asked}; {kept}", Outcome.UNPROVEN)


@question(
    "plan.tries",
    "Was one item of the plan tried too often?",
    _item_in_hand,
    lambda s: f"a proof of the item, or more tries than {s.state.config.plan.tries} (plan.tries)",
)
def tries(s: Situation) -> Decision | None:
    """What failed so often is not tried once more. Items beside it wait as well: they stay proven one after the other."""
    proof, allowed = s.evidence.item, s.state.config.plan.tries
    if proof is None or proof.proven or not proof.tried or _tries(s) < allowed:
        return None
    named = f"{proof.item} ({clean(proof.title)[:100]})"
    spent = counted(_tries(s), "iteration")
    last = f"{spent} did not prove the plan's item {named}, {are_allowed(allowed)}; what is missing: {proof.why}"
    choices = (
        f"a person has to look: fix the item or its check in {s.state.config.plan.file} on {s.state.branch}, or tell the agent"
        f" how; then `helmsman approve {s.state.loop}` gives it {allowed} more"
    )
    return stop(s, "plan.tries", f"{last}; {choices}", Outcome.WAITING)


@question(
    "plan.person",
    "Is nothing but a person's word missing for the plan's item?",
    _item_in_hand,
    "a check of its own, a test that names it and turned green, or a judge",
)
def person_for_item(s: Situation) -> Decision | None:
    proof = s.evidence.item
    if proof is None or not proof.needs_word:
        return None
    named = f"the plan's item {proof.item} ({clean(proof.title)[:100]})"
    no_judge = "" if s.evidence.judgement else "there is no judge, so "
    return stop(s, "plan.person", f"{named}: {proof.why}; {no_judge}a person has to say whether it is done", Outcome.WAITING)


@question("completion.acknowledged", "Is it proven, and force_max goes on?", _gates, _missing)
def acknowledged(s: Situation) -> Decision | None:
    if not s.evidence.proven:
        return None
    reason = f"{_why_done(s)} on {s.short}; force_max goes on improving it until the iterations are used up"
    return go_on(s, "completion.acknowledged", reason)


@question(
    "agent.blocked",
    "Does the agent say that it is blocked, and the judge or a fresh session sees it too?",
    _said,
    "a session that finds a way on",
)
def blocked(s: Situation) -> Decision | None:
    reason, judged = s.evidence.claims.blocked, s.evidence.block_judged
    again = s.state.done.blocked > 0
    if not reason or not (again or (judged and judged.approved)):
        return None
    who = "a fresh session, which was asked to look, says so too" if again else "the judge sees it too"
    choices = (
        f"the work is kept on {s.state.branch}; clear away what stands in the way, or say how to go on:"
        f" helmsman approve {s.state.loop} --guidance TEXT"
    )
    return stop(s, "agent.blocked", f"the agent says that it is blocked, and {who}: {reason}; {choices}", Outcome.BLOCKED)
