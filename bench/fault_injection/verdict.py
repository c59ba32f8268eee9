"""Check a finished loop by git, the agents' own logs and the running processes."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.fault_injection.loops import Loop
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository, read_ref, succeeds
from tasks.repository.state_ref import PREFIX, read_records, state_ref


@dataclass(frozen=True)
class Verdict:
    """Problems of one loop, by kind."""

    lost: tuple[str, ...]
    repeated: tuple[str, ...]
    stray: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.repeated or self.stray or self.wrong)


def check_loop(loop: Loop) -> Verdict:
    """Check a loop that will not be resumed any more."""
    state = loop.state
    stray = tuple(process for process in loop.processes() if process)
    if state is None:
        return Verdict((), (), stray, ("it never started",))
    wrong = (*_wrong_ending(loop, state), *_inconsistencies(loop, state), *_remote_differences(loop, state), *loop.notes)
    return Verdict(_lost_files(loop), _repeated_calls(loop, state), stray, wrong)


def read_log(log: Path) -> list[list[str]]:
    """Log lines of the agents, in order."""
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def _lost_files(loop: Loop) -> tuple[str, ...]:
    """Files written by a call that are neither on the branch nor on any ref with saved work."""
    refs = git(loop.repository, "for-each-ref", "--format=%(refname)", "refs/heads/", f"{PREFIX}{loop.name}/").split()
    saved = {path for ref in refs for path in git(loop.repository, "ls-tree", "-r", "--name-only", ref).split()}
    return tuple(words[2] for words in read_log(loop.log) if words[0] == "wrote" and f"work/{words[2]}" not in saved)


def _repeated_calls(loop: Loop, state: LoopState) -> tuple[str, ...]:
    """Calls after an earlier call of the iteration ended, calls with the same number, more lost calls than faults explain."""
    ended, calls, problems = set[str](), Counter[str](), list[str]()
    for kind, call, *_ in read_log(loop.log):
        iteration = call.partition("-")[0]
        if kind == "began" and iteration in ended:
            problems.append(f"iteration {iteration} was called again after its end")
        if kind == "began":
            calls[call] += 1
        if kind == "ended":
            ended.add(iteration)
    problems += [f"call {call} was made {times} times" for call, times in calls.items() if times > 1]
    lost = calls.total() - state.iteration
    if lost > loop.lost_call_limit:
        problems.append(f"{lost} calls were lost, but only {loop.lost_call_limit} faults may explain that")
    return tuple(problems)


def _wrong_ending(loop: Loop, state: LoopState) -> list[str]:
    kind, rule = loop.kind, state.ending.rule if state.ending else "none"
    problems: list[str] = []
    if state.outcome is not kind.outcome or (kind.rule and rule != kind.rule):
        reason = state.ending.reason if state.ending else ""
        problems.append(f"ended {state.outcome} by {rule}, not {kind.outcome}: {reason}")
    if state.iteration < kind.min_iterations:
        problems.append(f"{state.iteration} iterations; expected at least {kind.min_iterations}")
    steps = range(1, kind.steps + 1) if kind.outcome is Outcome.COMPLETED else ()
    missing = [f"step-{n}" for n in steps if not succeeds(loop.repository, "cat-file", "-e", f"{state.branch}:step-{n}")]
    return problems + [f"{name} is not on the branch" for name in missing]


def _inconsistencies(loop: Loop, state: LoopState) -> list[str]:
    """Inconsistencies within state and git, and between them."""
    repository = open_repository(loop.repository)
    problems: list[str] = []
    records = read_records(repository, loop.name)
    numbers = [record.iteration for record in records if not record.decision.repeat]  # an interrupted call counts no iteration
    if numbers != list(range(state.iteration, 0, -1)):
        problems.append(f"records of iterations {numbers}; the state counts {state.iteration}")
    calls = sum(words[0] == "began" for words in read_log(loop.log))
    if not calls <= state.spending.agent_calls <= calls + loop.lost_call_limit:  # one may die before its agent records its start
        problems.append(f"{state.spending.agent_calls} calls are recorded; the agent's log has {calls}")
    fsck = subprocess.run(
        ["git", "fsck", "--no-dangling", "--no-progress"], cwd=loop.repository, capture_output=True, text=True, check=False
    )
    if fsck.returncode:
        problems.append(f"git fsck: {fsck.stderr.strip()[:300]}")
    if loop.kind.outcome is Outcome.COMPLETED and read_ref(repository.common, f"refs/heads/{state.branch}") != state.head:
        problems.append("the branch is not where the state says")
    return problems


def _remote_differences(loop: Loop, state: LoopState) -> list[str]:
    """Differences between the remote and what the loop should have pushed."""
    if not loop.kind.remote:
        return []
    refs = (f"refs/heads/{state.branch}", state_ref(loop.name))
    problems = [f"the remote's {ref} differs" for ref in refs if read_ref(loop.remote, ref) != read_ref(loop.repository, ref)]
    if loop.kind.name == "merges" and not (
        state.merged and succeeds(loop.repository, "merge-base", "--is-ancestor", state.head, "main")
    ):
        problems.append("its work is not in main")
    return problems


def totals(verdicts: Sequence[Verdict]) -> dict[str, int]:
    return {
        "lost work": sum(len(verdict.lost) for verdict in verdicts),
        "repeated agent calls": sum(len(verdict.repeated) for verdict in verdicts),
        "stray processes": sum(len(verdict.stray) for verdict in verdicts),
        "wrong outcomes": sum(bool(verdict.wrong) for verdict in verdicts),
    }
