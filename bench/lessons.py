"""Replay loops through the core and print the best lessons that memory learns, for a reviewer to mark.

    python -m bench.lessons [--most 50] [--unmarked] [--repo DIR …]

The loops are in `bench/example_loops/*.toml`: output of checks, commits, notes and verdicts. The product does the rest: failures
are parsed, iterations overseen and decided, lessons extracted, merged and reviewed as in a loop. `--repo` uses the recorded loops
of repositories instead. Prints a line for each lesson, the most certain first: mark, confidence, kind, source loops and text.

A mark is a line of `bench/example_loops/marks.txt`: `keep` or `drop` and the text. A reviewer keeps what is true and what the
next agent could not read from the repository in a minute. The last line counts the kept ones among those printed.
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

EXAMPLES = Path(__file__).parent / "example_loops"
START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STEP = timedelta(minutes=10)
Table = Mapping[str, Any]


@dataclass(frozen=True)
class Marks:
    """A reviewer's marks of lessons, by their text."""

    by_text: Mapping[str, str]

    def mark_of(self, lesson: Lesson) -> str:
        return self.by_text.get(lesson.text, "?")


def read_marks() -> Marks:
    path = EXAMPLES / "marks.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return Marks({text: mark for mark, _, text in (line.partition(" ") for line in lines) if mark in {"keep", "drop"}})


def example_loops() -> list[Table]:
    return [loop for path in sorted(EXAMPLES.glob("*.toml")) for loop in tomllib.loads(path.read_text(encoding="utf-8"))["loop"]]


def lessons_of_example(loop: Table) -> Iterator[Observation]:
    """Lessons of a loop, iteration by iteration and at its end."""
    state, episodes = _initial_state(loop), list[Episode]()
    for number, iteration in enumerate(loop["iterations"], 1):
        is_last = number == len(loop["iterations"]) and "outcome" not in loop
        subject = subject_of(state, loop["project"])
        state, latest = _run_iteration(
            state, loop, iteration, subject=subject, claims_completion=is_last or "judged" in iteration
        )
        yield from lessons_of_iteration(latest, episodes)
        episodes.append(latest)
    if state.outcome is Outcome.COMPLETED:
        yield from lessons_of_loop(state, summary(state, subject_of(state, loop["project"])))


def _initial_state(loop: Table) -> LoopState:
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


def _run_iteration(
    state: LoopState, loop: Table, iteration: Table, *, subject: Any, claims_completion: bool
) -> tuple[LoopState, Episode]:
    started, now = state.updated_at, state.updated_at + STEP
    evidence = Evidence(
        execution=Execution(call=_call(iteration), change=_change(state, iteration)),
        checks=_report(loop, iteration["says"], f"tree{state.due}"),
        claims=Claims(wants_to_finish=claims_completion, how=state.config.completion.promise if claims_completion else ""),
        judgement=_judgement(iteration["judged"]) if "judged" in iteration else None,
    )
    decisions = (*state.memory.decisions, *(Choice.model_validate(choice) for choice in iteration.get("decided", [])))
    memory = WorkingMemory(decisions=decisions)
    evidence = evidence.model_copy(update={"proof": prove(state.config, state.done, evidence), "memory": memory})
    view = IterationView(state, evidence, started, now)
    overseen = oversee(view, Observations())
    decision = decide(Situation(state, evidence, overseen.signals, now, overseen.oversight))
    orientation = Orientation(started_at=started, start_commit=state.head)
    record = record_of(state, orientation, evidence, overseen, decision)
    return advance(state, record), episode(view, overseen, subject, Recalled())


def _call(iteration: Table) -> AgentCall:
    errors = tuple(_tool_failure(*failure) for failure in iteration.get("troubles", []))
    return AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=300, tools=(("Bash", 12),), errors=errors)


def _tool_failure(command: str, output: str, times: int) -> ErrorVector:
    return failure_of("Bash", command, output).model_copy(update={"times": times})


