"""Targets of checks: a loop's commits, the work with the tests of the start, and so on.

A `Target` is a commit, its checks, and entries of other commits in place of its own. Trusted run: the work with the tests and
settings of the start. Start run: the start with the tests of the work.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import Cancelled
from helmsman.parsers.inline_tests import with_inline_tests
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import Source, Test, is_test_file, is_test_support, language_of
from helmsman.records.checks import CheckReport, CheckResult, Finding, TrustedRun
from helmsman.records.state import LoopState
from helmsman.records.verification import Case
from helmsman.verify.completion import required_tests
from helmsman.verify.findings import find_outside_link
from helmsman.verify.hints import Change
from helmsman.verify.new_tests import failures_on_start, select_overlay, unloaded_files
from helmsman.verify.outcomes import run_cases, tests_of_start
from helmsman.verify.touched import ChangedPaths, Read, classify_changes, files_run, is_settings
from tasks.checks.run import CheckContext, Target, not_run_result, run_checks
from tasks.repository.clean_checkout import CleanCheckout, checkout_folder
from tasks.repository.diffs import LARGEST_FILE, read_diff, tree_of, unchanged_tests
from tasks.repository.git import Repository, git, git_bytes, paths_with
from tasks.repository.loop_context import LoopContext
from tasks.repository.objects import LINK, MISSING, Entry, read_object, read_sizes
from tasks.repository.setup import MANIFESTS, SetupFailed
from tasks.repository.worktree import Worktree, reset_to

EXECUTABLE = "100755"
MOST_PATHS = 200
Entries = dict[str, Entry]
Sides = tuple[Entry, Entry]  # of a path at the start, and in the work
MOST_TESTS = 200  # maximum of names in a record of tests that fail on the source of the start

Run = Callable[[Target], CheckReport]


@dataclass(frozen=True)
class Range:
    """The work between two commits of a repository, with its configuration."""

    repository: Repository
    base: str
    commit: str
    config: LoopConfig
    collected: tuple[str, ...] = ()
    """Files that are tests by the runner's report at the start, but not by their names."""

    @cached_property
    def changed(self) -> Mapping[str, Sides]:
        """Every file that differs from the start, except the plan: the loop ticks it."""
        options = "--no-renames", "--no-abbrev", "--no-ext-diff"
        raw = git_bytes(self.repository.common, "diff", "--raw", "-z", *options, self.base, self.commit, "--")
        parts, sides = iter(raw.split(b"\0")), dict[str, Sides]()
        for head in filter(None, parts):
            mode_before, mode_after, before, after, *_ = head.decode().lstrip(":").split(" ")
            path = os.fsdecode(next(parts))
            sides[path] = Entry(mode_before, before, path), Entry(mode_after, after, path)
        sides.pop(self.config.plan.file, None)
        return sides

    @cached_property
    def kinds(self) -> ChangedPaths:
        """The changed paths, grouped by their role for the checks."""
        now = {path: after.id for path, (_, after) in self.changed.items()}
        commands = [check.command for check in self.config.checks]
        common = self.repository.common
        kinds = classify_changes(
            self.changed,
            commands,
            _reader(common, self._files_of_start),
            _reader(common, now),
            self.collected,
            lambda pattern: paths_with(common, self.base, pattern),
        )
        # a check may run what is executable, and a script that no longer is would not be missed; set-up may write the answers
        run = self.programs_of(*self.config.workspace.setup).intersection(self._files_of_start)
        set_up = {path for path in run if basename(path) not in MANIFESTS and basename(path) not in self.config.goal}
        further = tuple(path for path in kinds.source if path in set_up or _is_no_longer_executable(*self.changed[path]))
        return kinds._replace(data=(*kinds.data, *further), source=tuple(path for path in kinds.source if path not in further))

    @cached_property
    def tests_as_they_were(self) -> Entries:
        """Entries of the start for existing tests, and files that only tests use, that the work changed."""
        kept = tests_of_start(self.kinds, self._files_of_start, self.config.checks, self.config.invariants)
        inline = {path: entry for path, sides in self.changed.items() if (entry := _with_inline_tests(self, path, sides))}
        return inline | {path: self.changed[path][0] for path in kept}

    @property
    def tests_of_the_work(self) -> Entries:
        """Entries of the work for the tests that it adds or changes."""
        kinds = self.kinds
        existing = [path for path, (_, after) in self.changed.items() if after.mode != MISSING]
        by_name = [path for path in existing if path not in kinds.source or not (is_test_file(path) or is_test_support(path))]
        chosen = dict.fromkeys((*select_overlay(by_name, self.config), *set(existing).intersection(kinds.data)))
        return {path: self.changed[path][1] for path in chosen}

    @cached_property
    def runs_doctests(self) -> bool:
        """Whether a check, a setting or Python code of the start names doctests; else examples are documentation."""
        commands = [check.command for check in self.config.checks]
        naming = paths_with(self.repository.common, self.base, r"doctest")
        run = self.programs_of(*commands) if naming else ()
        judging = (path in run or is_test_file(path) or is_settings(path) or language_of(path) == "python" for path in naming)
        return any("doctest" in command for command in commands) or any(judging)

    def programs_of(self, *commands: str) -> frozenset[str]:
        """Files of the start that the commands run, and those that these run."""
        return frozenset(files_run(commands, _reader(self.repository.common, self._files_of_start)))

    @cached_property
    def _files_of_start(self) -> dict[str, str]:
        """Object id of each file at the start."""
        raw = git_bytes(self.repository.common, "ls-tree", "-r", "-z", self.base)
        listed = (line.partition(b"\t") for line in raw.split(b"\0"))
        return {os.fsdecode(path): head.split()[-1].decode() for head, _, path in listed if path}


