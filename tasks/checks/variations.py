"""Vary the work in the clean checkout: call changed functions with inputs next to those of their tests, run the checks with other
values in the tests that turned green, and on mutants of changed lines, and run probes: cases of a model that has not seen the new
source; a model reviews those that fail.
"""

import re
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from posixpath import basename, dirname, join
from typing import Any, NamedTuple

from helmsman.parsers.source import Source, is_source, is_test_file, needs_text
from helmsman.plain import clean
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, CheckResult, Probe, ProbeResult
from helmsman.records.proof import Mutants
from helmsman.records.state import LoopState
from helmsman.records.verification import Case
from helmsman.verify.altered_tests import MOST_ALTERED, Seen, alter_expectations, alter_values, find_moved, what_stays_green
from helmsman.verify.call_cases import Calls, Function, Language, Texts, group_by_function, literals, literals_by_line
from helmsman.verify.called_languages import CALLED, is_python_source
from helmsman.verify.commands import only_runs_tests
from helmsman.verify.hints import lines_on_tests, values_of_tests
from helmsman.verify.judge.view import tests_for
from helmsman.verify.neighbours import FEWEST_WRONG, MOST_FUNCTIONS, Answers, describe_lookup, read_answers, select_calls
from helmsman.verify.new_tests import is_name_of_file, mutants_of, sample_mutants, wilson_interval
from helmsman.verify.overlap import describe_inputs, new_values
from helmsman.verify.probes import (
    UNCLEAR,
    Reading,
    Runner,
    command_of,
    probe_request,
    read_probes,
    read_readings,
    reading_request,
    runner_for,
)
from helmsman.verify.stubs import with_stubs
from tasks.checks.run import CheckContext, checked_out_with, run_check, run_command, set_up
from tasks.checks.targets import Range, change_of, check_context, work_of
from tasks.models.asking import write_text
from tasks.models.sending import CallSettings, Credentials
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.diffs import Blob, read_diff, read_texts, tree_of
from tasks.repository.hidden import store_probes, stored_probes
from tasks.repository.loop_context import LoopContext
from tasks.repository.objects import Entry, entry_at
from tasks.repository.setup import SetupFailed

PROBE_SECONDS = 60  # time limit of one probe
MOST_TESTS = 20  # maximum of the start's test files for the model that writes probes
NOT_CLEAN = "no probes: they need the clean checkout, but workspace.clean is off"

SLOWEST = 3
"""A check that takes this many times longer than on the work itself hangs, which detects the mutant."""
SPARE_SECONDS = 10

_NAMES_TESTS = re.compile(r"test|spec")
MOST_FILES = 300
MOST_RUNS = 5
SECONDS = 60
Say = Callable[[str], None]


def run_further(
    check_context: CheckContext, work: Range, own: CheckReport, proving: Sequence[Case], say: Say = lambda _: None
) -> dict[str, Any]:
    """What the configured variations show of work whose checks pass in a clean checkout, as fields of `SinceStart`.

    `proving`: the cases that turned green. `say` is told what begins.
    """
    fields: dict[str, Any] = {}
    if proving:
        say("the checks with other values in the tests that turned green")
        if seen := run_altered_tests(check_context, work, own, proving):
            fields |= {"cannot_fail": seen.cannot_fail, "not_altered": seen.unseen}
    if proving and rests_on_new_tests(work, proving) and not work.config.judge.criteria:
        say("the checks with the changed functions raising an error")
        fields["unexercised"] = find_unexercised(check_context, work, own, proving)
    if work.config.proof.neighbours:
        say("calls with inputs near those of the head's tests")
        fields["looked_up"] = find_lookups(check_context, work)
    if work.config.proof.mutants:
        say("the checks on mutants of changed lines")
        fields["mutants"] = run_mutants(check_context, work, own)
    return fields


def find_lookups(check_context: CheckContext, work: Range) -> tuple[str, ...]:
    """Clauses on functions of the work that seem to return hard-coded answers for their tests."""
    tree, changed = tree_of(work.repository.common, work.commit), [*work.changed]
    called = tuple(clause for language in CALLED for clause in _clauses_for(check_context, work, language, tree, changed))
    if called:
        return called
    change = change_of(work, work.repository.common)
    return tuple(map(clean, (*values_of_tests(change), *lines_on_tests(change))))


