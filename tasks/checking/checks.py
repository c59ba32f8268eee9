"""Running the checks: independent processes in a clean worktree, after the agent has gone."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from threading import Event

from helmsman.config import CheckConfig, LoopConfig, SandboxConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.events import CheckFinished, CheckStarted
from helmsman.verify.flaky import doubtful, second_opinion
from helmsman.verify.junit import read_junit, read_ran
from helmsman.verify.required import ran
from helmsman.verify.summaries import read_summary
from tasks.beneath import leads_out, read_beneath, remove_beneath
from tasks.processes.environment import check_environment, ours
from tasks.processes.process import Ended, run
from tasks.sandbox.entering import Command, check_box
from tasks.secrets_kept import redact
from tasks.telling.journal import publish
from tasks.worktrees.worktree import own_git, restore

Stop = Callable[[], bool]
Numbered = tuple[int, CheckConfig]
"""A check with its place among all of them."""

KEPT_BYTES = 16 * 1024
"""Of each end of the output; runners print the failures and the summary last."""
LARGEST_REPORT = 64 * 1024 * 1024
OUTSIDE = "its report is not read: it lies outside of the worktree, by its path or by a link on the way"
PARALLEL = 4
"""Checks beside each other at most; their own tools use the cores."""


NO_SANDBOX = SandboxConfig()


@dataclass(frozen=True)
class Room:
    """Where checks run, and until when."""

    worktree: Path
    tag: str
    """Every process of a check carries it, so that whatever is left of one can be found."""
    stop: Stop
    required: tuple[str, ...] = ()
    """Names of tests that are looked for among those that ran."""
    before: CheckReport | None = None
    """The report on an earlier tree."""
    sandbox: SandboxConfig = NO_SANDBOX
    """What holds the commands, which run what the agent wrote."""
    agents_git: Path | None = None
    """The repository of the agent's box, while that stands."""

    def heed(self) -> None:
        if self.stop():
            raise Cancelled("cancelled while the checks were running")


def run_checks(room: Room, commit: str, tree: str, config: LoopConfig) -> CheckReport:
    """Run every check on a committed tree. What they leave behind is put back, so that the tree stays what was proven."""
    restore(room.worktree, commit)
    run_group = partial(_run_group, room, commit, own_git(room.worktree, commit))
    results: list[CheckResult] = []
    for _, group in groupby(enumerate(config.checks), key=_group_of):
        results += run_group(list(group))
    left = [*restore(room.worktree, commit)]
    for place in doubtful(results, config.flaky.largest_failing_set, room.before):
        check = config.checks[place]
        (again,) = run_group([(place, check)])
        results[place] = second_opinion(results[place], again, tolerate=check.tolerate_flaky)
        left += restore(room.worktree, commit)
    return CheckReport(tree=tree, results=tuple(results), left_behind=tuple(dict.fromkeys(left)))


def _group_of(numbered: Numbered) -> int:
    """Equal for checks that run beside each other; every other one is alone."""
    place, check = numbered
    return -1 if check.parallel else place


def _run_group(room: Room, commit: str, own: Path | None, group: list[Numbered]) -> list[CheckResult]:
    """Run checks beside each other. Raises OperatorError where git would not mean the worktree any more afterwards."""
    results = _side_by_side(room, group) if len(group) > 1 else [_run_numbered(room, group[0])]
    room.heed()
    if own_git(room.worktree, commit) != own:
        raise OperatorError(
            "a check cut its worktree off from the repository; git would change whatever repository lies above",
            expected="checks that leave .git alone, and so do the tests and scripts that they run",
            found=" | ".join(check.command for _, check in group),
            remedy="mend it; the worktree is mended when the loop is resumed",
        )
    return results


def _side_by_side(room: Room, checks: list[Numbered]) -> list[CheckResult]:
    abandoned = Event()  # an interrupt reaches this thread only; the others must hear of it
    shared = replace(room, stop=lambda: abandoned.is_set() or room.stop())
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="check") as pool:
        try:
            return list(pool.map(partial(_run_numbered, shared), checks))
        except BaseException:
            abandoned.set()
            raise


def _run_numbered(room: Room, numbered: Numbered) -> CheckResult:
    place, check = numbered
    publish(CheckStarted(name=check.title))
    result = run_check(room, place, check, check.timeout_seconds)
    publish(CheckFinished(result=result))
    return result


def run_check(room: Room, place: int, check: CheckConfig, deadline: float) -> CheckResult:
    """Run one check for so many seconds at most, on whatever lies in the worktree. Nothing is put back, nobody is told."""
    _forget_report(room.worktree, check)
    command = Command(["sh", "-c", check.command], check_environment(ours(), check.environment))
    try:
        with check_box(room.sandbox, room.worktree, command, room.agents_git) as boxed:
            ended = run(
                boxed.arguments,
                cwd=room.worktree,
                env=boxed.environment,
                tag=f"{room.tag}/{place}",  # whatever carries the tag of a command ends with it
                deadline=deadline,
                merge_stderr=True,
                stop=room.stop,
                keep=KEPT_BYTES,
            )
    except OperatorError as error:
        return CheckResult(name=check.title, command=check.command, passed=False, exit_code=None, seconds=0, error=str(error))
    return _result(room, check, ended)


def _result(room: Room, check: CheckConfig, ended: Ended) -> CheckResult:
    by_itself = ended.by == "itself"
    head, tail = _output(ended)
    report = _report(room.worktree, check)
    return CheckResult(
        name=check.title,
        command=check.command,
        passed=by_itself and ended.exit_code == 0,
        exit_code=ended.exit_code if by_itself else None,
        seconds=round(ended.seconds, 3),
        head=head,
        tail=tail,
        timed_out=ended.by == "deadline",
        remark=OUTSIDE if check.report and leads_out(room.worktree, check.report) else "",
        counts=_counts(report, f"{head}\n{tail}"),
        ran=ran(room.required, read_ran(report), f"{head}\n{tail}"),
    )


def _output(ended: Ended) -> tuple[str, str]:
    """Head and tail without secrets; all of it in the head where nothing was left out between them."""
    whole = ended.output_bytes <= 2 * KEPT_BYTES
    head, tail = (ended.head + ended.tail, "") if whole else (ended.head, ended.tail)
    return redact(head, ours()), redact(tail, ours())


def _counts(report: str, output: str) -> TestCounts | None:
    counts = read_junit(report) or read_summary(output)
    if counts is None:
        return None
    return counts.model_copy(update={"failing": tuple(redact(name, ours()) for name in counts.failing)})


def _report(worktree: Path, check: CheckConfig) -> str:
    """The JUnit XML that the check has written; empty where there is none in the worktree."""
    found = read_beneath(worktree, check.report, LARGEST_REPORT) if check.report else None
    return (found or b"").decode("utf-8", "replace")


def _forget_report(worktree: Path, check: CheckConfig) -> None:
    """A report of an earlier run must not speak for this one."""
    if check.report:
        remove_beneath(worktree, check.report)
