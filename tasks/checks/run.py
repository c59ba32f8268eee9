"""Running the checks: independent processes on the files of a commit, after the agent has gone."""

import logging
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from posixpath import dirname
from threading import Event

from helmsman.config import CheckConfig, LoopConfig, SandboxConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.parsers.failure_lines import listed
from helmsman.parsers.test_files import is_test_file
from helmsman.parsers.test_report import files_of, read_junit, read_summary
from helmsman.records.agent import survivors_named
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.events import CheckFinished, CheckStarted, PreparationStarted
from helmsman.verify.rerun import after_rerun, ran, suspects
from tasks.repository import setup
from tasks.repository.clean_checkout import Checkout, CleanCheckout
from tasks.sandbox.enter import Command, check_box
from tasks.system.environment import check_environment, ours
from tasks.system.files import leads_out, read_within, remove, remove_within
from tasks.system.journal import publish
from tasks.system.process import Ended, run
from tasks.system.secrets import redact
from tasks.system.supervised import Network

Stop = Callable[[], bool]
Numbered = tuple[int, CheckConfig]
"""A check with its place among all of them."""

KEPT_BYTES = 16 * 1024
"""Of each end of the output; runners print the failures and the summary last."""
LARGEST_REPORT = 64 * 1024 * 1024
OUTSIDE = "its report is not read: it lies outside of the worktree, by its path or by a link on the way"
NAMED = 5
"""Programs that a remark names."""
COLLECTED = 100
"""Files that are tests by a report and not by their names, as a record holds them."""
PARALLEL = 4
"""Checks beside each other at most; their own tools use the cores."""


@dataclass(frozen=True)
class Target:
    """A commit to check, by which checks, and with which entries of git's index in place of its own."""

    commit: str
    tree: str
    config: LoopConfig
    overlay: Sequence[bytes] = ()
    stay: str = ""
    """Commit that the agent's folder is at afterwards, where the checks run there; the one that is checked where none is said."""


NO_SANDBOX = SandboxConfig()
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckContext:
    """Where checks run, and until when."""

    checkout: Checkout
    tag: str
    """Every process of a check carries it, so that whatever is left of one can be found."""
    stop: Stop
    required: tuple[str, ...] = ()
    """Names of tests that are looked for among those that ran."""
    before: CheckReport | None = None
    """The report on an earlier tree."""
    sandbox: SandboxConfig = NO_SANDBOX
    """What holds the commands, which run what the agent wrote."""
    hidden: bool = False
    """Whether nobody who reads along is told what the commands are and print: the agent can read the journal."""
    every_case: bool = False
    """Whether the names of tests that pass are kept as well."""
    allowance: Callable[[CheckConfig], float] = lambda check: check.timeout_seconds
    """Seconds that a check may take; one that has none is not begun."""

    @property
    def root(self) -> Path:
        return self.checkout.root

    def raise_if_cancelled(self) -> None:
        if self.stop():
            raise Cancelled("cancelled while the checks were running")


def run_checks(check_context: CheckContext, target: Target) -> CheckReport:
    """Run every check on a commit. Raises SetupFailed, and OperatorError where the commit cannot be laid out."""
    checkout = check_context.checkout
    checkout.prepare(target.commit, target.overlay)
    set_up(check_context, target.config)
    results, left = run_laid_out(check_context, target.config)
    return CheckReport(tree=target.tree, results=tuple(results), left_behind=tuple(dict.fromkeys(left)), clean=checkout.clean)


def run_laid_out(check_context: CheckContext, config: LoopConfig) -> tuple[list[CheckResult], list[str]]:
    """Run every check on what is laid out, twice where it may have failed by chance; and paths that they left otherwise."""
    checkout, results = check_context.checkout, list[CheckResult]()
    # those that may run beside each other are a group, every other one is alone
    for _, group in groupby(enumerate(config.checks), key=lambda one: -1 if one[1].parallel else one[0]):
        results += _run_group(check_context, list(group))
    left = [*checkout.reset()] if not checkout.clean else []
    for place in suspects(results, check_context.before):
        check = config.checks[place]
        if check_context.allowance(check) < results[place].seconds:
            continue
        left += checkout.reset()
        (again,) = _run_group(check_context, [(place, check)])
        results[place] = after_rerun(results[place], again, tolerate=check.tolerate_flaky)
        left += checkout.reset() if not checkout.clean else ()
    return results, left


def set_up(check_context: CheckContext, config: LoopConfig) -> None:
    """Run the set-up that is due, as the checks will be run. Raises SetupFailed."""
    for command in check_context.checkout.setup_due():
        publish(PreparationStarted(what=f"the tree: {command}"))
        result = run_command(check_context, command, config)
        check_context.raise_if_cancelled()
        if not result.passed:
            late = f"it did not finish within {setup.SECONDS} s" if result.timed_out else ""
            raise setup.SetupFailed(
                command, late or result.error or f"exit code {result.exit_code}", f"{result.head}{result.tail}"
            )
    check_context.checkout.setup_done()


def tear_down(check_context: CheckContext, config: LoopConfig) -> None:
    """Undo what set-up made outside of the checkout. What fails is logged: the work is done."""
    for command in config.workspace.teardown:
        result = run_command(check_context, command, config)
        if not result.passed:
            _log.warning("teardown failed in %s: %s: %s", check_context.root, command, result.error or result.exit_code)


def run_command(check_context: CheckContext, command: str, config: LoopConfig, seconds: float = setup.SECONDS) -> CheckResult:
    """Run a command that is none of the checks, with the variables that any of these is given."""
    names = tuple(dict.fromkeys(name for check in config.checks for name in check.environment))
    return run_check(check_context, 0, CheckConfig(command=command, environment=names), seconds)