def _clauses_for(
    check_context: CheckContext, work: Range, language: Language, tree: Sequence[Blob], changed: Sequence[str]
) -> Iterator[str]:
    sources = _texts(work, tree, [path for path in changed if language.is_source(path) and _is_source(work, path)])
    paths = [blob.path for blob in tree]
    candidates = [path for path in paths if path.endswith(language.tests) and _may_test(path)]
    further = [path for path in paths if basename(path) in language.further]
    tests = _texts(work, tree, [*further, *candidates] if sources else [])
    placed = [literal for path, text in sources.items() for literal in literals_by_line(language, path, text)]
    cases = group_by_function(language.cases(tests, sources, frozenset(paths)))
    diff = read_diff(work.repository.common, work.base, work.commit) if cases else ()
    new = new_values(language, [file for file in diff if _is_source(work, file.path)])
    requests = select_calls(cases, [literal.value for literal in placed], placed, new)
    answers = _run_calls(check_context, work, work.commit, language, requests, tests)
    known = [
        (calls, answer)
        for calls, answer in zip(requests, answers, strict=False)
        if answer and (len(calls.own) >= FEWEST_WRONG or describe_lookup(calls, answer))
    ]
    before = _run_calls(check_context, work, work.base, language, [calls for calls, _ in known], tests)
    asked: set[Function] = set()
    for (calls, answers_now), answers_before in zip(known, [*before, *[None] * len(known)], strict=False):
        if clause := describe_lookup(calls, answers_now, answers_before, language.written):
            asked.add(calls.function)
            yield clause
    yield from filter(None, (describe_inputs(one, own, new) for one, own in cases.items() if not (one in asked or one.body)))
    if not asked:
        yield from _named_tests(language, tests, sources, paths)


def _named_tests(language: Language, tests: Mapping[str, str], sources: Mapping[str, str], paths: Sequence[str]) -> Iterator[str]:
    """Clauses on sources that name a file of their functions' tests."""
    for path, text in sources.items():
        texts = [value for value in literals(language, path, text) if isinstance(value, str)]
        for test in (test for test in tests if any(basename(test) in one for one in texts)):
            read = {name: tests[name] for name in (test, *language.further) if name in tests}
            if language.cases(read, {path: text}, frozenset(paths)):
                yield f"{path} names the file of its tests: {test}"


def _may_test(path: str) -> bool:
    return is_test_file(path) or needs_text(path)


def _is_source(work: Range, path: str) -> bool:
    """Whether a changed file is source, whatever its name."""
    return not _may_test(path) or path in work.kinds.source


def _texts(work: Range, tree: Sequence[Blob], paths: Sequence[str]) -> Mapping[str, str]:
    return {path: text for path, text in read_texts(work.repository.common, tree, paths[:MOST_FILES]) if text}


def _run_calls(
    check_context: CheckContext, work: Range, commit: str, language: Language, calls: Sequence[Calls], tests: Texts
) -> list[Answers | None]:
    interpreter = language.interpreter([check.command for check in work.config.checks])
    results: list[Answers | None] = []
    for first in range(0, min(len(calls), MOST_FUNCTIONS * MOST_RUNS), MOST_FUNCTIONS):
        batch = calls[first : first + MOST_FUNCTIONS]
        mark, answers = f"{secrets.token_hex(8)} ", list[Answers | None]()
        program = language.program(batch, tests, mark)
        with suppress(SetupFailed, OSError), checked_out_with(check_context, commit, work.config, program.files):
            result = run_command(check_context, f"{interpreter} {shlex.quote(program.target)}", work.config, SECONDS)
            answers = read_answers(result, mark)
        results += answers if len(answers) == len(batch) else [None] * len(batch)
    return results


def run_altered_tests(check_context: CheckContext, work: Range, own: CheckReport, cases: Sequence[Case]) -> Seen | None:
    """Run the checks with other values in these tests, which turned green; None if that shows nothing of them."""
    texts, rows, moved = _altered_texts(work, cases)
    seen, ran = Seen(), _run_with_texts(check_context, work, own, cases, texts)
    for turned, result, altered in ran:
        named = _NAMES_TESTS.search(result.command) or only_runs_tests(result.command)
        runs_tests = bool(named) or not work.programs_of(result.command).isdisjoint(texts)
        seen = seen.plus(what_stays_green(turned, result, altered, rows, moved=moved, runs_tests=runs_tests))
    return seen if seen.cannot_fail or (ran and len(seen.unseen) < len(cases)) else None


def rests_on_new_tests(work: Range, cases: Sequence[Case]) -> bool:
    """Whether these cases, which prove the change, are new: they, or the file that fails to load there, are not on the base."""
    return all(not case.red_on_base or any(is_name_of_file(case.name, path) for path in work.tests_of_the_work) for case in cases)


def find_unexercised(check_context: CheckContext, work: Range, own: CheckReport, cases: Sequence[Case]) -> tuple[str, ...] | None:
    """Names of the new tests that prove the change, if all of them also pass with stubs in place of the changed Python functions.

    None if no function was changed. For changes that nothing else proves: see `rests_on_new_tests`.
    """
    diff = read_diff(work.repository.common, work.base, work.commit)
    sources = [file for file in diff if file.after and is_python_source(file.path) and _is_source(work, file.path)]
    stubs = (
        (file.path, with_stubs(file.after or "", {line.number for line in file.added}, file.before or "")) for file in sources
    )
    texts = {path: text for path, text in stubs if text}
    ran = _run_with_texts(check_context, work, own, cases, texts)
    passing = [case.name for turned, _, stubbed in ran for case in turned if stubbed.passed or case.name in stubbed.passing]
    return None if not ran else tuple(passing) if len(passing) == len(cases) else ()


