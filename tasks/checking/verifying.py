"""Verifying the work between two commits without a loop: the checks on both, and each one's tests on the other's source."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.records.checks import CheckReport, CheckResult, TrustedCopy
from helmsman.records.findings import Finding
from helmsman.records.judgement import Judgement
from helmsman.records.probes import Probed
from helmsman.records.proof import Mutants
from helmsman.records.verification import EXIT_STATUS, Consequence, OutcomeTable, Reason, Verification
from helmsman.verify.case_table import Names, outcome_table
from helmsman.verify.completion import required_tests
from helmsman.verify.grounds import NO_NEIGHBOURS, Looked, grounds, unnamed_in
from helmsman.verify.hints import hints, weigh
from helmsman.verify.items import criterion_of_answers, criterion_of_tests
from helmsman.verify.outcomes import fewer_tests, weighed
from helmsman.verify.trusted import watched
from helmsman.verify.verdict import Evidence, verdict
from tasks.checking.adjudicating import outputs_of, question_on
from tasks.checking.checks import Room, tear_down
from tasks.checking.hidden import run_hidden
from tasks.checking.mutating import mutants_in
from tasks.checking.neighbours import looked_up_in
from tasks.checking.probing import probe
from tasks.checking.ready import require_ready
from tasks.checking.targets import Run, Shown, Target, run_on_start, run_target, run_trusted
from tasks.checking.trusted_run import Range, Sides, change_of, changed_since_start, tests_as_they_were
from tasks.models.judge import ask_judge
from tasks.models.writing import Asking
from tasks.processes.process import never
from tasks.repository.clean_checkout import CleanCheckout, own_checkout
from tasks.repository.diffs import read_texts, tree_of
from tasks.repository.git import Repository, commit_and_tree
from tasks.repository.products import remove
from tasks.worktrees.worktree import dirty_paths

NAMES = Names("the base", "the head")
Say = Callable[[str], None]
MOST_ASKED_FOR = 20
"""Files that the judge may ask for."""


@contextmanager
def clean_checkout_of(repository: Repository, base: str) -> Generator[CleanCheckout]:
    """A clean checkout of its own, gone at the end."""
    folder = own_checkout(repository)
    folder.parent.mkdir(parents=True, exist_ok=True)
    checkout = CleanCheckout(repository, repository.top, folder, uid=folder.name, branch=folder.name, base=base)
    try:
        yield checkout
    finally:
        remove(folder)
        if checkout.store.folder.exists():
            checkout.store.forget()


@dataclass
class _Runner:
    """Runs the checks, and counts how often."""

    room: Room
    say: Say
    runs: int = 0

    def __call__(self, target: Target) -> CheckReport:
        self.runs += 1
        return run_target(self.room, target)

    def titled(self, title: str) -> Run:
        def run(target: Target) -> CheckReport:
            self.say(title)
            return self(target)

        return run


@dataclass(frozen=True)
class _Found:
    """What all runs told."""

    base: CheckReport
    head: CheckReport
    trusted: TrustedCopy
    trusted_not_due: str
    shown: Shown
    new_not_due: str
    table: OutcomeTable
    hidden: tuple[CheckResult, ...] = ()
    looked_up: tuple[str, ...] | None = None
    mutants: Mutants | None = None
    probed: Probed | None = None


def verify(
    checkout: CleanCheckout, work: Range, *, credentials: Callable[[], Mapping[str, str]], say: Say, further: Sequence[str] = ()
) -> Verification:
    """Run what there is to run, and come to a verdict. `further`: what else was not looked at. Raises OperatorError."""
    started, config = time.monotonic(), work.config
    checkout = replace(checkout, setup=config.workspace.setup)
    room = Room(checkout, checkout.uid, never, required_tests(config), sandbox=config.box, every_case=True)
    runner, changed = _Runner(room, say), changed_since_start(work)
    try:
        found = _run(runner, work, changed)
        found = replace(found, probed=_probed(room, work, found, credentials, say))
    finally:
        tear_down(room, config)
    noticed = (*_hints(work), *fewer_tests(found.head, found.trusted)) if changed else ()
    judgement = _judgement(work, found, noticed, credentials, say)
    evidence = Evidence(
        found.head, found.base, found.table, judgement, found.hidden, found.looked_up or (), not changed, found.probed
    )
    word, reasons = verdict(evidence)
    further = (*_further(work), *further)
    return Verification(
        verdict=word,
        exit_status=EXIT_STATUS[word],
        reasons=tuple(_with_remedy(reason, found.head, work) for reason in reasons),
        base=work.base,
        head=work.commit,
        files_changed=len(changed),
        table=found.table,
        grounds=grounds(_looked(found, judgement, config, further)),
        head_checks=found.head,
        base_checks=found.base,
        trusted_checks=found.trusted.report,
        new_tests=found.shown.report,
        hidden=found.hidden,
        probed=found.probed,
        hints=noticed,
        judgement=judgement,
        runs=runner.runs,
        seconds=round(time.monotonic() - started, 3),
    )


def _run(runner: _Runner, work: Range, changed: Mapping[str, Sides]) -> _Found:
    top, config = work.repository.top, work.config
    (base, base_tree), (head, head_tree) = commit_and_tree(top, work.base), commit_and_tree(top, work.commit)
    if not changed:
        nothing = CheckReport(tree=head_tree, clean=True)
        return _Found(nothing, nothing, TrustedCopy(), "nothing differs", Shown(), "nothing differs", OutcomeTable())
    at_base = runner.titled(f"base {base[:12]}")(Target(base, base_tree, config))
    work = replace(work, collected=at_base.collected)
    runner.room = replace(runner.room, before=at_base)  # what is red on both sides is not run once more
    at_head = runner.titled(f"head {head[:12]}")(Target(head, head_tree, config))
    trusted, why_not = _trusted(runner, work, head_tree, changed, at_head)
    shown, not_new = Shown(), "the checks fail on the head"
    if at_head.passed:
        shown = run_on_start(work, head_tree, changed, at_head, runner.titled("the head's tests on the base's source"))
        not_new = "" if shown.report else "no test was added or changed"
    table = outcome_table(at_head, at_base, trusted.report, shown.report, NAMES)
    table = weighed(table, at_head, trusted, config.goal, config.invariants)
    hidden = _hidden(runner, work) if at_head.passed and config.hidden else ()
    looked_up = _looked_up(runner, work) if at_head.passed and config.proof.neighbours else None
    mutants = _mutants(runner, work, at_head) if at_head.passed and config.proof.mutants else None
    return _Found(at_base, at_head, trusted, why_not, shown, not_new, table, hidden, looked_up, mutants)


def _hidden(runner: _Runner, work: Range) -> tuple[CheckResult, ...]:
    runner.say("hidden checks on the head")
    runner.runs += 1
    return tuple(result.unseen for result in run_hidden(runner.room, work))


def _looked_up(runner: _Runner, work: Range) -> tuple[str, ...]:
    runner.say("calls beside those of the head's tests")
    return looked_up_in(runner.room, work)


def _mutants(runner: _Runner, work: Range, own: CheckReport) -> Mutants | None:
    runner.say("the checks on mutants of changed lines")
    return mutants_in(runner.room, work, own)


def _trusted(runner: _Runner, work: Range, tree: str, changed: Mapping[str, Sides], head: CheckReport) -> tuple[TrustedCopy, str]:
    """The run with the base's tests, or why there is none."""
    if not any(result.passed for result in head.results):
        return TrustedCopy(), "no check passes on the head"
    if not tests_as_they_were(work, changed):
        return TrustedCopy(), "no test or setting that the base has was changed"
    run = runner.titled("the base's tests and settings on the head's source")
    return run_trusted(work, tree, run, tests=True), ""


