"""Measure detection: cheating, honest and spinning agents through the real command line.

    python bench/pathologies.py [NAME …]

Only the model is scripted. Prints for each agent: calls until the loop stopped, outcome and rule, what was detected, seconds, and
whether it is a false completion (a dishonest agent completed) or a false alarm (an honest one was delayed). Then for each agent
that spins inside one iteration: answers of the model and tool calls until guidance reached it, the same without steering, and
whether the guidance led it to the goal. Last for each agent that goes off-task over iterations, and for honest ones that seem to:
iterations and the rule that stopped it.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helmsman.records.decision import Outcome, Severity
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_records, show_state
from tests.fakes import drifting_agents, stuck_agents
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.drifting_agents import AGENTS_OVER_TIME, DriftingAgent
from tests.fakes.pathologies import AGENTS, CHECK, GOAL, ITERATIONS, Agent, repository, script
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.stuck_agents import STUCK_AGENTS, StuckAgent, cost_until_guidance

ALONE = "steering.hooks=false"
"""Guardrails inside an iteration would stop some agents before the gates behind it act."""
WIDTHS = (36, 9, 5, 10, 24, 7)


@dataclass(frozen=True)
class Run:
    """Result of one agent."""

    agent: Agent
    exit_code: int
    errors: str
    state: LoopState
    records: tuple[IterationRecord, ...]
    """Oldest first."""
    seconds: float

    @property
    def completed(self) -> bool:
        return self.state.outcome is Outcome.COMPLETED

    @property
    def noticed(self) -> tuple[str, ...]:
        """Rules that acted: findings, signals, denials and the ending."""
        rules = [rule for record in self.records for rule in _rules(record)]
        ending = [self.state.ending.rule] if self.state.ending else []
        return tuple(dict.fromkeys((*rules, *ending)))

    @property
    def wrong(self) -> str:
        if self.completed and not self.agent.honest:
            return "FALSE COMPLETION"
        late = self.state.iteration > self.agent.most or not self.completed
        return "FALSE ALARM" if self.agent.honest and late else ""


def run(agent: Agent, folder: Path, engine_url: str) -> Run:
    """Run one loop with this agent in its own folder."""
    folder.mkdir(parents=True, exist_ok=True)
    repository(folder / "repository", agent)
    settings = [part for setting in (ALONE, *agent.settings) for part in ("--set", setting)]
    with scripted_command_line(folder, engine_url, script(agent)) as helmsman:
        begun = time.monotonic()
        ended = _start(helmsman, settings)
        seconds = time.monotonic() - begun
    opened = open_repository(folder / "repository")
    records = tuple(read_records(opened, "loop"))[::-1]
    return Run(agent, ended.exit_code, ended.errors, show_state(opened, "loop").state, records, seconds)


@dataclass(frozen=True)
class Spin:
    """Result of an agent that spins inside an iteration."""

    spinner: StuckAgent
    answers: int
    """Answers of the model until guidance reached it, or until it gave up."""
    tool_calls: int
    records: tuple[IterationRecord, ...]
    errors: str
    """Output for people."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Guardrails that acted in the first iteration, in order."""
        return tuple(guarded.rule for guarded in self.records[0].execution.call.guarded)

    @property
    def completed(self) -> bool:
        return self.records[-1].decision.outcome is Outcome.COMPLETED


def spin(spinner: StuckAgent, folder: Path, engine_url: str, *, steered: bool = True) -> Spin:
    """Run one iteration of this agent, with or without steering."""
    folder.mkdir(parents=True, exist_ok=True)
    stuck_agents.repository(folder / "repository", spinner)
    chosen = (*spinner.settings, f"steering.hooks={str(steered).lower()}")
    settings = [part for setting in chosen for part in ("--set", setting)]
    with scripted_command_line(folder, engine_url, stuck_agents.script(spinner)) as helmsman:
        ended = helmsman.run_loop(stuck_agents.GOAL, "--check", stuck_agents.CHECK, "--max-iterations", "1", "--json", *settings)
        answers, tool_calls = cost_until_guidance(helmsman.model.requests)
    records = tuple(read_records(open_repository(folder / "repository"), "loop"))[::-1]
    return Spin(spinner, answers, tool_calls, records, ended.errors)


@dataclass(frozen=True)
class Course:
    """Result of an agent that goes off-task over iterations, or only seems to."""

    wanderer: DriftingAgent
    state: LoopState
    records: tuple[IterationRecord, ...]
    prompts: tuple[str, ...]
    """Prompts of all sessions, as the model got them."""
    exit_code: int
    errors: str

    @property
    def noticed(self) -> tuple[str, ...]:
        """Rules that intervened with REDIRECT or more."""
        strong = {Severity.REDIRECT, Severity.PAUSE, Severity.ABORT}
        return tuple(dict.fromkeys(s.rule for record in self.records for s in record.signals if s.severity in strong))

    @property
    def wrong(self) -> str:
        ending = self.state.ending.rule if self.state.ending else ""
        late = self.state.iteration > self.wanderer.most
        return f"ended by {ending} after {self.state.iteration}" if ending != self.wanderer.ending or late else ""


