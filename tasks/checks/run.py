"""Run checks as independent processes on the files of a commit, after the agent has ended."""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from threading import Event

from helmsman.config import CheckConfig, LoopConfig, SandboxConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.parsers.failures import list_failures
from helmsman.parsers.source import is_test_file
from helmsman.parsers.test_report import files_of, read_junit, read_summary
from helmsman.records.agent import format_survivors
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.events import CheckFinished, CheckStarted, PreparationStarted
from helmsman.verify.rerun import find_required, merge_rerun, suspected_flaky
from tasks.repository import setup
from tasks.repository.clean_checkout import Checkout, CleanCheckout
from tasks.repository.objects import Entry
from tasks.sandbox.enter import Command, check_sandbox
from tasks.system.environment import check_environment, own_environment
from tasks.system.files import lies_within, read_within, remove, remove_within, replace_file
from tasks.system.journal import publish
from tasks.system.process import ProcessResult, run
from tasks.system.secrets import redact
from tasks.system.supervised import Network

Stop = Callable[[], bool]
Numbered = tuple[int, CheckConfig]  # index of a check, and the check

KEPT_BYTES = 16 * 1024  # for head and tail of the output each; runners print failures and summary last
LARGEST_REPORT = 64 * 1024 * 1024
OUTSIDE = "its report is not read: its path, or a link in it, leads out of the worktree"
NAMED = 5  # maximum of programs that a remark names
COLLECTED = 100  # maximum of files in a record that are tests by a report and not by their names
PARALLEL = 4  # maximum of concurrent checks; their own tools use the cores


@dataclass(frozen=True)
class Target:
    """A commit to check, with its checks, and entries of other commits in place of its own."""

    commit: str
    tree: str
    config: LoopConfig
    overlay: Sequence[Entry] = ()
    stay: str = ""  # commit of the agent's folder after checks in it; by default the checked one


NO_SANDBOX = SandboxConfig()
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckContext:
    """Where checks run, and when they stop."""

    checkout: Checkout
    tag: str  # in the environment of every process of a check, so that leftover processes can be found
    stop: Stop
    required: tuple[str, ...] = ()  # names of tests that must be among those that ran
    before: CheckReport | None = None  # report on an earlier tree
    sandbox: SandboxConfig = NO_SANDBOX  # sandbox of the commands, which run the agent's code
    hidden: bool = False  # whether commands and output stay out of the journal, which the agent can read
    every_case: bool = False  # whether to keep the names of passing tests as well
    allowance: Callable[[CheckConfig], float] = lambda check: check.timeout_seconds
    """Seconds that a check may take; one without any is not started."""

    @property
    def root(self) -> Path:
        return self.checkout.root

    def raise_if_cancelled(self) -> None:
        if self.stop():
            raise Cancelled("cancelled while the checks were running")


def run_checks(check_context: CheckContext, target: Target) -> CheckReport:
    """Run every check on a commit. Raises SetupFailed, and OperatorError if the commit cannot be checked out."""
    checkout = check_context.checkout
    checkout.prepare(target.commit, target.overlay)
    set_up(check_context, target.config)
    results, changed = run_on_checkout(check_context, target.config)
    return CheckReport(tree=target.tree, results=tuple(results), left_behind=tuple(dict.fromkeys(changed)), clean=checkout.clean)


def run_on_checkout(check_context: CheckContext, config: LoopConfig) -> tuple[list[CheckResult], list[str]]:
    """Run every check on the current checkout, twice if it may be flaky. Returns the results and the paths that they changed."""
    checkout, results = check_context.checkout, list[CheckResult]()
    # parallel checks form a group, every other one is alone
    for _, group in groupby(enumerate(config.checks), key=lambda item: -1 if item[1].parallel else item[0]):
        results += _run_group(check_context, list(group))
    changed = [*checkout.reset()] if not checkout.clean else []
    for index in suspected_flaky(results, check_context.before):
        check = config.checks[index]
        if check_context.allowance(check) < results[index].seconds:
            continue
        changed += checkout.reset()
        (rerun,) = _run_group(check_context, [(index, check.model_copy(update={"name": f"{check.title}, rerun"}))])
        results[index] = merge_rerun(results[index], rerun, tolerate=check.tolerate_flaky)
        changed += checkout.reset() if not checkout.clean else ()
    return results, changed