class StartRun(NamedTuple):
    """Outcome of the work's tests on the source of the start."""

    report: CheckReport | None = None  # None if there was no test to run
    failing: tuple[str, ...] = ()  # checks that pass on the work and fail there
    tests: tuple[str, ...] = ()  # tests that fail there, up to 200
    unloaded: frozenset[str] = frozenset()  # names of the tests in files that do not load there


def check_context(context: LoopContext, state: LoopState) -> CheckContext:
    """Context of the loop's deciding checks: its clean checkout, or the agent's worktree with `workspace.clean` off."""
    tests, box = required_tests(state.config), state.config.isolation
    checkout = clean_checkout(context, state) if state.config.workspace.clean else Worktree(context.worktree)
    return CheckContext(checkout, context.tag(state), context.folder.cancel.exists, tests, state.checks, box)


def clean_checkout(context: LoopContext, state: LoopState) -> CleanCheckout:
    """The loop's clean checkout, for one run of checks at a time. It may not exist yet."""
    return CleanCheckout(
        repository=context.repository,
        worktree=context.worktree,
        folder=checkout_folder(context.repository, state.loop),
        uid=state.uid,
        branch=state.branch,
        base=state.base_commit,
        setup=state.config.workspace.setup,
    )


def work_of(context: LoopContext, state: LoopState, commit: str, checks: Sequence[CheckConfig] | None = None) -> Range:
    """The loop's work as of a commit. `checks`: replace its own."""
    config = state.config if checks is None else with_checks(state.config, checks)
    return Range(context.repository, state.base_commit, commit, config, state.collected_at_start)


def run_target(check_context: CheckContext, target: Target) -> CheckReport:
    """Run the checks on a target; if the commit's set-up fails, all of them fail with that error."""
    try:
        return run_checks(check_context, target)
    except SetupFailed as error:
        results = tuple(not_run_result(check, str(error)) for check in target.config.checks)
        return CheckReport(tree=target.tree, results=results, clean=True)


def run_for_loop(
    context: LoopContext, state: LoopState, target: Target, run: Callable[[CheckContext, Target], CheckReport] = run_target
) -> CheckReport:
    """Run a loop's checks. If they run in the agent's folder, restore it afterwards."""
    run_context, stay = check_context(context, state), target.stay or target.commit
    try:
        report = run(run_context, target)
    except Cancelled:  # not after other errors: if a check removed the worktree's link, git would find another repository
        if not run_context.checkout.clean:
            reset_to(context.worktree, state.branch, stay, held=stay == target.commit)
        raise
    if not run_context.checkout.clean:
        reset_to(context.worktree, state.branch, stay, held=stay == target.commit)
    return report


def run_trusted(work: Range, tree: str, run: Run) -> TrustedRun:
    """Run the checks on the work with the tests of the start, if any of these differs."""
    overlay = work.tests_as_they_were
    if not overlay:
        return TrustedRun()
    checks = work.config.checks
    config = _with_titles(work.config, "old tests on the new source")
    report = run(Target(work.commit, tree, config, tuple(overlay.values())))
    results = (result.model_copy(update={"name": check.title}) for result, check in zip(report.results, checks, strict=True))
    data = reverted_paths(path for path in overlay if path in work.kinds.data)
    return TrustedRun(put_back=reverted_paths(overlay), data=data, report=report.model_copy(update={"results": tuple(results)}))


def run_on_start(work: Range, tree: str, report: CheckReport, run: Run) -> StartRun:
    """Run the work's tests on the source of the start. `report`: result of the checks on the work."""
    overlay = work.tests_of_the_work
    if not overlay:
        return StartRun()
    config = _with_titles(work.config, "new tests on the old source")
    start = run(Target(work.base, tree, config, tuple(overlay.values()), stay=work.commit))
    failing, tests = failures_on_start(report, start)
    cases = [(path, test) for path in unloaded_files(overlay, tests) for test in _tests_in(work, path)]
    names = (f"{path}::{test.name}" for path, test in cases)
    unloaded = frozenset(test.bare_name for _, test in cases)
    return StartRun(start, failing, tuple(islice((*tests, *names), MOST_TESTS)), unloaded)


