"""Print how the controller reacts to typical runs: slow, stuck, oscillating and others.

    python bench/control.py [NAME …]
    python bench/control.py --recorded [NAME …]

Prints for each iteration: completion, the three terms, phase, output and band. Then the time that progress, summary, movement and
controller take together with a history of 1,000 iterations.

--recorded runs real loops with a scripted model whose agents drift, or only seem to (tests/fakes/drifting_agents.py), and prints
from their records what the output changed in the next iteration: time for checks in the session, model, first instruction.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from bench.common import SCRATCH
from bench.pathologies import run_drifting
from helmsman.config import LoopConfig
from helmsman.orient.allowance import checks_allowance, claude_config
from helmsman.oversee.pid import steer
from helmsman.oversee.progress import progress_of
from helmsman.oversee.summary import summarize
from helmsman.records.agent import AgentCall, AgentOutcome, Change, ErrorVector, Execution, FailureClass
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.control import Control, IterationSummary, Movement, Progress
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState
from tests.fakes.drifting_agents import AGENTS_OVER_TIME
from tests.fakes.prefect_server import PrefectServer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNS: Mapping[str, Sequence[float]] = {
    "steady": (0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 1.0),
    "slow, 2 % a step": tuple(0.40 + 0.02 * step for step in range(12)),
    "slow from the start": tuple(0.02 * step for step in range(12)),
    "stuck half-way": (0.20, 0.35, 0.50, *[0.50] * 7),
    "stuck at the start": (0.10,) * 10,
    "oscillating": (0.40, 0.60, 0.35, 0.60, 0.40, 0.60, 0.35, 0.60, 0.40, 0.60),
    "regressing": (0.60, 0.75, 0.80, 0.80, 0.65, 0.50, 0.35, 0.20),
    "plateau, then through": (0.30, 0.45, 0.55, *[0.55] * 5, 0.75, 0.95, 1.0),
}
"""Completion after each iteration."""
SIGN_CHANGES = 3
STRONG = "strong"
ROUNDS = 200


def summaries(completions: Sequence[float]) -> list[IterationSummary]:
    return [
        IterationSummary(iteration=number, at=NOW, outcome=AgentOutcome.FINISHED, movement=Movement.SIDEWAYS, completion=share)
        for number, share in enumerate(completions, 1)
    ]


def is_oscillating(completions: Sequence[float]) -> bool:
    """Whether completion changed its direction often enough in the last iterations."""
    changes = [later - earlier for earlier, later in pairwise(completions[-6:]) if later != earlier]
    return sum(change * next_change < 0 for change, next_change in pairwise(changes)) >= SIGN_CHANGES


def control_outputs(completions: Sequence[float]) -> Iterator[Control]:
    history, control = summaries(completions), Control()
    for end in range(1, len(history) + 1):
        control = steer(control, history[:end], swinging=is_oscillating(completions[:end]))
        yield control


def print_run(name: str, completions: Sequence[float]) -> None:
    print(f"\n{name}\n  # completion     P      I       D  phase         kp   output  band")
    for number, control in enumerate(control_outputs(completions), 1):
        terms = f"{control.proportional:5.2f}  {control.integral:5.2f}  {control.derivative:+6.3f}"
        gains = f"{control.phase:<12} {control.gains.kp:4.2f}"
        print(f"{number:3}       {completions[number - 1]:4.2f} {terms}  {gains}   {control.output:5.2f}  {control.band}")


def print_recorded_runs(names: Sequence[str]) -> None:
    """Run the loops and print what the controller changed in each."""
    agents = [agent for agent in AGENTS_OVER_TIME if not names or any(name in agent.name for name in names)]
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name, PrefectServer.running(Path(name) / "engine") as server:
        for number, agent in enumerate(agents):
            run = run_drifting(agent, Path(name) / str(number), server.url, f"ladder.redesign_model={STRONG}")
            print(f"\n{agent.name}: {run.state.ending.rule if run.state.ending else ''}")
            print("  # completion  output  band      checks  model     first instruction of the next prompt")
            for record in run.records:
                print(_format_changes(run.state.model_copy(update={"oversight": record.oversight}), record.iteration))


def _format_changes(state: LoopState, iteration: int) -> str:
    """Settings of the next iteration."""
    control, strategy = state.oversight.control, state.oversight.strategy
    figures = f"{state.oversight.progress.completion:4.2f}    {control.output:4.2f}  {control.band:<8}"
    settings = f"{checks_allowance(state):4.0f} s  {claude_config(state).model or 'default':<8}"
    return f"{iteration:3}       {figures}  {settings}  {strategy.stance}: {next(iter(strategy.priorities), '')[:80]}"


def summary(number: int, *, is_unique: bool) -> IterationSummary:
    """Summary of an iteration without progress; a unique one fails unlike all others."""
    place = f"place{'x' * (number % 40)}{number}" if is_unique else "tests/test_a.py::test_one"
    error = ErrorVector(kind=FailureClass.TEST, where=place, message=f"assert {place} == 2")
    return IterationSummary(
        iteration=number,
        at=NOW,
        outcome=AgentOutcome.FINISHED,
        movement=Movement.SIDEWAYS,
        completion=0.0,
        tree=f"tree-{number}",
        files_changed=1,
        errors=(error,) * (5 if is_unique else 1),
    )


def failing_evidence() -> Evidence:
    """A failing check with 1,000 characters of output. It has no numbers to compare, so all words are compared."""
    output = "." * 900 + "\nFAILED tests/test_b.py::test_two - assert 1 == 2\n=== 2 failed, 40 passed in 1.20s ===\n"
    failing = CheckResult(name="tests", command="pytest", passed=False, exit_code=1, seconds=1, head=output)
    change = Change(start="a" * 40, commit="b" * 40, tree="new", files_changed=1, files=("src/a.py",))
    call = AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=60)
    return Evidence(execution=Execution(call=call, change=change), checks=CheckReport(tree="new", results=(failing,)))


def cost_ms(history: Sequence[IterationSummary]) -> float:
    """Milliseconds of one iteration: the fastest of many."""
    state = LoopState(
        loop="bench",
        uid="1",
        config=LoopConfig(goal="measure"),
        created_at=NOW,
        updated_at=NOW,
        base_commit="a" * 40,
        branch="b",
        head="a" * 40,
        iteration=len(history),
        history=tuple(history),
    )
    evidence, times = failing_evidence(), list[float]()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        progress = progress_of(evidence, Progress(), {"pytest": 42})
        latest = summarize(state, evidence, progress, NOW, NOW + timedelta(minutes=1))
        steer(Control(), [*history, latest], swinging=False)
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", action="store_true", help="real loops instead of typical runs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    options = parser.parse_args()
    if options.recorded:
        print_recorded_runs(options.names)
    else:
        print_typical_runs(options.names)


def print_typical_runs(names: Sequence[str]) -> None:
    for name, completions in RUNS.items():
        if not names or name in names:
            print_run(name, completions)
    print()
    for title, size, is_unique in (("of 50", 50, False), ("of 1,000", 1000, False), ("of 1,000, all different", 1000, True)):
        print(f"history {title}: {cost_ms([summary(number, is_unique=is_unique) for number in range(1, size + 1)]):.2f} ms")


if __name__ == "__main__":
    main()