def set_up(check_context: CheckContext, config: LoopConfig) -> None:
    """Run the due set-up commands in the same way as checks. Raises SetupFailed."""
    for command in check_context.checkout.setup_due:
        publish(PreparationStarted(what=f"the tree: {command}"))
        result = run_command(check_context, command, config)
        check_context.raise_if_cancelled()
        if not result.passed:
            timed_out = f"it did not finish within {setup.SETUP_SECONDS} s" if result.timed_out else ""
            raise setup.SetupFailed(
                command, timed_out or result.error or f"exit code {result.exit_code}", f"{result.head}{result.tail}"
            )
    check_context.checkout.setup_done()


def tear_down(check_context: CheckContext, config: LoopConfig) -> None:
    """Undo what set-up created outside of the checkout. Failures are only logged: the work is done."""
    for command in config.workspace.teardown:
        result = run_command(check_context, command, config)
        if not result.passed:
            _log.warning("teardown failed in %s: %s: %s", check_context.root, command, result.error or result.exit_code)


def run_command(
    check_context: CheckContext, command: str, config: LoopConfig, seconds: float = setup.SETUP_SECONDS
) -> CheckResult:
    """Run a command that is not a check, with the environment variables of all checks."""
    names = tuple(dict.fromkeys(name for check in config.checks for name in check.environment))
    return run_check(check_context, 0, CheckConfig(command=command, environment=names), seconds)


@contextmanager
def checked_out_with(
    check_context: CheckContext, commit: str, config: LoopConfig, files: Mapping[str, str], overlay: Sequence[Entry] = ()
) -> Generator[None]:
    """Check out and set up a commit with files of ours, and reset it afterwards. Raises SetupFailed or OSError."""
    try:
        check_context.checkout.prepare(commit, overlay)
        set_up(check_context, config)
        for path, text in files.items():
            _place(check_context.root, path, text)
        yield
    finally:
        check_context.checkout.reset()
        check_context.raise_if_cancelled()


def _place(root: Path, path: str, text: str) -> None:
    place = root / path
    if place.parent.is_symlink() or place.parent.is_file() or not lies_within(root, place.parent):
        remove(root / path.partition("/")[0])  # the work blocks the path
    place.parent.mkdir(parents=True, exist_ok=True)
    replace_file(place, text)


def _run_group(check_context: CheckContext, group: list[Numbered]) -> list[CheckResult]:
    """Run checks concurrently; a single one runs in this thread."""
    if len(group) == 1:
        results = [_run_numbered(check_context, group[0])]
    else:
        abandoned = Event()  # an interrupt reaches only this thread; tell the others
        shared = replace(check_context, stop=lambda: abandoned.is_set() or check_context.stop())
        with ThreadPoolExecutor(PARALLEL, thread_name_prefix="check") as pool:
            try:
                results = list(pool.map(partial(_run_numbered, shared), group))
            except BaseException:
                abandoned.set()
                raise
    check_context.raise_if_cancelled()
    check_context.checkout.require_intact([check.command for _, check in group])
    return results


def _run_numbered(check_context: CheckContext, numbered: Numbered) -> CheckResult:
    index, check = numbered
    seconds = check_context.allowance(check)
    if seconds <= 0:
        return not_run_result(check, "no time was left for it")
    publish(CheckStarted(name=check.title))
    result = run_check(check_context, index, check, seconds)
    publish(CheckFinished(result=result.for_agent if check_context.hidden else result))
    return result


