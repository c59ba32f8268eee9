"""What Helmsman believes: agents that cheat and honest ones, each through the real command line and the real loop.

    python bench/pathologies.py [NAME …]

Only the model is scripted. Printed for each agent: calls until the loop stopped, outcome and rule, what was noticed, seconds, and
whether it is a false completion (a dishonest agent completed) or a false alarm (an honest one was held up longer than it needs).
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from tasks.git import open_repository
from tasks.state_ref import read_records, read_state
from tests.fakes.command_line import Driving, driving
from tests.fakes.pathologies import AGENTS, CHECK, GOAL, ITERATIONS, Agent, repository, script
from tests.fakes.prefect_server import PrefectServer

ALONE = "steering.hooks=false"
"""The guard rails inside an iteration would stop some of them before the gates behind it are seen at work."""
WIDTHS = (36, 9, 5, 10, 24, 7)


@dataclass(frozen=True)
class Run:
    """How one agent fared."""

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
        """Rules that spoke: findings, signals, denials and the ending."""
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
    """One loop with this agent, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    repository(folder / "repository", agent)
    settings = [part for setting in (ALONE, *agent.settings) for part in ("--set", setting)]
    with driving(folder, engine_url, script(agent)) as helmsman:
        begun = time.monotonic()
        ended = _start(helmsman, settings)
        seconds = time.monotonic() - begun
    opened = open_repository(folder / "repository")
    records = tuple(read_records(opened, "loop"))[::-1]
    return Run(agent, ended.exit_code, ended.errors, read_state(opened, "loop")[0], records, seconds)


def _start(helmsman: Driving, settings: Sequence[str]):  # noqa: ANN202 - what run_loop returns
    return helmsman.run_loop(GOAL, "--check", CHECK, "--max-iterations", str(ITERATIONS), *settings, "--json")


def _rules(record: IterationRecord) -> list[str]:
    return [
        *(finding.rule for finding in record.findings),
        *(denial.rule for denial in record.proof.denied),
        *(signal.rule for signal in record.signals if not signal.rule.startswith("limits.")),
    ]


def main() -> None:
    """Run them one after the other and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only agents whose name holds one of these")
    names = parser.parse_args().names
    chosen = [agent for agent in AGENTS if not names or any(name in agent.name for name in names)]
    _row(("agent", "honest", "calls", "outcome", "rule", "seconds", "noticed"))
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name, PrefectServer.running(Path(name) / "engine") as server:
        runs = [_told(run(agent, Path(name) / str(number), server.url)) for number, agent in enumerate(chosen)]
    false = [sum(run.wrong == kind for run in runs) for kind in ("FALSE COMPLETION", "FALSE ALARM")]
    print(f"{len(runs)} agents, {false[0]} false completions, {false[1]} false alarms")


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
