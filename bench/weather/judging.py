"""Check the results after the storm, from git, the agents' own logs and the running processes."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.weather.loops import Loop
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository, read_ref, succeeds
from tasks.repository.state_ref import PREFIX, read_records, state_ref


@dataclass(frozen=True)
class Judgement:
    """Judgement of one loop; each list describes problems and is empty without any."""

    lost: tuple[str, ...]
    repeated: tuple[str, ...]
    stray: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return not (self.lost or self.repeated or self.stray or self.wrong)


def judge(loop: Loop) -> Judgement:
    """Judge a loop whose driver has ended for good."""
    state = loop.state
    stray = tuple(shown for shown in loop.lived() if shown)
    if state is None:
        return Judgement((), (), stray, ("it never began",))
    wrong = (*_wrong_end(loop, state), *_broken(loop, state), *_refused(loop, state), *loop.notes)
    return Judgement(_lost(loop), _repeated(loop, state), stray, wrong)


def calls_of(log: Path) -> list[list[str]]:
    """Log lines of the agents, in order."""
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def _lost(loop: Loop) -> tuple[str, ...]:
    """Files written by a call that are neither on the branch nor on any ref with saved work."""
    refs = git(loop.repository, "for-each-ref", "--format=%(refname)", "refs/heads/", f"{PREFIX}{loop.name}/").split()
    kept = {path for ref in refs for path in git(loop.repository, "ls-tree", "-r", "--name-only", ref).split()}
    return tuple(words[2] for words in calls_of(loop.log) if words[0] == "wrote" and f"work/{words[2]}" not in kept)


def _repeated(loop: Loop, state: LoopState) -> tuple[str, ...]:
    """Calls after an earlier call of the iteration ended, calls with the same number, more lost calls than faults explain."""
    ended, begun, found = set[str](), Counter[str](), list[str]()
    for kind, call, *_ in calls_of(loop.log):
        iteration = call.partition("-")[0]
        if kind == "began" and iteration in ended:
            found.append(f"iteration {iteration} was called again after it had ended")
        if kind == "began":
            begun[call] += 1
        if kind == "ended":
            ended.add(iteration)
    found += [f"call {call} was made {times} times" for call, times in begun.items() if times > 1]
    lost = begun.total() - state.iteration
    if lost > loop.deaths:
        found.append(f"{lost} calls came to nothing, by {loop.deaths} faults")
    return tuple(found)


def _wrong_end(loop: Loop, state: LoopState) -> list[str]:
    kind, rule = loop.kind, state.ending.rule if state.ending else "none"
    found: list[str] = []
    if state.outcome is not kind.outcome or (kind.rule and rule != kind.rule):
        reason = state.ending.reason if state.ending else ""
        found.append(f"ended {state.outcome} by {rule}, not {kind.outcome}: {reason}")
    if state.iteration < kind.least:
        found.append(f"{state.iteration} iterations, where {kind.least} are needed")
    steps = range(1, kind.steps + 1) if kind.outcome is Outcome.COMPLETED else ()
    missing = [f"step-{n}" for n in steps if not succeeds(loop.repository, "cat-file", "-e", f"{state.branch}:step-{n}")]
    return found + [f"{name} is not on the branch" for name in missing]


def _broken(loop: Loop, state: LoopState) -> list[str]:
    """Contradictions within state and git, and between them."""
    repository = open_repository(loop.repository)
    found: list[str] = []
    records = read_records(repository, loop.name)
    numbers = [one.iteration for one in records if not one.decision.repeat]  # an interrupted call counts no iteration
    if numbers != list(range(state.iteration, 0, -1)):
        found.append(f"records of iterations {numbers}, where there were {state.iteration}")
    begun = sum(words[0] == "began" for words in calls_of(loop.log))
    if not begun <= state.spending.agent_calls <= begun + loop.deaths:  # one may die before its agent records its start
        found.append(f"{state.spending.agent_calls} calls are on record, and {begun} were made")
    checked = subprocess.run(
        ["git", "fsck", "--no-dangling", "--no-progress"], cwd=loop.repository, capture_output=True, text=True, check=False
    )
    if checked.returncode:
        found.append(f"git fsck: {checked.stderr.strip()[:300]}")
    if loop.kind.outcome is Outcome.COMPLETED and read_ref(repository.common, f"refs/heads/{state.branch}") != state.head:
        found.append("the branch is not where the state says")
    return found


def _refused(loop: Loop, state: LoopState) -> list[str]:
    """Differences between the remote and what was to be pushed there."""
    if not loop.kind.remote:
        return []
    refs = (f"refs/heads/{state.branch}", state_ref(loop.name))
    found = [f"the remote's {ref} differs" for ref in refs if read_ref(loop.remote, ref) != read_ref(loop.repository, ref)]
    if loop.kind.name == "merges" and not (
        state.merged and succeeds(loop.repository, "merge-base", "--is-ancestor", state.head, "main")
    ):
        found.append("its work is not in main")
    return found


def totals(judged: Sequence[Judgement]) -> dict[str, int]:
    return {
        "lost work": sum(len(one.lost) for one in judged),
        "repeated agent calls": sum(len(one.repeated) for one in judged),
        "stray processes": sum(len(one.stray) for one in judged),
        "wrong outcomes": sum(bool(one.wrong) for one in judged),
    }
