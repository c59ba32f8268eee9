"""What a verdict rests on, and what nobody looked at: in a loop, and where there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from helmsman.config import LoopConfig
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult, Finding, Judgement, Probed, TrustedRun, checks_fail
from helmsman.records.iteration import Evidence
from helmsman.records.proof import Mutants, SinceStart
from helmsman.records.verification import Grounds, OutcomeTable
from helmsman.texts import plural
from helmsman.verify.called_languages import NAMES
from helmsman.verify.objections import some
from helmsman.verify.outcomes import LOOP, Names

NO_NEIGHBOURS = "answers for other inputs than those of the tests: proof.neighbours is off"
NOT_RUN = CheckReport(tree="")


@dataclass(frozen=True)
class Runs:
    """What was run and found, and why some of it was not."""

    head: CheckReport
    base: CheckReport = NOT_RUN  # without results where it was not run
    table: OutcomeTable = field(default_factory=OutcomeTable)
    names: Names = LOOP
    unchanged: bool = False
    trusted: TrustedRun = field(default_factory=TrustedRun)
    trusted_not_due: str = ""  # why the base's tests were not run on the head's source; empty where they were
    on_base: CheckReport | None = None
    proving: tuple[str, ...] = ()  # tests of the head that fail on the base's source
    new_not_due: str = ""  # why the head's tests were not run on the base's source; empty where they were
    test_asked_for: bool = False  # whether the goal asks for tests
    hidden: tuple[CheckResult, ...] = ()
    looked_up: Sequence[str] | None = None
    """Functions that seem to have answers for their tests alone, a clause each; None where none was called beside its tests."""
    mutants: Mutants | None = None
    probed: Probed | None = None
    findings: tuple[Finding, ...] = ()
    judgement: Judgement | None = None
    judge_not_asked: str = ""
    unnamed: Sequence[str] = ()  # checks that name no test, or only those that fail
    further: Sequence[str] = ()  # what else was not looked at


def grounds(runs: Runs) -> Grounds:
    return Grounds(rests_on=tuple(_rests_on(runs)), not_looked_at=tuple(_not_looked_at(runs)))


def grounds_of_loop(evidence: Evidence, config: LoopConfig) -> Grounds | None:
    """Of an iteration whose work is done; None where nothing was checked."""
    since, report = evidence.since_start or SinceStart(), evidence.checks
    if report is None:
        return None
    return grounds(
        Runs(
            head=report,
            trusted=since.tests_of_start,
            trusted_not_due="no test or setting of the start was changed",
            on_base=since.on_start,
            new_not_due="no test was added or changed" if since.needs_test else "it was not needed",
            hidden=evidence.hidden,
            mutants=since.mutants,
            probed=evidence.probed,
            judgement=evidence.judgement,
            judge_not_asked="there are no criteria",
            further=() if config.proof.neighbours else (NO_NEIGHBOURS,),
        )
    )


def _rests_on(runs: Runs) -> Iterator[str]:
    base, head = runs.names
    where = "in the agent's folder" if runs.head.clean is False else "in a clean checkout"
    commands = some([f"`{clean(result.name)}`" for result in runs.head.results])
    yield f"{commands} on {head} {where}: {_result(runs.head)}"
    if runs.base.results:
        yield f"the same on {base}: {_result(runs.base)}"
    if runs.trusted.report:
        files = some(runs.trusted.put_back)
        yield f"{base}'s tests and settings on {head}'s source ({files}): {_result(runs.trusted.report)}"
    elif runs.trusted_not_due:
        yield f"{base}'s tests on {head}'s source: not run, {runs.trusted_not_due}"
    if runs.on_base:
        yield f"{head}'s tests on {base}'s source: {_result(runs.on_base)}"
    elif runs.new_not_due:
        yield f"{head}'s tests on {base}'s source: not run, {runs.new_not_due}"
    if runs.hidden:
        failing = [clean(result.name) for result in runs.hidden if not result.passed]
        yield f"{plural(len(runs.hidden), 'hidden check')}: {f'{some(failing)} failing' if failing else 'all pass'}"
    if runs.looked_up is not None:
        found = some(runs.looked_up) or "nothing seems to be looked up"
        yield f"changed {NAMES} functions, called with inputs beside those of their tests: {found}"
    yield from _of_models(runs)


def _of_models(runs: Runs) -> Iterator[str]:
    """What rests on models, and on what was made to be noticed."""
    if runs.probed and runs.probed.written:
        found = runs.probed
        numbers = {"pass": found.passing, "fail": len(found.failing), "unclear": len(found.unclear), "dropped": found.dropped}
        said = ", ".join(f"{number} {word}" for word, number in numbers.items() if number)
        failing = f": {some([clean(one) for one in found.failing])}" if found.failing else ""
        when = ", asked for at an earlier claim" if found.again else ""
        yield f"{plural(found.written, 'probe')} by a model that has not seen the source{when}: {said}{failing}"
    if runs.mutants:
        survived = some([clean(one) for one in runs.mutants.survived])
        yield f"{runs.mutants.told}{f', not {survived}' if survived else ''}"
    if judgement := runs.judgement:
        asked = plural(len(judgement.criteria), "criterion", "criteria")
        yield f"the judge ({clean(judgement.model)}) on {asked}: {judgement.outcome}"


def _not_looked_at(runs: Runs) -> Iterator[str]:
    if runs.judgement is None:
        yield f"whether the change is what was asked for: no judge was asked, as {runs.judge_not_asked}"
    if not runs.hidden:
        yield "answers that were looked up: no hidden checks were run"
    if runs.probed and runs.probed.reason:
        yield f"probes: {clean(runs.probed.reason)}"
    if runs.unnamed:
        names = some([f"`{clean(name)}`" for name in runs.unnamed])
        yield f"passing test cases by name: {names} writes no JUnit report that `report` names"
    if not runs.mutants:
        yield "whether the tests notice other mistakes: no mutants were made"
    yield from runs.further


def _result(report: CheckReport) -> str:
    failed = len(report.failures)
    counts = [result.counts for result in report.results if result.counts]
    passed, failing = sum(one.passed for one in counts), sum(one.failed for one in counts)
    tests = f" ({passed} passed, {failing} failed)" if counts else ""
    total = len(report.results)
    passing = "the check passes" if total == 1 else f"all {total} checks pass"
    return f"{checks_fail(failed, total) if failed else passing}{tests}"


def unnamed_in(report: CheckReport) -> tuple[str, ...]:
    return tuple(result.name for result in report.results if not result.passing)
