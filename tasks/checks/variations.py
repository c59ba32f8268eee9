"""The work varied, in the clean checkout: functions that changed called with inputs beside those of their tests, the checks run
with other values in the tests that turned green, and on mutants of changed lines, and probes: cases of a model that has not seen
the new source; those that fail are read once more.
"""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from posixpath import dirname, join
from typing import NamedTuple

from helmsman.parsers.source import Source
from helmsman.parsers.test_files import is_source, is_test_file, only_text_tells
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, Probe, Probed
from helmsman.records.proof import Mutants
from helmsman.records.state import LoopState
from helmsman.records.verification import Case
from helmsman.verify.call_cases import Calls, Language, grouped, literals
from helmsman.verify.called_languages import CALLED, is_python_source
from helmsman.verify.can_fail import MOST_ALTERED, own_names, with_other_values
from helmsman.verify.judge.view import files_testing
from helmsman.verify.neighbours import MOST_FUNCTIONS, Answers, calls_beside, looked_up, read_answers
from helmsman.verify.new_tests import chosen, mutants_of, wilson
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
from tasks.checks.run import CheckContext, laid, run_check, run_command, set_up
from tasks.checks.targets import Range, check_context, work_of
from tasks.models.asking import Asking, Credentials, written
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.diffs import Blob, read_diff, read_texts, tree_of
from tasks.repository.hidden import keep_probes, kept_probes
from tasks.repository.loop_context import LoopContext
from tasks.repository.objects import entry_at
from tasks.repository.setup import SetupFailed

PROBE_SECONDS = 60
"""That one probe may take."""
MOST_TESTS = 20
"""Files of the start's tests that the writing model is shown."""
NOT_CLEAN = "no probes: they need the clean checkout, and workspace.clean is off"

SLOWEST = 3
"""A check that takes so many times as long as on the work itself has noticed the mistake: it hangs."""
SPARE_SECONDS = 10

MOST_FILES = 300
MOST_RUNS = 5
SECONDS = 60


def looked_up_in(check_context: CheckContext, work: Range) -> tuple[str, ...]:
    """What is to be asked about functions of the work that seem to have answers for their tests alone, a clause each."""
    tree, changed = tree_of(work.repository.common, work.commit), [*work.changed]
    return tuple(clause for language in CALLED for clause in _looked_up(check_context, work, language, tree, changed))


def _looked_up(
    check_context: CheckContext, work: Range, language: Language, tree: Sequence[Blob], changed: Sequence[str]
) -> Iterator[str]:
    sources = _texts(work, tree, [path for path in changed if language.is_source(path) and not _may_test(path)])
    paths = [blob.path for blob in tree]
    candidates = [path for path in paths if path.endswith(language.tests) and _may_test(path)] if sources else []
    tests = _texts(work, tree, [*language.further, *candidates])
    held = [one for path, text in sources.items() for one in literals(language, path, text)]
    asked = calls_beside(grouped(language.cases(tests, sources, frozenset(paths))), held)
    answers = _answers(check_context, work, work.commit, language, asked, [*tests])
    found = [(calls, one) for calls, one in zip(asked, answers, strict=False) if one and looked_up(calls, one)]
    before = _answers(check_context, work, work.base, language, [calls for calls, _ in found], [*tests])
    for (calls, now), earlier in zip(found, [*before, *[None] * len(found)], strict=False):
        if clause := looked_up(calls, now, earlier, language.written):
            yield clause


def _may_test(path: str) -> bool:
    return is_test_file(path) or only_text_tells(path)


def _texts(work: Range, tree: Sequence[Blob], paths: Sequence[str]) -> Mapping[str, str]:
    return {path: text for path, text in read_texts(work.repository.common, tree, paths[:MOST_FILES]) if text}


def _answers(
    check_context: CheckContext, work: Range, commit: str, language: Language, asked: Sequence[Calls], tests: Sequence[str]
) -> list[Answers | None]:
    command = f"{language.interpreter([check.command for check in work.config.checks])} {language.file}"
    found: list[Answers | None] = []
    for first in range(0, min(len(asked), MOST_FUNCTIONS * MOST_RUNS), MOST_FUNCTIONS):
        batch = asked[first : first + MOST_FUNCTIONS]
        mark, answers = f"{secrets.token_hex(8)} ", list[Answers | None]()
        script = language.script(batch, tests, mark)
        with suppress(SetupFailed, OSError), laid(check_context, commit, work.config, language.file, script):
            answers = read_answers(run_command(check_context, command, work.config, SECONDS), mark)
        found += answers if len(answers) == len(batch) else [None] * len(batch)
    return found