def _change(state: LoopState, iteration: Table) -> Change:
    commit = f"{state.due:040d}"
    return Change(
        start=state.head,
        commit=commit,
        tree=f"tree{state.due}",
        commits=tuple(Commit(id=commit, subject=subject) for subject in reversed(iteration["did"])),
        files=tuple(iteration["files"]),
        files_changed=len(iteration["files"]),
        insertions=20,
        deletions=5,
    )


def _report(loop: Table, output: str, tree: str) -> CheckReport:
    passed, command = not output, loop["check"]
    result = CheckResult(
        name=command,
        command=command,
        passed=passed,
        exit_code=0 if passed else 1,
        seconds=2,
        head=output.strip("\n"),
        counts=read_summary(output) if output else None,
    )
    return CheckReport(tree=tree, results=(result,))


def _judgement(verdicts: Mapping[str, tuple[bool, str]]) -> Judgement:
    criteria = [
        CriterionVerdict(criterion=name, met=is_met, votes_met=int(is_met), votes_cast=1, reason=reason)
        for name, (is_met, reason) in verdicts.items()
    ]
    is_met = all(verdict.met for verdict in criteria)
    return Judgement(
        outcome=JudgementOutcome.APPROVED if is_met else JudgementOutcome.REJECTED,
        cause="" if is_met else "a criterion is not met",
        criteria=tuple(criteria),
    )


def lessons_of_repository(repository: Repository) -> Iterator[Observation]:
    """Lessons of a repository's recorded loops. Uses only rules, even if a model was used at the time."""
    project = repository.top.name
    for loop in list_loops(repository):
        state, episodes = loop.state, list[Episode]()
        for record in reversed([*read_records(repository, state.loop)]):
            subject = record.recalled.subject or subject_of(state, project)
            due = state.model_copy(update={"iteration": record.iteration - 1, "attempt": record.attempt})
            view = IterationView(due, record, record.started_at, record.ended_at)
            overseen = Overseen(oversight=record.oversight, moment=record.moment)
            episodes.append(episode(view, overseen, subject.model_copy(update={"project": project}), record.recalled))
            yield from lessons_of_iteration(episodes[-1], episodes[:-1])
        if state.outcome is Outcome.COMPLETED:
            yield from lessons_of_loop(state, summary(state, subject_of(state, project)))


def merge_lessons(observations: Iterable[Observation]) -> list[Lesson]:
    """The lessons, most certain first, merged as in the store."""
    known = dict[str, Lesson]()
    for observation in observations:
        lesson = learn(known.values(), observation, f"l{len(known)}", START)
        known[lesson.id] = lesson
    return sorted(known.values(), key=lambda lesson: (-lesson.confidence, -lesson.uses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=50)
    parser.add_argument("--unmarked", action="store_true", help="only lessons without a mark")
    parser.add_argument("--repo", type=Path, action="append", metavar="DIR", help="loops of this repository instead; repeatable")
    options = parser.parse_args()
    marks = read_marks()
    if options.repo:
        observations = [lesson for path in options.repo for lesson in lessons_of_repository(open_repository(path))]
    else:
        observations = [lesson for loop in example_loops() for lesson in lessons_of_example(loop)]
    lessons = merge_lessons(observations)[: options.most]
    for lesson in lessons:
        if not options.unmarked or marks.mark_of(lesson) == "?":
            print(f"{marks.mark_of(lesson):4} {lesson.confidence:.2f} {lesson.kind} ({', '.join(lesson.sources)}): {lesson.text}")
    kept, unmarked = ([marks.mark_of(lesson) for lesson in lessons].count(mark) for mark in ("keep", "?"))
    share = f"{kept} kept ({kept / max(1, len(lessons)):.0%}), {unmarked} not marked"
    print(f"{len({observation.source for observation in observations})} loops gave {len(lessons)} lessons, {share}")


if __name__ == "__main__":
    main()