def _run_with_texts(
    check_context: CheckContext, work: Range, own: CheckReport, cases: Sequence[Case], texts: Mapping[str, str]
) -> list[tuple[list[Case], CheckResult, CheckResult]]:
    """Run the checks of these cases with other texts of files. Returns the cases, the result on the work and this one."""
    checkout = check_context.checkout
    assert isinstance(checkout, CleanCheckout)  # noqa: S101 - for the type checker; callers guarantee it
    if not texts:
        return []
    context = replace(check_context, required=tuple(case.name for case in cases), every_case=True)
    results: list[tuple[list[Case], CheckResult, CheckResult]] = []
    try:
        checkout.prepare(work.commit, _overlay_of(checkout, work, texts))
        set_up(context, work.config)
        for index, (check, result) in enumerate(zip(work.config.checks, own.results, strict=True)):
            if turned := [case for case in cases if case.check == result.name]:
                seconds = SLOWEST * result.seconds + SPARE_SECONDS
                results.append((turned, result, run_check(context, index, check, seconds)))
    except SetupFailed:
        return []
    finally:
        checkout.prepare(work.commit)
        check_context.raise_if_cancelled()
    return results


def _altered_texts(work: Range, cases: Sequence[Case]) -> tuple[Mapping[str, str], Mapping[str, int | None], frozenset[str]]:
    """Test files with other values, how many rows of each test must fail with them, and the cases that were moved."""
    tree, commands = tree_of(work.repository.common, work.commit), [check.command for check in work.config.checks]
    programs = work.programs_of(*commands)
    paths = [blob.path for blob in tree if _may_test(blob.path) or blob.path in programs]
    # a check without case names: it may be any of its tests
    names = None if any(case.name == case.check for case in cases) else frozenset(case.name for case in cases)
    in_cases = [path for path in paths if any(path in case.name for case in cases)]
    texts = _texts(work, tree, [*in_cases, *tests_for([*work.changed], paths), *paths])
    run = {*programs, *(word.removeprefix("./") for command in commands for word in command.split())}
    sources = [source for source in (Source(*file) for file in texts.items()) if source.tests or source.path in run]
    found = ((source.path, altered) for source in sources if (altered := alter_expectations(source, names)))
    files = dict(islice(found, MOST_ALTERED))
    if files or names is not None:
        rows = {name: number for altered in files.values() for name, number in altered.rows.items()}
        removed = [path for path in work.changed if _may_test(path) and path not in paths]
        moved = find_moved((case.name for case in cases), sources, removed)
        return {path: altered.text for path, altered in files.items()}, rows, moved
    weakly = ((source.path, text) for source in sources if (text := alter_values(source)))
    return dict(islice(weakly, MOST_ALTERED)), {}, frozenset()


def _overlay_of(checkout: CleanCheckout, work: Range, texts: Mapping[str, str]) -> list[Entry]:
    """Entries of the work with these texts, written to the store, not the repository."""
    entries: list[Entry] = []
    for path, text in texts.items():
        if entry := entry_at(work.repository.common, work.commit, path):
            name = checkout.store.git("hash-object", "-w", "--stdin", stdin=text.encode(errors="replace"))
            entries.append(entry._replace(id=name.decode().strip()))
    return entries


def run_mutants(check_context: CheckContext, work: Range, report: CheckReport) -> Mutants | None:
    """Run the checks on up to `proof.mutants` mutants of changed lines. None if no line can be mutated."""
    diff = read_diff(work.repository.common, work.base, work.commit)
    sources = [file for file in diff if file.after and is_python_source(file.path) and _is_source(work, file.path)]
    candidates = [m for file in sources for m in mutants_of(file.path, file.after or "", [line.number for line in file.added])]
    mutants = sample_mutants(candidates, work.config.proof.mutants)
    pairs = zip(work.config.checks, report.results, strict=True)
    limited = [(check, SLOWEST * result.seconds + SPARE_SECONDS) for check, result in pairs]
    survived: list[str] = []
    for mutant in mutants:
        with suppress(SetupFailed), checked_out_with(check_context, work.commit, work.config, {mutant.path: mutant.text}):
            if all(run_check(check_context, index, *limit).passed for index, limit in enumerate(limited)):
                survived.append(mutant.summary)
    if not mutants:
        return None
    low, high = wilson_interval(len(mutants) - len(survived), len(mutants))
    return Mutants(made=len(mutants), survived=tuple(survived), low=round(low, 3), high=round(high, 3))