def that_cannot_fail(check_context: CheckContext, work: Range, own: CheckReport, cases: Sequence[Case]) -> tuple[str, ...] | None:
    """Checks that pass with other values in these tests, which turned green, as well; None where there is no value to change."""
    assert isinstance(check_context.checkout, CleanCheckout)  # noqa: S101 - for the type checker; nothing else is asked to
    overlay = _altered(check_context.checkout, work, cases)
    if not overlay:
        return None
    turned, pairs = {case.check for case in cases}, zip(work.config.checks, own.results, strict=True)
    try:
        check_context.checkout.prepare(work.commit, overlay)
        set_up(check_context, work.config)
        return tuple(
            result.name
            for place, (check, result) in enumerate(pairs)
            if result.name in turned and run_check(check_context, place, check, SLOWEST * result.seconds + SPARE_SECONDS).passed
        )
    except SetupFailed:
        return None
    finally:
        check_context.checkout.prepare(work.commit)
        check_context.raise_if_cancelled()


def _altered(checkout: CleanCheckout, work: Range, cases: Sequence[Case]) -> list[bytes]:
    """Entries of git's index for the files of these tests, with other values in them; the repository itself is not written to."""
    common, tree = work.repository.common, tree_of(work.repository.common, work.commit)
    paths = [blob.path for blob in tree if _may_test(blob.path)]
    # a check that names no case: any of its tests may be the one
    names = None if any(case.name == case.check for case in cases) else own_names([case.name for case in cases])
    named = [path for path in paths if any(path in case.name for case in cases)]
    texts = _texts(work, tree, [*named, *files_testing([*work.changed], paths), *paths])
    found = ((path, with_other_values(Source(path, text), names)) for path, text in texts.items())
    others = dict(islice(((path, text) for path, text in found if text is not None), MOST_ALTERED))
    written: list[bytes] = []
    for path, text in others.items():
        if entry := entry_at(common, work.commit, path):
            name = checkout.store.git("hash-object", "-w", "--stdin", stdin=text.encode(errors="replace")).strip()
            written.append(entry.mode.encode() + b" " + name + b"\t" + os.fsencode(path))
    return written


def mutants_in(check_context: CheckContext, work: Range, own: CheckReport) -> Mutants | None:
    """Run the checks on up to `proof.mutants` mutants of changed lines. None where there is no line to change."""
    diff = read_diff(work.repository.common, work.base, work.commit)
    sources = [file for file in diff if file.after and is_python_source(file.path) and not is_test_file(file.path)]
    every = [one for file in sources for one in mutants_of(file.path, file.after or "", [line.number for line in file.added])]
    made = chosen(every, work.config.proof.mutants)
    pairs = zip(work.config.checks, own.results, strict=True)
    limited = [(check, SLOWEST * result.seconds + SPARE_SECONDS) for check, result in pairs]
    survived: list[str] = []
    for mutant in made:
        with suppress(SetupFailed), laid(check_context, work.commit, work.config, mutant.path, mutant.text):
            if all(run_check(check_context, place, *of).passed for place, of in enumerate(limited)):
                survived.append(mutant.told)
    if not made:
        return None
    low, high = wilson(len(made) - len(survived), len(made))
    return Mutants(made=len(made), survived=tuple(survived), low=round(low, 3), high=round(high, 3))


class _Ran(NamedTuple):
    """What one probe came to by itself; None where no test of it ran, or it did not end."""

    probe: Probe
    passed: bool | None
    printed: str


def probe_work(context: LoopContext, state: LoopState, commit: str, credentials: Credentials) -> Probed:
    """Probes on a loop's work: those of an earlier claim, else new ones."""
    if not state.config.workspace.clean:
        return Probed(reason=NOT_CLEAN)
    work = work_of(context, state, commit)
    tag, seconds = f"{context.tag(state)}/probes", work.config.judge.timeout_seconds
    asking = Asking(work.config, credentials, tag, context.folder.cancel.exists, seconds)
    found, kept = probe(check_context(context, state), work, kept_probes(state.uid), asking)
    keep_probes(state.uid, kept)
    return found


