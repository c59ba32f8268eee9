"""Probes: a model that has not seen the new source writes cases, these run on it, and those that fail are read once more."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from posixpath import dirname, join
from typing import NamedTuple

from helmsman.parsers.test_files import is_source, is_test_file
from helmsman.records.base import Usage
from helmsman.records.checks import Probe, Probed
from helmsman.records.state import LoopState
from helmsman.verify.judge.view import files_testing
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
from tasks.checks.context import check_context, work_of
from tasks.checks.run import CheckContext, laid, run_command
from tasks.checks.trusted_run import Range, changed_since_start, tests_as_they_were
from tasks.models.asking import Asking, Credentials, written
from tasks.repository.diffs import read_texts, tree_of
from tasks.repository.hidden import keep_probes, kept_probes
from tasks.repository.loop_context import LoopContext
from tasks.repository.setup import SetupFailed

SECONDS = 60
"""That one probe may take."""
MOST_TESTS = 20
"""Files of the start's tests that the writing model is shown."""
NOT_CLEAN = "no probes: they need the clean checkout, and workspace.clean is off"


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
    changed = [path for path in changed_since_start(work) if is_source(path)]
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
    overlay = tuple(tests_as_they_were(work, changed_since_start(work)).values())
    ran: list[_Ran] = []
    try:
        for one in probes:
            path, passed, printed = join(folder, runner.file(one.code)), None, ""
            command = command_of(runner, [check.command for check in work.config.checks], path)
            with suppress(SetupFailed, OSError), laid(apart, work.commit, work.config, path, one.code, overlay):
                result = run_command(apart, command, work.config, SECONDS)
                printed = f"{result.head}{result.tail}"
                if result.counts and result.counts.passed + result.counts.failed and not (result.timed_out or result.error):
                    passed = result.passed
            ran.append(_Ran(one, passed, printed))
    finally:
        check_context.checkout.prepare(work.commit)  # nothing of them is there for what runs next
    return ran
