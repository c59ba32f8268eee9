"""The checks with the tests as they were: which files are put back for that, and what a difference between the two runs means.

Whoever changes a test may make it pass. So the same work is judged once more by the files that judged it at the start.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from posixpath import dirname
from types import MappingProxyType

from helmsman.config import CheckConfig, InvariantsConfig
from helmsman.parsers.globs import matches_any
from helmsman.parsers.test_files import is_test_file, only_text_tells
from helmsman.plain import clean
from helmsman.records.checks import CheckResult, TrustedCopy
from helmsman.records.findings import Finding, Weight
from helmsman.texts import counted
from helmsman.verify.commands import simple_commands
from helmsman.verify.objections import some
from helmsman.verify.reporter import Reporter, Spot
from helmsman.verify.touched import GOVERNORS

RULE = "trusted"
UNSURE = f"{RULE}.unsure"
"""The run with the files of the start came to no end, or to no beginning; the same tree is tried again."""
_HONEST = (
    "Make the work pass with the tests and settings as they were when the loop began; where the goal itself asks for another"
    " behaviour there, say so and let a person except the file."
)
_REPORTER, _UNSURE = Reporter(RULE, _HONEST), Reporter(UNSURE, _HONEST)


def watched(config: InvariantsConfig) -> bool:
    """Whether there is anything that is to be kept as it was."""
    return bool(config.protect or config.trusted)


def in_doubt(changed: Iterable[str], base: Iterable[str], config: InvariantsConfig) -> list[str]:
    """Files of the start whose text `as_at_start` needs: they may be tests, and something changed that governs tests."""
    governors = any(matches_any(path, GOVERNORS) for path in changed)
    return [path for path in base if only_text_tells(path) and matches_any(path, _patterns(config))] if governors else []


def as_at_start(
    changed: Iterable[str],
    base: Collection[str],
    checks: Sequence[CheckConfig],
    config: InvariantsConfig,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Of the paths that the loop changed those that a trusted copy holds as they were; one that was not there is not there.

    `base`: every path at the start; `texts`: what those in doubt held. A file that a check names and that is new stays: without
    it there is nothing to run.
    """
    kept = [path for path in base if matches_any(path, _patterns(config))]
    governed = frozenset(above for path in kept if is_test_file(path, texts.get(path, "")) for above in _folders(path))
    asked = asked_for(checks, base)
    return tuple(
        path
        for path in dict.fromkeys(changed)
        if not matches_any(path, config.allow)
        and (matches_any(path, _patterns(config)) or _governs(path, governed))
        and (path in base or not below(path, asked))
    )


def differences(copy: TrustedCopy, own: Sequence[CheckResult]) -> Iterator[Finding]:
    """What the run with the files of the start tells otherwise than `own`, the same checks on the files as the loop left them."""
    for one, other in zip(own, copy.report.results, strict=True) if copy.report else ():
        told = _difference(one, other)
        if told is not None:
            weight, message, failing = told
            reporter = _UNSURE if other.timed_out or other.error else _REPORTER
            yield reporter.tell(weight, Spot(_place(copy.put_back, failing)), f"{message} ({_list(copy.put_back)})")


def _patterns(config: InvariantsConfig) -> tuple[str, ...]:
    return (*config.protect, *config.trusted)


def _folders(path: str) -> Iterator[str]:
    while path:
        path = dirname(path)
        yield path


def _governs(path: str, governed: Collection[str]) -> bool:
    return dirname(path) in governed and matches_any(path, GOVERNORS)


def asked_for(checks: Sequence[CheckConfig], base: Collection[str]) -> tuple[str, ...]:
    """Paths that checks name and that were not there when the loop began."""
    words = (
        one.path(word.partition("::")[0])
        for check in checks
        for one in simple_commands(check.command)
        for word in one.words
        if word
    )
    there = {above for path in base for above in (path, *_folders(path))}
    return tuple(word for word in dict.fromkeys(words) if word not in there and word != ".")


def below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _difference(own: CheckResult, trusted: CheckResult) -> tuple[Weight, str, tuple[str, ...]] | None:
    """How it weighs, in words, with the names of the tests that fail in one run and not in the other."""
    name, only = clean(own.name), _only(trusted, own)
    if trusted.by_chance:
        return None
    if own.passed and not trusted.passed:
        return Weight.BLOCK, f"{name} passes, and with the files of the start it {_how(trusted, only)}", only
    if own.passed and ran(own) < ran(trusted):
        return Weight.BLOCK, f"{name} runs {counted(ran(own), 'test')}, and with the files of the start {ran(trusted)}", ()
    if trusted.passed and not own.passed:
        return Weight.HINT, f"{name} {_how(own, _only(own, trusted))}, and passes with the files of the start", ()
    if only and not own.passed:
        return Weight.HINT, f"{name} fails in more with the files of the start: {_list(only)}", only
    return None


def ran(result: CheckResult) -> int:
    return result.counts.executed if result.counts else 0


def _only(one: CheckResult, other: CheckResult) -> tuple[str, ...]:
    """Failing tests of one that the other does not name, those left out that passed when they were run again."""
    known = {*(other.counts.failing if other.counts else ()), *one.flaky}
    return tuple(name for name in (one.counts.failing if one.counts else ()) if name not in known)


def _how(result: CheckResult, failing: Sequence[str]) -> str:
    if result.timed_out:
        return "does not end"
    if result.error:
        return "cannot run"
    return f"fails in {_list(failing)}" if failing else f"fails (exit {result.exit_code})"


def _list(names: Sequence[str]) -> str:
    return some([clean(name) for name in names])


def _place(paths: Sequence[str], failing: Sequence[str]) -> str:
    """The file that a failing test names, else the first."""
    return next((path for path in paths if any(path in name for name in failing)), paths[0] if paths else "")