def probe(check_context: CheckContext, work: Range, kept: Sequence[Probe], asking: Asking) -> tuple[Probed, tuple[Probe, ...]]:
    """What probes say of the work, and those to be kept. Nothing that goes wrong with a model raises, but for Cancelled."""
    changed = [path for path in work.changed if is_source(path)]
    runner = runner_for(changed)
    if isinstance(runner, str):
        return Probed(reason=runner), tuple(kept)
    wanted, top = [path for path in changed if runner.language.is_source(path)], work.repository.common
    sources = {path: text for path, text in read_texts(top, tree_of(top, work.commit), wanted) if text}
    tests = _tests_of_start(work, runner, changed)
    folder = dirname(next(iter(tests), ""))
    probes, spent, reason = tuple(kept), Usage(), ""
    if not kept:
        request = probe_request(work.config, runner, folder, sources, tests)
        found, writing = written(asking, lambda: request, partial(read_probes, config=work.config))
        probes, spent, reason = found or (), writing.usage, writing.reason or ("" if found else "the model wrote none")
    ran = _run(check_context, work, runner, folder, probes)
    unread = [(one.probe, one.printed) for one in ran if one.passed is False and not one.probe.right]
    read: Sequence[Reading] = ()
    if unread:
        request = reading_request(work.config, unread, sources)
        readings, reading = written(asking, lambda: request, partial(read_readings, number=len(unread)))
        untold: Sequence[Reading] = [UNCLEAR for _ in unread]
        read, spent, reason = readings or untold, spent.plus(reading.usage), reading.reason
    return _weighed(ran, dict(zip([probe.code for probe, _ in unread], read, strict=True)), bool(kept), reason, spent)


def _weighed(
    ran: Sequence[_Ran], read: Mapping[str, Reading], again: bool, reason: str, usage: Usage
) -> tuple[Probed, tuple[Probe, ...]]:
    failing = [one.probe for one in ran if one.passed is False]
    right = [one for one in failing if one.right or read.get(one.code) == "right"]
    unclear = [one for one in failing if not one.right and read.get(one.code) == "unclear"]
    passing = [one.probe for one in ran if one.passed]
    found = Probed(
        written=len(ran),
        again=again,
        passing=len(passing),
        failing=tuple(one.says for one in right),
        unclear=tuple(one.says for one in unclear),
        dropped=len(ran) - len(passing) - len(right) - len(unclear),
        reason=reason,
        usage=usage,
    )
    return found, (*passing, *(one.model_copy(update={"right": True}) for one in right))


def _tests_of_start(work: Range, runner: Runner, changed: Sequence[str]) -> dict[str, str]:
    """Those first that are named like what was changed."""
    tree = tree_of(work.repository.common, work.base)
    paths = [blob.path for blob in tree if blob.path.endswith(runner.language.tests) and is_test_file(blob.path)]
    ordered = [*dict.fromkeys((*files_testing(changed, paths), *paths))][:MOST_TESTS]
    found = {path: text for path, text in read_texts(work.repository.common, tree, ordered) if text}
    return {path: found[path] for path in ordered if path in found}


def _run(check_context: CheckContext, work: Range, runner: Runner, folder: str, probes: Sequence[Probe]) -> list[_Ran]:
    """Each by itself on the work, with the tests and settings of the start."""
    apart = replace(check_context, tag=f"{check_context.tag}/probes", hidden=True)
    overlay = tuple(work.tests_as_they_were.values())
    ran: list[_Ran] = []
    try:
        for one in probes:
            path, passed, printed = join(folder, runner.file(one.code)), None, ""
            command = command_of(runner, [check.command for check in work.config.checks], path)
            with suppress(SetupFailed, OSError), laid(apart, work.commit, work.config, path, one.code, overlay):
                result = run_command(apart, command, work.config, PROBE_SECONDS)
                printed = f"{result.head}{result.tail}"
                if result.counts and result.counts.passed + result.counts.failed and not (result.timed_out or result.error):
                    passed = result.passed
            ran.append(_Ran(one, passed, printed))
    finally:
        check_context.checkout.prepare(work.commit)  # nothing of them is there for what runs next
    return ran
