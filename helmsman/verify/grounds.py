"""What a verdict rests on, and what nobody looked at: in a loop, and where there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helmsman.config import LoopConfig
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult, TrustedCopy, checks_fail
from helmsman.records.iteration import Evidence
from helmsman.records.judgement import Judgement
from helmsman.records.probes import Probed
from helmsman.records.proof import Mutants, SinceStart
from helmsman.records.verification import Grounds
from helmsman.texts import counted
from helmsman.verify.called_languages import NAMES
from helmsman.verify.case_table import LOOP, Names
from helmsman.verify.objections import some

NO_NEIGHBOURS = "answers for other inputs than those of the tests: proof.neighbours is off"


@dataclass(frozen=True)
class Looked:
    """What was run, and why some of it was not."""

    names: Names
    head: CheckReport
    base: CheckReport | None = None
    trusted: TrustedCopy | None = None
    trusted_not_due: str = ""
    """Why the base's tests were not run on the head's source; empty where they were."""
    on_base: CheckReport | None = None
    new_not_due: str = ""
    """Why the head's tests were not run on the base's source; empty where they were."""
    hidden: tuple[CheckResult, ...] = ()
    looked_up: Sequence[str] | None = None
    """None where no function was called beside its tests."""
    mutants: Mutants | None = None
    probed: Probed | None = None
    judgement: Judgement | None = None
    judge_not_asked: str = "no goal or rubric was given"
    unnamed: Sequence[str] = ()
    """Checks that name no test, or only those that fail."""
    further: Sequence[str] = ()
    """What else was not looked at."""


def grounds(looked: Looked) -> Grounds:
    return Grounds(rests_on=tuple(_rests_on(looked)), not_looked_at=tuple(_not_looked_at(looked)))


def grounds_of_loop(evidence: Evidence, config: LoopConfig) -> Grounds | None:
    """Of an iteration whose work is done; None where nothing was checked."""
    since, report = evidence.since_start or SinceStart(), evidence.checks
    if report is None:
        return None
    neighbours = () if config.proof.neighbours else (NO_NEIGHBOURS,)
    return grounds(
        Looked(
            names=LOOP,
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
            further=neighbours,
        )
    )


def _rests_on(looked: Looked) -> Iterator[str]:
    base, head = looked.names
    where = "in the agent's folder" if looked.head.clean is False else "in a clean checkout"
    commands = some([f"`{clean(result.name)}`" for result in looked.head.results])
    yield f"{commands} on {head} {where}: {_result(looked.head)}"
    if looked.base:
        yield f"the same on {base}: {_result(looked.base)}"
    if looked.trusted and looked.trusted.report:
        files = some(looked.trusted.put_back)
        yield f"{base}'s tests and settings on {head}'s source ({files}): {_result(looked.trusted.report)}"
    elif looked.trusted_not_due:
        yield f"{base}'s tests on {head}'s source: not run, {looked.trusted_not_due}"
    if looked.on_base:
        yield f"{head}'s tests on {base}'s source: {_result(looked.on_base)}"
    elif looked.new_not_due:
        yield f"{head}'s tests on {base}'s source: not run, {looked.new_not_due}"
    if looked.hidden:
        failing = [clean(result.name) for result in looked.hidden if not result.passed]
        yield f"{counted(len(looked.hidden), 'hidden check')}: {f'{some(failing)} failing' if failing else 'all pass'}"
    if looked.looked_up is not None:
        found = some(looked.looked_up) or "nothing seems to be looked up"
        yield f"changed {NAMES} functions, called with inputs beside those of their tests: {found}"
    yield from _of_models(looked)


def _of_models(looked: Looked) -> Iterator[str]:
    """What rests on models, and on what was made to be noticed."""
    if looked.probed and looked.probed.written:
        yield _probes(looked.probed)
    if looked.mutants:
        survived = some([clean(one) for one in looked.mutants.survived])
        yield f"{looked.mutants.told}{f', not {survived}' if survived else ''}"
    if judgement := looked.judgement:
        asked = counted(len(judgement.criteria), "criterion", "criteria")
        yield f"the judge ({clean(judgement.model)}) on {asked}: {judgement.outcome}"


def _probes(found: Probed) -> str:
    counts = ((found.passing, "pass"), (len(found.failing), "fail"), (len(found.unclear), "unclear"), (found.dropped, "dropped"))
    said = ", ".join(f"{number} {word}" for number, word in counts if number)
    failing = f": {some([clean(one) for one in found.failing])}" if found.failing else ""
    when = ", asked for at an earlier claim" if found.again else ""
    return f"{counted(found.written, 'probe')} by a model that has not seen the source{when}: {said}{failing}"


def _not_looked_at(looked: Looked) -> Iterator[str]:
    if looked.judgement is None:
        yield f"whether the change is what was asked for: no judge was asked, as {looked.judge_not_asked}"
    if not looked.hidden:
        yield "answers that were looked up: no hidden checks were run"
    if looked.probed and looked.probed.reason:
        yield f"probes: {clean(looked.probed.reason)}"
    if looked.unnamed:
        names = some([f"`{clean(name)}`" for name in looked.unnamed])
        yield f"passing test cases by name: {names} writes no JUnit report that `report` names"
    if not looked.mutants:
        yield "whether the tests notice other mistakes: no mutants were made"
    yield from looked.further


def _result(report: CheckReport) -> str:
    failed = len(report.failures)
    counts = [result.counts for result in report.results if result.counts]
    passed, failing = sum(one.passed for one in counts), sum(one.failed for one in counts)
    tests = f" ({passed} passed, {failing} failed)" if counts else ""
    total = len(report.results)
    if failed:
        return f"{checks_fail(failed, total)}{tests}"
    return f"{'the check passes' if total == 1 else f'all {total} checks pass'}{tests}"


def unnamed_in(report: CheckReport) -> tuple[str, ...]:
    return tuple(result.name for result in report.results if not result.passing)