def _probed(room: Room, work: Range, found: _Found, credentials: Callable[[], Mapping[str, str]], say: Say) -> Probed | None:
    """Where nothing else says that it is not done, because they cost money."""
    wrong = found.head.failures or found.table.of(Consequence.FAILS) or [one for one in found.hidden if not one.passed]
    if not work.config.proof.probes or wrong or not found.head.results:
        return None
    say("probes, cases of a model that has not seen the head's source")
    return probe(room, work, (), Asking(credentials, f"{room.tag}/probes"))[0]


def _judgement(
    work: Range, found: _Found, noticed: tuple[Finding, ...], credentials: Callable[[], Mapping[str, str]], say: Say
) -> Judgement | None:
    """Asked only where nothing but its word is missing, because it costs money."""
    config = work.config
    failing = found.table.of(Consequence.FAILS) or (found.probed and found.probed.failing)
    if not config.judge.criteria or not found.head.passed or failing:
        return None
    say("the judge")
    top = work.repository.top
    tree = tree_of(top, work.commit)
    changed = tuple(case.name for case in found.table.of(Consequence.ASKS))
    criteria = (*config.judge.criteria, *criterion_of_tests(changed), *criterion_of_answers(found.looked_up or ()))
    question = question_on(work, top, outputs_of(found.head, found.shown.tests), criteria, tree)
    return ask_judge(
        replace(question, findings=noticed),
        config.judge.model_copy(update={"criteria": criteria}),
        credentials=credentials(),
        claude=config.claude,
        tag=f"verify-{work.commit[:12]}/judge",
        shelf=lambda paths: read_texts(top, tree, paths[:MOST_ASKED_FOR]),
    )


def _hints(work: Range) -> tuple[Finding, ...]:
    return weigh(hints(change_of(work, work.repository.top)), work.config.invariants)


def _looked(found: _Found, judgement: Judgement | None, config: LoopConfig, further: Sequence[str]) -> Looked:
    return Looked(
        names=NAMES,
        head=found.head,
        base=found.base,
        trusted=found.trusted,
        trusted_not_due=found.trusted_not_due,
        on_base=found.shown.report,
        new_not_due=found.new_not_due,
        hidden=found.hidden,
        looked_up=found.looked_up,
        mutants=found.mutants,
        probed=found.probed,
        judgement=judgement,
        judge_not_asked="the checks already say no" if config.judge.criteria else "no goal or rubric was given",
        unnamed=unnamed_in(found.head),
        further=further,
    )


def _further(work: Range) -> Iterator[str]:
    """What nobody looked at, beside what every verdict names."""
    if not work.config.proof.neighbours:
        yield NO_NEIGHBOURS
    if watched(work.config.invariants):
        yield "files that invariants.protect or trusted names: only loops run the checks with these as they were"
    if not work.repository.bare and (paths := dirty_paths(work.repository.top)):
        yield f"uncommitted changes in the checkout: {', '.join(paths[:3])}{', …' if len(paths) > 3 else ''}"  # noqa: PLR2004


def _with_remedy(reason: Reason, report: CheckReport, work: Range) -> Reason:
    """For a check that cannot start, what would install what it needs, where that is found."""
    if reason.rule != "cannot_start":
        return reason
    try:
        require_ready(report, work.repository, work.commit)
    except OperatorError as error:
        return reason.model_copy(update={"remedy": error.remedy})
    return reason