def run_sandboxed(
    check_context: CheckContext,
    command: str,
    names: Sequence[str],
    *,
    tag: object,
    deadline: float,
    keep: int = KEPT_BYTES,
    merge_stderr: bool = True,
    network: Network = "host",
) -> ProcessResult:
    """Run a shell command in the environment and sandbox of checks. All processes with its tag end with it."""
    root, checkout = check_context.root, check_context.checkout
    unsandboxed = Command(["sh", "-c", command], checkout.environment(check_environment(own_environment(), names)))
    clean = checkout if isinstance(checkout, CleanCheckout) else None
    with check_sandbox(check_context.sandbox, root, unsandboxed, clean) as sandboxed:
        return run(
            sandboxed.arguments,
            cwd=root,
            env=sandboxed.environment,
            tag=f"{check_context.tag}/{tag}",
            deadline=deadline,
            merge_stderr=merge_stderr,
            stop=check_context.stop,
            keep=keep,
            network=network,
        )


def run_check(check_context: CheckContext, place: int, check: CheckConfig, deadline: float) -> CheckResult:
    """Run one check for up to `deadline` seconds on the current worktree. Resets nothing, and publishes no events."""
    if check.report:
        remove_within(check_context.root, check.report)  # do not read the report of an earlier run
    sandbox = check_context.sandbox
    # an isolated sandbox has its own loopback already
    is_isolated = sandbox.kind == "bubblewrap" and sandbox.checks and sandbox.checks_network != "open"
    network: Network = "host" if is_isolated else check.network
    try:
        ended = run_sandboxed(check_context, check.command, check.environment, tag=place, deadline=deadline, network=network)
    except OperatorError as error:
        return not_run_result(check, str(error))
    return _check_result(check_context, check, ended)


def not_run_result(check: CheckConfig, why: str) -> CheckResult:
    return CheckResult(name=check.title, command=check.command, passed=False, exit_code=None, seconds=0, error=why)


def _check_result(check_context: CheckContext, check: CheckConfig, ended: ProcessResult) -> CheckResult:
    root, exited, survivors = check_context.root, ended.by == "itself", format_survivors(ended.survivors)
    is_complete = ended.output_bytes <= 2 * KEPT_BYTES  # head and tail are the whole output
    head, tail = map(redact, (ended.head + ended.tail, "") if is_complete else (ended.head, ended.tail))
    output = f"{head}\n{tail}"
    report_bytes = read_within(root, check.report, LARGEST_REPORT) if check.report else None
    report = read_junit((report_bytes or b"").decode("utf-8", "replace"))
    counts = report.counts or read_summary(output, cut=not is_complete)
    failing = tuple(map(redact, counts.failing)) if counts else ()
    passed = exited and ended.exit_code == 0 and not survivors
    left_out = check_context.checkout.left_out
    remarks = (
        OUTSIDE if check.report and not lies_within(root, root / check.report) else "",
        f"removed from PATH, because new or changed since the loop began: {', '.join(left_out[:NAMED])}" if left_out else "",
    )
    return CheckResult(
        name=check.title,
        command=check.command,
        passed=passed,
        exit_code=ended.exit_code if exited else None,
        seconds=round(ended.seconds, 3),
        head=head,
        tail=tail,
        listed=() if passed else list_failures(output, check.command, failing, str(root)),
        timed_out=ended.by == "deadline",
        error=f"processes that it started are still running: {survivors}" if survivors else "",
        remark="; ".join(filter(None, remarks)),
        counts=counts and counts.model_copy(update={"failing": tuple(name.removeprefix(f"{root}/") for name in failing)}),
        ran=find_required(check_context.required, report.ran, output),
        collected=_collected_files(root, report.places),
        passing=tuple(map(redact, report.passing)) if check_context.every_case else (),
    )


def _collected_files(root: Path, places: Sequence[str]) -> tuple[str, ...]:
    """Files with reported tests that are not named like tests."""
    candidates = ((root / path for path in files_of(place)) for place in places)
    files = (next((path for path in paths if path.is_relative_to(root) and path.is_file()), None) for paths in candidates)
    relative = dict.fromkeys(str(path.relative_to(root)) for path in files if path)
    return tuple(path for path in relative if ".." not in path.split("/") and not is_test_file(path))[:COLLECTED]