class _ProbeRun(NamedTuple):
    """Result of one probe. `passed` is None if no test of it ran, or it did not finish."""

    probe: Probe
    passed: bool | None
    printed: str


def probe_work(context: LoopContext, state: LoopState, commit: str, credentials: Credentials) -> ProbeResult:
    """Run probes on a loop's work: those of an earlier claim, or else new ones."""
    if not state.config.workspace.clean:
        return ProbeResult(reason=NOT_CLEAN)
    work = work_of(context, state, commit)
    settings = CallSettings(work.config, credentials, f"{context.tag(state)}/probes", context.folder.cancel.exists)
    probed, kept = probe(check_context(context, state), work, stored_probes(state.uid), settings)
    store_probes(state.uid, kept)
    return probed


def probe(
    check_context: CheckContext, work: Range, kept: Sequence[Probe], settings: CallSettings
) -> tuple[ProbeResult, tuple[Probe, ...]]:
    """Run probes on the work; return the result and the probes to keep. Model failures do not raise, except Cancelled."""
    changed = [path for path in work.changed if is_source(path)]
    runner = runner_for(changed)
    if isinstance(runner, str):
        return ProbeResult(reason=runner), tuple(kept)
    source_paths, top = [path for path in changed if runner.language.is_source(path)], work.repository.common
    sources = {path: text for path, text in read_texts(top, tree_of(top, work.commit), source_paths) if text}
    tests = _tests_of_start(work, runner, changed)
    folder = dirname(next(iter(tests), ""))
    probes, usage, reason = tuple(kept), Usage(), ""
    if not kept:
        request = probe_request(work.config, runner, folder, sources, tests)
        new_probes, reason, usage = write_text(settings, lambda: request, partial(read_probes, config=work.config))
        probes, reason = new_probes or (), reason or ("" if new_probes else "the model wrote none")
    runs = _run_each(check_context, work, runner, folder, probes)
    failing = [run for run in runs if run.passed is False]
    doubtful, readings = [run for run in failing if not run.probe.right], dict[str, Reading]()
    if doubtful:
        request = reading_request(work.config, [(run.probe, run.printed) for run in doubtful], sources)
        read, reason, spent = write_text(settings, lambda: request, partial(read_readings, number=len(doubtful)))
        usage = usage.plus(spent)
        readings = {run.probe.code: reading for run, reading in zip(doubtful, read or [UNCLEAR] * len(doubtful), strict=True)}
    passing = [run.probe for run in runs if run.passed]
    right = [run.probe for run in failing if run.probe.right or readings.get(run.probe.code) == "right"]
    unclear = [run.probe for run in doubtful if readings[run.probe.code] == UNCLEAR]
    probed = ProbeResult(
        written=len(runs),
        again=bool(kept),
        passing=len(passing),
        failing=tuple(one.says for one in right),
        unclear=tuple(one.says for one in unclear),
        dropped=len(runs) - len(passing) - len(right) - len(unclear),
        reason=reason,
        usage=usage,
    )
    return probed, (*passing, *(one.model_copy(update={"right": True}) for one in right))


def _tests_of_start(work: Range, runner: Runner, changed: Sequence[str]) -> dict[str, str]:
    """Texts of the start's tests by path, those named after changed files first."""
    tree = tree_of(work.repository.common, work.base)
    paths = [blob.path for blob in tree if blob.path.endswith(runner.language.tests) and is_test_file(blob.path)]
    ordered = [*dict.fromkeys((*tests_for(changed, paths), *paths))][:MOST_TESTS]
    texts = {path: text for path, text in read_texts(work.repository.common, tree, ordered) if text}
    return {path: texts[path] for path in ordered if path in texts}


def _run_each(check_context: CheckContext, work: Range, runner: Runner, folder: str, probes: Sequence[Probe]) -> list[_ProbeRun]:
    """Run each probe separately on the work, with the tests and settings of the start."""
    context = replace(check_context, tag=f"{check_context.tag}/probes", hidden=True)
    overlay = tuple(work.tests_as_they_were.values())
    runs: list[_ProbeRun] = []
    try:
        for probe in probes:
            path, passed, printed = join(folder, runner.file(probe.code)), None, ""
            command = command_of(runner, [check.command for check in work.config.checks], path)
            with suppress(SetupFailed, OSError), checked_out_with(context, work.commit, work.config, {path: probe.code}, overlay):
                result = run_command(context, command, work.config, PROBE_SECONDS)
                printed = f"{result.head}{result.tail}"
                if result.counts and result.counts.passed + result.counts.failed and not (result.timed_out or result.error):
                    passed = result.passed
            runs.append(_ProbeRun(probe, passed, printed))
    finally:
        check_context.checkout.prepare(work.commit)  # remove their files before the next run
    return runs
