"""Replay loops through the core and print the best lessons that memory learns, for a reviewer to mark.

    python -m bench.lessons [--most 50] [--unmarked] [--repo DIR …]

The loops are in `bench/lived_loops/*.toml`: output of checks, commits, notes and verdicts. The rest is the product: failures
are parsed, iterations overseen and decided, lessons extracted, merged and reviewed as in a loop. `--repo` uses the recorded loops
of repositories instead. Prints a line for each lesson, the most certain first: mark, confidence, kind, source loops and text.

A mark is a line of `bench/lived_loops/marks.txt`: `keep` or `drop` and the text. A reviewer keeps what is true and what the next
agent could not read from the repository in a minute. The last line counts the kept ones among those printed.
"""

import argparse
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from helmsman.config import LoopConfig
from helmsman.memory.episodes import episode, subject_of, summary
from helmsman.memory.extraction import lessons_of_iteration, lessons_of_loop
from helmsman.memory.merge import learn
from helmsman.oversee.decide import Situation, decide
from helmsman.oversee.oversee import Observations, oversee
from helmsman.oversee.signals import IterationView
from helmsman.oversee.summary import with_baseline
from helmsman.parsers.failures import failure_of
from helmsman.parsers.test_report import read_summary
from helmsman.records.advance import advance, record_of
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Commit, ErrorVector, Execution
from helmsman.records.checks import CheckReport, CheckResult, CriterionVerdict, Judgement, JudgementOutcome
from helmsman.records.claims import Claims
from helmsman.records.control import Overseen
from helmsman.records.decision import Outcome
from helmsman.records.iteration import Choice, Evidence, Orientation, WorkingMemory
from helmsman.records.lessons import Episode, Lesson, Observation, Recalled
from helmsman.records.state import LoopState
from helmsman.verify.completion import prove
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import list_loops, read_records

FOLDER = Path(__file__).parent / "lived_loops"
START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STEP = timedelta(minutes=10)
Table = Mapping[str, Any]


@dataclass(frozen=True)
class DeliveryMarks:
    """A reviewer's marks of lessons, by their text."""

    said: Mapping[str, str]

    def of(self, lesson: Lesson) -> str:
        return self.said.get(lesson.text, "?")


def read_marks() -> DeliveryMarks:
    path = FOLDER / "marks.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return DeliveryMarks({words: mark for mark, _, words in (line.partition(" ") for line in lines) if mark in {"keep", "drop"}})


def lived_loops() -> list[Table]:
    return [loop for path in sorted(FOLDER.glob("*.toml")) for loop in tomllib.loads(path.read_text(encoding="utf-8"))["loop"]]


def taught(loop: Table) -> Iterator[Observation]:
    """Lessons of a loop, iteration by iteration and at its end."""
    state, lived = _begun(loop), list[Episode]()
    for number, given in enumerate(loop["iterations"], 1):
        last = number == len(loop["iterations"]) and "outcome" not in loop
        subject = subject_of(state, loop["project"])
        state, kept = _iterated(state, loop, given, subject=subject, asks=last or "judged" in given)
        yield from lessons_of_iteration(kept, lived)
        lived.append(kept)
    if state.outcome is Outcome.COMPLETED:
        yield from lessons_of_loop(state, summary(state, subject_of(state, loop["project"])))


def _begun(loop: Table) -> LoopState:
    criteria = [{"id": name, "text": text} for name, text in loop.get("criteria", {}).items()]
    config = {"goal": loop["goal"], "checks": (loop["check"],), "judge": {"criteria": criteria}}
    state = LoopState(
        loop=loop["name"],
        uid=loop["name"],
        config=LoopConfig.model_validate(config),
        created_at=START,
        updated_at=START,
        base_branch="main",
        base_commit="b" * 40,
        branch=f"helmsman/{loop['name']}",
        head="b" * 40,
    )
    return with_baseline(state, _report(loop, loop["start"], "tree0"))


def _iterated(state: LoopState, loop: Table, given: Table, *, subject: Any, asks: bool) -> tuple[LoopState, Episode]:
    started, now = state.updated_at, state.updated_at + STEP
    found = Evidence(
        execution=Execution(call=_call(given), change=_change(state, given)),
        checks=_report(loop, given["says"], f"tree{state.due}"),
        claims=Claims(wants_to_finish=asks, how=state.config.completion.promise if asks else ""),
        judgement=_judgement(given["judged"]) if "judged" in given else None,
    )
    decided = (*state.memory.decisions, *(Choice.model_validate(one) for one in given.get("decided", [])))
    memory = WorkingMemory(decisions=decided)
    found = found.model_copy(update={"proof": prove(state.config, state.done, found), "memory": memory})
    view = IterationView(state, found, started, now)
    overseen = oversee(view, Observations())
    decision = decide(Situation(state, found, overseen.signals, now, overseen.oversight))
    orientation = Orientation(started_at=started, start_commit=state.head)
    record = record_of(state, orientation, found, overseen, decision)
    return advance(state, record), episode(view, overseen, subject, Recalled())