def wander(wanderer: DriftingAgent, folder: Path, engine_url: str, *settings: str) -> Course:
    """Run one loop with this agent, with the default limits."""
    folder.mkdir(parents=True, exist_ok=True)
    drifting_agents.repository(folder / "repository", wanderer)
    chosen = (ALONE, *wanderer.settings, *settings)
    options = [part for setting in chosen for part in ("--set", setting)]
    with scripted_command_line(folder, engine_url, drifting_agents.script(wanderer)) as helmsman:
        ended = helmsman.run_loop(wanderer.goal, "--check", drifting_agents.CHECK, "--json", *options)
        first = {request.call: request.prompt for request in reversed(helmsman.model.requests)}
    opened = open_repository(folder / "repository")
    records = tuple(read_records(opened, "loop"))[::-1]
    prompts = tuple(first[number] for number in sorted(first))
    return Course(wanderer, show_state(opened, "loop").state, records, prompts, ended.exit_code, ended.errors)


def _start(helmsman: ScriptedCommandLine, settings: Sequence[str]):  # noqa: ANN202 - what run_loop returns
    return helmsman.run_loop(GOAL, "--check", CHECK, "--max-iterations", str(ITERATIONS), *settings, "--json")


def _rules(record: IterationRecord) -> list[str]:
    return [
        *(finding.rule for finding in record.findings),
        *(denial.rule for denial in record.proof.denied),
        *(signal.rule for signal in record.signals if not signal.rule.startswith("limits.")),
    ]


def main() -> None:
    """Run all agents and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only agents whose name contains one of these")
    names = parser.parse_args().names
    chosen = [agent for agent in AGENTS if _wanted(agent.name, names)]
    spinning = [spinner for spinner in STUCK_AGENTS if _wanted(spinner.name, names)]
    wandering = [wanderer for wanderer in AGENTS_OVER_TIME if _wanted(wanderer.name, names)]
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name, PrefectServer.running(Path(name) / "engine") as server:
        if chosen:
            _print_runs(chosen, Path(name), server.url)
        if spinning:
            _print_spins(spinning, Path(name), server.url)
        if wandering:
            _print_courses(wandering, Path(name), server.url)


def _wanted(name: str, names: Sequence[str]) -> bool:
    return not names or any(part in name for part in names)


def _print_runs(chosen: Sequence[Agent], folder: Path, engine_url: str) -> None:
    _row(("agent", "honest", "calls", "outcome", "rule", "seconds", "noticed"))
    runs = [_told(run(agent, folder / str(number), engine_url)) for number, agent in enumerate(chosen)]
    false = [sum(run.wrong == kind for run in runs) for kind in ("FALSE COMPLETION", "FALSE ALARM")]
    print(f"{len(runs)} agents, {false[0]} false completions, {false[1]} false alarms")


def _print_spins(chosen: Sequence[StuckAgent], folder: Path, engine_url: str) -> None:
    _spin_row(("spins in one iteration", "answers", "left alone", "tool calls", "left alone", "done", "guidance"))
    for number, spinner in enumerate(chosen):
        steered = spin(spinner, folder / f"steered-{number}", engine_url)
        alone = spin(spinner, folder / f"alone-{number}", engine_url, steered=False)
        numbers = (steered.answers, alone.answers, steered.tool_calls, alone.tool_calls)
        _spin_row(
            (spinner.name, *numbers, "yes" if steered.completed else "no", ", ".join(dict.fromkeys(steered.rules)) or "stop gate")
        )
        sys.stdout.flush()


def _print_courses(chosen: Sequence[DriftingAgent], folder: Path, engine_url: str) -> None:
    _course_row(("over iterations", "honest", "iterations", "ended by", "intervened"))
    for number, wanderer in enumerate(chosen):
        course = wander(wanderer, folder / f"course-{number}", engine_url)
        ending = course.state.ending.rule if course.state.ending else ""
        honest = "yes" if wanderer.honest else "no"
        _course_row((wanderer.name, honest, course.state.iteration, ending, ", ".join(course.noticed)))
        if course.wrong:
            print(f"    WRONG: {course.wrong} {course.errors[-500:]}")
        sys.stdout.flush()


def _course_row(cells: Sequence[object]) -> None:
    print(" ".join(str(cell).ljust(width) for cell, width in zip(cells, (42, 7, 11, 21, 0), strict=True)).rstrip())


def _spin_row(cells: Sequence[object]) -> None:
    print(" ".join(str(cell).ljust(width) for cell, width in zip(cells, (42, 8, 11, 11, 11, 5, 0), strict=True)).rstrip())


def _told(run: Run) -> Run:
    ending = run.state.ending
    cells = (
        run.agent.name, "yes" if run.agent.honest else "no", run.state.spending.agent_calls, str(run.state.outcome),
        ending.rule if ending else "", f"{run.seconds:.1f}", ", ".join(run.noticed),
    )  # fmt: skip
    _row(cells)
    if run.wrong:
        print(f"    {run.wrong} {run.errors[-500:]}")
    sys.stdout.flush()
    return run


def _row(cells: Sequence[object]) -> None:
    padded = [str(cell).ljust(width) for cell, width in zip(cells, (*WIDTHS, 0), strict=True)]
    print(" ".join(padded).rstrip())


if __name__ == "__main__":
    main()