def passing_on_start(work: Range, tree: str, cases: Sequence[Case], run: Run) -> tuple[str, ...]:
    """Names of these cases that pass on the start now: what made them fail when the loop began is not in the work."""
    checks = [check for check in work.config.checks if check.title in {case.check for case in cases}]
    config = _with_titles(with_checks(work.config, checks), "old source again")
    report = run(Target(work.base, tree, config, stay=work.commit))
    results = zip(checks, report.results, strict=True)
    runs = {check.title: run_cases(result, check.title) for check, result in results}
    return tuple(case.name for case in cases if case.check in runs and runs[case.check].state_of(case.name) == "green")


def run_hidden(check_context: CheckContext, work: Range) -> tuple[CheckResult, ...]:
    """Run each hidden check on the work with the tests of the start. The results contain the output.

    `check_context` must use a clean checkout.
    """
    assert isinstance(check_context.checkout, CleanCheckout)  # noqa: S101 - for the type checker; see require_outside
    checkout, overlay = check_context.checkout, tuple(work.tests_as_they_were.values())
    results: list[CheckResult] = []
    try:
        for check in work.config.hidden:
            hidden_checkout = replace(checkout, laid=Path(check.folder).expanduser() if check.folder else None)
            tag = f"{check_context.tag}/hidden"
            context = replace(check_context, checkout=hidden_checkout, tag=tag, before=None, required=(), hidden=True)
            results += run_target(context, Target(work.commit, work.commit, with_checks(work.config, (check,)), overlay)).results
    finally:
        checkout.prepare(work.commit)  # remove their files before the next run
    return tuple(results)


def with_checks(config: LoopConfig, checks: Sequence[CheckConfig]) -> LoopConfig:
    return config.model_copy(update={"checks": tuple(checks)})


def _with_titles(config: LoopConfig, suffix: str) -> LoopConfig:
    """The configuration with titles for display during the run."""
    return with_checks(config, [check.model_copy(update={"name": f"{check.title} ({suffix})"}) for check in config.checks])


def _with_inline_tests(work: Range, path: str, sides: Sides) -> Entry | None:
    """The work's source with its inline tests as at the start; None if they are unchanged."""
    before, after = sides
    has_inline_tests = language_of(path) in {"rust", "python"} and path in work.kinds.source
    is_on_both = MISSING not in {before.mode, after.mode}
    if not (has_inline_tests and is_on_both) or is_test_file(path) or matches_any(path, work.config.invariants.allow):
        return None
    read = _reader(work.repository.common, {"old": before.id, "new": after.id})
    old, new = Source(path, read("old")), Source(path, read("new"))
    text = with_inline_tests(new, old, doctests=">>>" in old.text and work.runs_doctests)
    if text is None:
        return None
    written = git(work.repository.common, "hash-object", "-w", "--stdin", stdin=text.encode(errors="replace"))
    return after._replace(id=written.strip())


def change_of(work: Range, cwd: Path) -> Change:
    """Input of the hints. Excludes the plan's file, which the loop itself ticks."""
    diff, tree, plan = read_diff(cwd, work.base, work.commit), tree_of(cwd, work.commit), work.config.plan.file
    files, left_out = (file for file in diff.files if file.path != plan), (path for path in diff.left_out if path != plan)
    diff = replace(diff, files=tuple(files), left_out=tuple(left_out))
    commands = tuple(check.command for check in work.config.checks)
    return Change(diff, work.kinds, unchanged_tests(cwd, tree, diff), work.config.invariants.protect, commands)


def find_outside_links(work: Range) -> list[Finding]:
    """Findings for links of the work to outside of the repository."""
    ids = {path: after.id for path, (_, after) in work.changed.items() if after.mode == LINK}
    read = _reader(work.repository.common, ids)
    return [finding for path in ids for finding in find_outside_link(path, read(path))]


def _reader(repository: Path, ids: Mapping[str, str]) -> Read:
    """Function that reads files by their object ids; the text of a missing or oversized one is empty."""

    def read(path: str) -> str:
        name = ids.get(path)
        size = read_sizes(repository, [name])[0] if name else None
        if name is None or size is None or size > LARGEST_FILE:
            return ""
        return read_object(repository, name).decode(errors="replace")

    return read


def _is_no_longer_executable(before: Entry, after: Entry) -> bool:
    """Whether a file lost its executable bit and changed in nothing else."""
    return before.mode == EXECUTABLE and after.mode not in {EXECUTABLE, MISSING} and before.id == after.id


def _tests_in(work: Range, path: str) -> tuple[Test, ...]:
    """Tests in a changed file, if its language is supported."""
    text = _reader(work.repository.common, {path: work.changed[path][1].id})(path)
    return tuple(Source(path, text).tests) if is_test_file(path, text) else ()


def reverted_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths for a record, up to 200."""
    return tuple(path.encode("utf-8", "replace").decode() for path in paths)[:MOST_PATHS]