@contextmanager
def laid(
    check_context: CheckContext, commit: str, config: LoopConfig, path: str, text: str, overlay: Sequence[bytes] = ()
) -> Generator[None]:
    """A commit that is set up, with one file of ours in it; then all is as it was. Raises SetupFailed or OSError."""
    place = check_context.root / path
    try:
        check_context.checkout.prepare(commit, overlay)
        set_up(check_context, config)
        folder = place.parent
        if folder.is_symlink() or folder.is_file() or leads_out(check_context.root, dirname(path) or "."):
            remove(check_context.root / path.partition("/")[0])  # the work has put something in our way
        folder.mkdir(parents=True, exist_ok=True)
        remove(place)
        with place.open("x", encoding="utf-8") as file:
            file.write(text)
        yield
    finally:
        check_context.checkout.reset()
        check_context.raise_if_cancelled()


def _run_group(check_context: CheckContext, group: list[Numbered]) -> list[CheckResult]:
    """Run checks beside each other; one that is alone runs in this thread."""
    if len(group) == 1:
        results = [_run_numbered(check_context, group[0])]
    else:
        abandoned = Event()  # an interrupt reaches this thread only; the others must hear of it
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
    place, check = numbered
    seconds = check_context.allowance(check)
    if seconds <= 0:
        return _not_run(check, "no time was left for it")
    publish(CheckStarted(name=check.title))
    result = run_check(check_context, place, check, seconds)
    publish(CheckFinished(result=result.unseen if check_context.hidden else result))
    return result


def run_boxed(
    check_context: CheckContext,
    command: str,
    names: Sequence[str],
    *,
    tag: object,
    deadline: float,
    keep: int = KEPT_BYTES,
    merge_stderr: bool = True,
    network: Network = "host",
) -> Ended:
    """Run a shell command in the environment, and in the box, that the checks run in. Whatever carries its tag ends with it."""
    root, checkout = check_context.root, check_context.checkout
    plain = Command(["sh", "-c", command], checkout.environment(check_environment(ours(), names)))
    clean = checkout if isinstance(checkout, CleanCheckout) else None
    with check_box(check_context.sandbox, root, plain, clean) as boxed:
        return run(
            boxed.arguments,
            cwd=root,
            env=boxed.environment,
            tag=f"{check_context.tag}/{tag}",
            deadline=deadline,
            merge_stderr=merge_stderr,
            stop=check_context.stop,
            keep=keep,
            network=network,
        )


def run_check(check_context: CheckContext, place: int, check: CheckConfig, deadline: float) -> CheckResult:
    """Run one check for so many seconds at most, on whatever lies in the worktree. Nothing is put back, nobody is told."""
    if check.report:
        remove_within(check_context.root, check.report)  # that of an earlier run must not speak for this one
    box = check_context.sandbox
    alone = box.kind == "bubblewrap" and box.checks and box.checks_network != "open"  # it has a loopback of its own already
    network: Network = "host" if alone else check.network
    try:
        ended = run_boxed(check_context, check.command, check.environment, tag=place, deadline=deadline, network=network)
    except OperatorError as error:
        return _not_run(check, str(error))
    return _result(check_context, check, ended)


def _not_run(check: CheckConfig, why: str) -> CheckResult:
    return CheckResult(name=check.title, command=check.command, passed=False, exit_code=None, seconds=0, error=why)


def _result(check_context: CheckContext, check: CheckConfig, ended: Ended) -> CheckResult:
    root, by_itself, left = check_context.root, ended.by == "itself", survivors_named(ended.survivors)
    whole = ended.output_bytes <= 2 * KEPT_BYTES  # nothing was left out between head and tail
    head, tail = map(redact, (ended.head + ended.tail, "") if whole else (ended.head, ended.tail))
    output = f"{head}\n{tail}"
    found = read_within(root, check.report, LARGEST_REPORT) if check.report else None
    report = read_junit((found or b"").decode("utf-8", "replace"))
    counts = report.counts or read_summary(output)
    failing = tuple(map(redact, counts.failing)) if counts else ()
    passed = by_itself and ended.exit_code == 0 and not left
    left_out = check_context.checkout.left_out()
    remarks = (
        OUTSIDE if check.report and leads_out(root, check.report) else "",
        f"not on PATH, as they are new or changed since the loop began: {', '.join(left_out[:NAMED])}" if left_out else "",
    )
    return CheckResult(
        name=check.title,
        command=check.command,
        passed=passed,
        exit_code=ended.exit_code if by_itself else None,
        seconds=round(ended.seconds, 3),
        head=head,
        tail=tail,
        listed=() if passed else listed(output, check.command, failing, str(root)),
        timed_out=ended.by == "deadline",
        error=f"processes that it started are still running: {left}" if left else "",
        remark="; ".join(filter(None, remarks)),
        counts=counts and counts.model_copy(update={"failing": failing}),
        ran=ran(check_context.required, report.ran, output),
        collected=_collected(root, report.places),
        passing=tuple(map(redact, report.passing)) if check_context.every_case else (),
    )


def _collected(root: Path, places: Sequence[str]) -> tuple[str, ...]:
    """Files that it has tests of although they are not named like tests."""
    named = ((root / path for path in files_of(place)) for place in places)
    files = (next((one for one in paths if one.is_relative_to(root) and one.is_file()), None) for paths in named)
    inside = dict.fromkeys(str(one.relative_to(root)) for one in files if one)
    return tuple(path for path in inside if ".." not in path.split("/") and not is_test_file(path))[:COLLECTED]