def _call(given: Table) -> AgentCall:
    errors = tuple(_trouble(*one) for one in given.get("troubles", []))
    return AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=300, tools=(("Bash", 12),), errors=errors)


def _trouble(command: str, said: str, times: int) -> ErrorVector:
    return failure_of("Bash", command, said).model_copy(update={"times": times})


def _change(state: LoopState, given: Table) -> Change:
    commit = f"{state.due:040d}"
    return Change(
        start=state.head,
        commit=commit,
        tree=f"tree{state.due}",
        commits=tuple(Commit(id=commit, subject=subject) for subject in reversed(given["did"])),
        files=tuple(given["files"]),
        files_changed=len(given["files"]),
        insertions=20,
        deletions=5,
    )


def _report(loop: Table, said: str, tree: str) -> CheckReport:
    passed, command = not said, loop["check"]
    result = CheckResult(
        name=command,
        command=command,
        passed=passed,
        exit_code=0 if passed else 1,
        seconds=2,
        head=said.strip("\n"),
        counts=read_summary(said) if said else None,
    )
    return CheckReport(tree=tree, results=(result,))


def _judgement(said: Mapping[str, tuple[bool, str]]) -> Judgement:
    graded = [
        CriterionVerdict(criterion=name, met=met, votes_met=int(met), votes_cast=1, reason=why)
        for name, (met, why) in said.items()
    ]
    met = all(one.met for one in graded)
    return Judgement(
        outcome=JudgementOutcome.APPROVED if met else JudgementOutcome.REJECTED,
        cause="" if met else "a criterion is not met",
        criteria=tuple(graded),
    )


def recorded(repository: Repository) -> Iterator[Observation]:
    """Lessons of a repository's recorded loops. Uses only rules, even if a model was used at the time."""
    project = repository.top.name
    for shown in list_loops(repository):
        state, lived = shown.state, list[Episode]()
        for record in reversed([*read_records(repository, state.loop)]):
            subject = record.recalled.subject or subject_of(state, project)
            due = state.model_copy(update={"iteration": record.iteration - 1, "attempt": record.attempt})
            view = IterationView(due, record, record.started_at, record.ended_at)
            overseen = Overseen(oversight=record.oversight, moment=record.moment)
            lived.append(episode(view, overseen, subject.model_copy(update={"project": project}), record.recalled))
            yield from lessons_of_iteration(lived[-1], lived[:-1])
        if state.outcome is Outcome.COMPLETED:
            yield from lessons_of_loop(state, summary(state, subject_of(state, project)))


def learnt(observations: Iterable[Observation]) -> list[Lesson]:
    """The lessons, most certain first, merged as in the store."""
    known = dict[str, Lesson]()
    for seen in observations:
        lesson = learn(known.values(), seen, f"l{len(known)}", START)
        known[lesson.id] = lesson
    return sorted(known.values(), key=lambda one: (-one.confidence, -one.uses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=50)
    parser.add_argument("--unmarked", action="store_true", help="only lessons without a mark")
    parser.add_argument("--repo", type=Path, action="append", metavar="DIR", help="loops of this repository instead; repeatable")
    options = parser.parse_args()
    marks = read_marks()
    if options.repo:
        seen = [one for path in options.repo for one in recorded(open_repository(path))]
    else:
        seen = [one for loop in lived_loops() for one in taught(loop)]
    shown = learnt(seen)[: options.most]
    for one in shown:
        if not options.unmarked or marks.of(one) == "?":
            print(f"{marks.of(one):4} {one.confidence:.2f} {one.kind} ({', '.join(one.sources)}): {one.text}")
    kept, unmarked = ([marks.of(one) for one in shown].count(mark) for mark in ("keep", "?"))
    share = f"{kept} kept ({kept / max(1, len(shown)):.0%}), {unmarked} not marked"
    print(f"{len({one.source for one in seen})} loops taught something: {len(shown)} lessons, {share}")


if __name__ == "__main__":
    main()
