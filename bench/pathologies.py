"""Measure detection: cheating, honest, stuck and drifting agents through the real command line.

    python bench/pathologies.py [NAME …]

Only the model is scripted. Prints for each agent: calls until the loop stopped, outcome and rule, what was detected, seconds, and
whether it is a false completion (a dishonest agent completed) or a false alarm (an honest one was delayed). Then for each agent
that is stuck inside one iteration: answers of the model and tool calls until guidance reached it, the same without steering, and
whether the guidance led it to the goal. Last for each agent that drifts over iterations, and for honest ones that seem to:
iterations and the rule that stopped it.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common import SCRATCH, print_row, set_options
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

WITHOUT_HOOKS = "steering.hooks=false"
"""Guardrails inside an iteration would stop some agents before the gates after it act."""
WIDTHS = (36, 9, 5, 10, 24, 7, 0)
STUCK_WIDTHS = (42, 8, 11, 11, 11, 5, 0)
DRIFTING_WIDTHS = (42, 7, 11, 21, 0)


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
    def acting_rules(self) -> tuple[str, ...]:
        """Rules that acted: findings, signals, denials and the ending."""
        rules = [rule for record in self.records for rule in _rules(record)]
        ending = [self.state.ending.rule] if self.state.ending else []
        return tuple(dict.fromkeys((*rules, *ending)))

    @property
    def error(self) -> str:
        if self.completed and not self.agent.honest:
            return "FALSE COMPLETION"
        is_late = self.state.iteration > self.agent.most or not self.completed
        return "FALSE ALARM" if self.agent.honest and is_late else ""


def run(agent: Agent, folder: Path, engine_url: str) -> Run:
    """Run one loop with this agent in its own folder."""
    folder.mkdir(parents=True, exist_ok=True)
    repository(folder / "repository", agent)
    settings = set_options((WITHOUT_HOOKS, *agent.settings))
    with scripted_command_line(folder, engine_url, script(agent)) as helmsman:
        start = time.monotonic()
        result = _start(helmsman, settings)
        seconds = time.monotonic() - start
    opened = open_repository(folder / "repository")
    records = tuple(read_records(opened, "loop"))[::-1]
    return Run(agent, result.exit_code, result.errors, show_state(opened, "loop").state, records, seconds)


@dataclass(frozen=True)
class StuckRun:
    """Result of an agent that is stuck inside an iteration."""

    agent: StuckAgent
    answers: int
    """Answers of the model until guidance reached the agent, or until it gave up."""
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


def run_stuck(agent: StuckAgent, folder: Path, engine_url: str, *, with_hooks: bool = True) -> StuckRun:
    """Run one iteration of this agent, with or without steering."""
    folder.mkdir(parents=True, exist_ok=True)
    stuck_agents.repository(folder / "repository", agent)
    all_settings = (*agent.settings, f"steering.hooks={str(with_hooks).lower()}")
    settings = set_options(all_settings)
    with scripted_command_line(folder, engine_url, stuck_agents.script(agent)) as helmsman:
        result = helmsman.run_loop(stuck_agents.GOAL, "--check", stuck_agents.CHECK, "--max-iterations", "1", "--json", *settings)
        answers, tool_calls = cost_until_guidance(helmsman.model.requests)
    records = tuple(read_records(open_repository(folder / "repository"), "loop"))[::-1]
    return StuckRun(agent, answers, tool_calls, records, result.errors)


@dataclass(frozen=True)
class DriftingRun:
    """Result of an agent that drifts over iterations, or only seems to."""

    agent: DriftingAgent
    state: LoopState
    records: tuple[IterationRecord, ...]
    prompts: tuple[str, ...]
    """Prompts of all sessions, as the model got them."""
    exit_code: int
    errors: str

    @property
    def acting_rules(self) -> tuple[str, ...]:
        """Rules that intervened with REDIRECT or more."""
        strong = {Severity.REDIRECT, Severity.PAUSE, Severity.ABORT}
        return tuple(dict.fromkeys(s.rule for record in self.records for s in record.signals if s.severity in strong))

    @property
    def error(self) -> str:
        ending = self.state.ending.rule if self.state.ending else ""
        is_late = self.state.iteration > self.agent.most
        return f"ended by {ending} after {self.state.iteration}" if ending != self.agent.ending or is_late else ""


def run_drifting(agent: DriftingAgent, folder: Path, engine_url: str, *settings: str) -> DriftingRun:
    """Run one loop with this agent, with the default limits."""
    folder.mkdir(parents=True, exist_ok=True)
    drifting_agents.repository(folder / "repository", agent)
    all_settings = (WITHOUT_HOOKS, *agent.settings, *settings)
    options = set_options(all_settings)
    with scripted_command_line(folder, engine_url, drifting_agents.script(agent)) as helmsman:
        result = helmsman.run_loop(agent.goal, "--check", drifting_agents.CHECK, "--json", *options)
        prompts_by_call = {request.call: request.prompt for request in reversed(helmsman.model.requests)}
    opened = open_repository(folder / "repository")
    records = tuple(read_records(opened, "loop"))[::-1]
    prompts = tuple(prompts_by_call[call] for call in sorted(prompts_by_call))
    return DriftingRun(agent, show_state(opened, "loop").state, records, prompts, result.exit_code, result.errors)


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
    selected = [agent for agent in AGENTS if _is_selected(agent.name, names)]
    stuck = [agent for agent in STUCK_AGENTS if _is_selected(agent.name, names)]
    drifting = [agent for agent in AGENTS_OVER_TIME if _is_selected(agent.name, names)]
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name, PrefectServer.running(Path(name) / "engine") as server:
        if selected:
            _print_runs(selected, Path(name), server.url)
        if stuck:
            _print_stuck(stuck, Path(name), server.url)
        if drifting:
            _print_drifting(drifting, Path(name), server.url)


def _is_selected(name: str, names: Sequence[str]) -> bool:
    return not names or any(part in name for part in names)


def _print_runs(agents: Sequence[Agent], folder: Path, engine_url: str) -> None:
    print_row(("agent", "honest", "calls", "outcome", "rule", "seconds", "rules"), WIDTHS)
    runs = [_print_run(run(agent, folder / str(number), engine_url)) for number, agent in enumerate(agents)]
    counts = [sum(run.error == kind for run in runs) for kind in ("FALSE COMPLETION", "FALSE ALARM")]
    print(f"{len(runs)} agents, {counts[0]} false completions, {counts[1]} false alarms")


def _print_stuck(agents: Sequence[StuckAgent], folder: Path, engine_url: str) -> None:
    headings = ("stuck in one iteration", "answers", "unsteered", "tool calls", "unsteered", "done", "guidance")
    print_row(headings, STUCK_WIDTHS)
    for number, agent in enumerate(agents):
        steered = run_stuck(agent, folder / f"steered-{number}", engine_url)
        unsteered = run_stuck(agent, folder / f"unsteered-{number}", engine_url, with_hooks=False)
        numbers = (steered.answers, unsteered.answers, steered.tool_calls, unsteered.tool_calls)
        guidance = ", ".join(dict.fromkeys(steered.rules)) or "stop gate"
        print_row((agent.name, *numbers, "yes" if steered.completed else "no", guidance), STUCK_WIDTHS)


def _print_drifting(agents: Sequence[DriftingAgent], folder: Path, engine_url: str) -> None:
    print_row(("drifting over iterations", "honest", "iterations", "ended by", "intervened"), DRIFTING_WIDTHS)
    for number, agent in enumerate(agents):
        run = run_drifting(agent, folder / f"drifting-{number}", engine_url)
        ending = run.state.ending.rule if run.state.ending else ""
        honest = "yes" if agent.honest else "no"
        print_row((agent.name, honest, run.state.iteration, ending, ", ".join(run.acting_rules)), DRIFTING_WIDTHS)
        if run.error:
            print(f"    WRONG: {run.error} {run.errors[-500:]}", flush=True)


def _print_run(run: Run) -> Run:
    ending = run.state.ending
    cells = (
        run.agent.name, "yes" if run.agent.honest else "no", run.state.spending.agent_calls, str(run.state.outcome),
        ending.rule if ending else "", f"{run.seconds:.1f}", ", ".join(run.acting_rules),
    )  # fmt: skip
    print_row(cells, WIDTHS)
    if run.error:
        print(f"    {run.error} {run.errors[-500:]}", flush=True)
    return run


if __name__ == "__main__":
    main()
