"""From what was run to a verdict: verified, not verified, or that it cannot be told.

Each rule of `RULES` looks at the evidence and gives a reason, or none. The worst reason is the verdict: what is wrong comes
before what cannot be told. Where no rule has one, it is verified by what proves it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from helmsman.plain import clean, shortened
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.folds import most_tests, without_test
from helmsman.records.judgement import Judgement, JudgementOutcome
from helmsman.records.probes import Probed
from helmsman.records.verification import Case, Consequence, OutcomeTable, Reason, Word
from helmsman.texts import counted
from helmsman.verify.case_table import known
from helmsman.verify.missing import NOT_STARTED, missing
from helmsman.verify.objections import no_test_ran_in, some

NOTHING_RED = "nothing was red before; this proves that nothing broke, not that the goal is reached"
CAUSE = 300
"""Characters of an output that a reason shows."""


@dataclass(frozen=True)
class Evidence:
    """What was run and found."""

    head: CheckReport
    base: CheckReport
    table: OutcomeTable
    judgement: Judgement | None = None
    hidden: tuple[CheckResult, ...] = ()
    looked_up: tuple[str, ...] = ()
    """Functions that seem to have answers for their tests alone, a clause each."""
    unchanged: bool = False
    probed: Probed | None = None


Rule = Callable[[Evidence], Iterator[Reason]]


def verdict(evidence: Evidence) -> tuple[Word, tuple[Reason, ...]]:
    """The verdict, with every reason for it."""
    against = tuple(reason for rule in RULES for reason in rule(evidence))
    if not against:
        return Word.VERIFIED, tuple(_proof(evidence))
    worst = Word.NOT_VERIFIED if any(one.verdict is Word.NOT_VERIFIED for one in against) else Word.INCONCLUSIVE
    return worst, tuple(sorted(against, key=lambda one: one.verdict is not worst))


def _proof(evidence: Evidence) -> Iterator[Reason]:
    proofs = evidence.table.of(Consequence.PROVES)
    if proofs:
        yield Reason(rule="proven", verdict=Word.VERIFIED, why=f"FAIL_TO_PASS: {_named(proofs)}")
    if evidence.judgement:
        yield Reason(rule="judge", verdict=Word.VERIFIED, why="the judge finds every criterion met")


def _unchanged(evidence: Evidence) -> Iterator[Reason]:
    if evidence.unchanged:
        yield _unsure("unchanged", "no file differs between base and head", "name another range: helmsman verify BASE..HEAD")


def _broken(evidence: Evidence) -> Iterator[Reason]:
    """Cases that fail on the head, and did not on the base."""
    if cases := [case for case in evidence.table.of(Consequence.FAILS) if case.outcome != "CHANGED"]:
        yield _wrong("broken", f"PASS_TO_FAIL: {_named(cases)}")


def _changed_to_pass(evidence: Evidence) -> Iterator[Reason]:
    if cases := [case for case in evidence.table.of(Consequence.FAILS) if case.outcome == "CHANGED"]:
        yield _wrong("changed_to_pass", f"changed tests: {_named(cases)}: {cases[0].why}")


def _without_end(evidence: Evidence) -> Iterator[Reason]:
    for result in evidence.head.failures:
        if result.timed_out or result.error:
            why = "did not end in time" if result.timed_out else f"could not run: {shortened(clean(result.error), CAUSE)}"
            yield _unsure("no_end", f"{clean(result.name)} {why}")


def _not_started(evidence: Evidence) -> Iterator[Reason]:
    for result in _never_started(evidence):
        found = f"{clean(result.name)} cannot start in a clean checkout: {missing(result)} is not there"
        yield _unsure("cannot_start", found, "name what installs it below [workspace] in helmsman.toml: setup = [...]")


def _already_red(evidence: Evidence) -> Iterator[Reason]:
    """What fails on both sides says nothing of the change."""
    known_why = {result.name for result in _never_started(evidence)}
    failing = [case for case in evidence.table.cases if case.outcome == "FAIL_TO_FAIL" and case.check not in known_why]
    if failing:
        yield _unsure("already_red", f"red before and after, for another reason than the change: {_named(failing)}")
    listed = {case.check for case in evidence.table.cases if case.outcome in {"FAIL_TO_FAIL", "PASS_TO_FAIL"}}
    for result in evidence.head.failures:
        if result.by_chance:
            yield _unsure("flaky", f"{clean(result.name)} fails only sometimes: {some(result.flaky)}")
        elif result.name not in listed and not (result.timed_out or result.error):
            yield _wrong("red", f"{clean(result.name)} fails on the head")


def _no_test_ran(evidence: Evidence) -> Iterator[Reason]:
    at_start = without_test(evidence.base, {})
    commands = [one.command for one in evidence.base.results if one.name in at_start]
    if empty := without_test(evidence.head, most_tests({}, evidence.base), commands):
        yield _unsure("no_test_ran", no_test_ran_in(empty))


def _expectations(evidence: Evidence) -> Iterator[Reason]:
    cases = evidence.table.of(Consequence.ASKS)
    if cases and not evidence.judgement:
        remedy = "have a judge read it (--goal TEXT or --rubric FILE), or name these tests in the goal as to be changed"
        yield _unsure("expectations", f"tests of the base fail on the head's source: {_named(cases)}", remedy)


def _hidden(evidence: Evidence) -> Iterator[Reason]:
    for result in evidence.hidden:
        if not result.passed and result.timed_out:
            yield _unsure("hidden", f"a hidden check did not end in time: {clean(result.name)}")
        elif not result.passed:
            yield _wrong("hidden", f"a hidden check fails: {clean(result.name)}")


def _probes(evidence: Evidence) -> Iterator[Reason]:
    if evidence.probed and evidence.probed.failing:
        yield _wrong("probes", f"a case that a model wrote fails, and is right: {some(evidence.probed.failing)}")


def _looked_up(evidence: Evidence) -> Iterator[Reason]:
    """Where there is a judge, it is asked instead."""
    if evidence.looked_up and not evidence.judgement:
        remedy = "look at these functions, or have a judge read the change: --goal TEXT or --rubric FILE"
        yield _unsure("looked_up", f"answers seem to be looked up: {some(evidence.looked_up)}", remedy)


def _judged(evidence: Evidence) -> Iterator[Reason]:
    judgement = evidence.judgement
    if judgement and judgement.rejected:
        yield _wrong("judge", f"the judge rejects it: {clean(judgement.cause)}")
    if judgement and judgement.outcome is JudgementOutcome.UNDECIDED:
        yield _unsure("judge", f"the judge cannot tell: {clean(judgement.cause)}")


def _unproven(evidence: Evidence) -> Iterator[Reason]:
    """Nothing is wrong, and nothing shows that the change does anything."""
    judged = evidence.judgement and evidence.judgement.approved
    decided = evidence.table.of(Consequence.PROVES, Consequence.FAILS)
    if evidence.unchanged or evidence.head.failures or judged or decided:
        return
    silent = [result.name for result in evidence.base.failures if not known(result, result.name).ended]
    if silent:
        yield _unsure("base_unknown", f"what the base says is not known: {some(silent)} came to no end there")
    elif any(case.outcome == "CHANGED" for case in evidence.table.cases):
        yield _unsure("unproven", "nothing but changed tests speaks for the change", _REMEDY)
    else:
        yield _unsure("unproven", NOTHING_RED, _REMEDY)


_REMEDY = "add a test that fails without the change, or have a judge read it: --goal TEXT or --rubric FILE"
RULES: tuple[Rule, ...] = (
    _unchanged,
    _broken,
    _changed_to_pass,
    _not_started,
    _without_end,
    _already_red,
    _no_test_ran,
    _expectations,
    _looked_up,
    _hidden,
    _probes,
    _judged,
    _unproven,
)


def _never_started(evidence: Evidence) -> list[CheckResult]:
    """Checks that start on neither side. One that did at the base was broken by the change."""
    both = zip(evidence.head.results, evidence.base.results, strict=True)
    return [own for own, base in both if _cannot_start(own) and _cannot_start(base)]


def _cannot_start(result: CheckResult) -> bool:
    return not result.passed and (result.exit_code in NOT_STARTED or bool(missing(result)))


def _wrong(rule: str, why: str) -> Reason:
    return Reason(rule=rule, verdict=Word.NOT_VERIFIED, why=why)


def _unsure(rule: str, why: str, remedy: str = "") -> Reason:
    return Reason(rule=rule, verdict=Word.INCONCLUSIVE, why=why, remedy=remedy)


def _named(cases: tuple[Case, ...] | list[Case]) -> str:
    return some([clean(case.name) for case in cases]) or counted(0, "case")
