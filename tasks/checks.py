"""Running the checks: independent processes in a clean worktree, after the agent has gone."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from threading import Event

from helmsman.config import CheckConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.events import CheckFinished, CheckStarted
from helmsman.verify.junit import read_junit
from helmsman.verify.summaries import read_summary
from tasks.environment import check_environment, ours
from tasks.journal import publish
from tasks.process import Ended, run
from tasks.secrets_kept import redact
from tasks.worktree import restore

Stop = Callable[[], bool]

KEPT_BYTES = 16 * 1024
"""Of each end of the output; runners print the failures and the summary last."""
LARGEST_REPORT = 64 * 1024 * 1024
PARALLEL = 4
"""Checks beside each other at most; their own tools use the cores."""


def run_checks(worktree: Path, commit: str, tree: str, checks: Iterable[CheckConfig], *, tag: str, stop: Stop) -> CheckReport:
    """Run every check on a committed tree. What they leave behind is put back, so that the tree stays what was proven."""
    restore(worktree, commit)
    results: list[CheckResult] = []
    for parallel, group in groupby(checks, key=lambda check: check.parallel):
        run_group = _side_by_side if parallel else _one_by_one
        results += run_group(worktree, list(group), tag, stop)
        if stop():
            raise Cancelled("cancelled while the checks were running")
    return CheckReport(tree=tree, results=tuple(results), left_behind=restore(worktree, commit))


def _one_by_one(worktree: Path, checks: list[CheckConfig], tag: str, stop: Stop) -> list[CheckResult]:
    return [_run_check(worktree, check, f"{tag}/{place}", stop) for place, check in enumerate(checks)]


def _side_by_side(worktree: Path, checks: list[CheckConfig], tag: str, stop: Stop) -> list[CheckResult]:
    abandoned = Event()  # an interrupt reaches this thread only; the others must hear of it

    def run_one(place: int, check: CheckConfig) -> CheckResult:
        own_tag = f"{tag}/{place}"  # whatever carries the tag of a command ends with it
        return _run_check(worktree, check, own_tag, lambda: abandoned.is_set() or stop())

    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="check") as pool:
        try:
            return list(pool.map(run_one, range(len(checks)), checks))
        except BaseException:
            abandoned.set()
            raise


def _run_check(worktree: Path, check: CheckConfig, tag: str, stop: Stop) -> CheckResult:
    publish(CheckStarted(name=check.title))
    _forget_report(worktree, check)
    try:
        ended = run(
            ["sh", "-c", check.command],
            cwd=worktree,
            env=check_environment(ours(), check.environment),
            tag=tag,
            deadline=check.timeout_seconds,
            merge_stderr=True,
            stop=stop,
            keep=KEPT_BYTES,
        )
    except OperatorError as error:
        result = CheckResult(name=check.title, command=check.command, passed=False, exit_code=None, seconds=0, error=str(error))
    else:
        result = _result(worktree, check, ended)
    publish(CheckFinished(result=result))
    return result


def _result(worktree: Path, check: CheckConfig, ended: Ended) -> CheckResult:
    by_itself = ended.by == "itself"
    head, tail = _output(ended)
    return CheckResult(
        name=check.title,
        command=check.command,
        passed=by_itself and ended.exit_code == 0,
        exit_code=ended.exit_code if by_itself else None,
        seconds=round(ended.seconds, 3),
        head=head,
        tail=tail,
        timed_out=ended.by == "deadline",
        counts=_counts(worktree, check, f"{head}\n{tail}"),
    )


def _output(ended: Ended) -> tuple[str, str]:
    """Head and tail without secrets; all of it in the head where nothing was left out between them."""
    whole = ended.output_bytes <= 2 * KEPT_BYTES
    head, tail = (ended.head + ended.tail, "") if whole else (ended.head, ended.tail)
    return redact(head, ours()), redact(tail, ours())


def _counts(worktree: Path, check: CheckConfig, output: str) -> TestCounts | None:
    counts = _reported(worktree, check) or read_summary(output)
    if counts is None:
        return None
    return counts.model_copy(update={"failing": tuple(redact(name, ours()) for name in counts.failing)})


def _reported(worktree: Path, check: CheckConfig) -> TestCounts | None:
    report = worktree / check.report
    if not check.report or not report.is_file() or report.stat().st_size > LARGEST_REPORT:
        return None
    return read_junit(report.read_text(encoding="utf-8", errors="replace"))


def _forget_report(worktree: Path, check: CheckConfig) -> None:
    """A report of an earlier run must not speak for this one."""
    if check.report:
        (worktree / check.report).unlink(missing_ok=True)
