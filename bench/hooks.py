"""Measure the time that hooks add to each tool call of the real command line.

    python bench/hooks.py [--calls 60] [--rounds 3]

Runs interleaved sessions of the real CLI with a scripted model that requests one tool call after the other: without hooks, with
ours, with ours also after each call, and with a shell or a Python command instead. Prints the median time from an answer of the
model to its next request, and the share of our own process.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from deployments.demo_model import Request, ScriptedModel, Turn, bash, call, environment, say
from helmsman.guardrails import Rules
from tasks.agents.hooks import TOKEN, HookServer, hook_server, settings
from tasks.agents.steering import Steering
from tests.fakes.claude_cli import ARGUMENTS, bundled_cli

BEFORE = ("PreToolUse",)
BEFORE_AND_AFTER = ("PreToolUse", "PostToolUse")
SHELL = "cat > /dev/null"
PYTHON = f"{sys.executable} -c 'import sys; sys.stdin.read()'"
KINDS: Mapping[str, Callable[[HookServer], str]] = {
    "none": lambda _: "{}",
    "ours": settings,
    "ours, and after": lambda server: _also_after(settings(server)),
    "sh": lambda _: _commands(SHELL, BEFORE),
    "sh, and after": lambda _: _commands(SHELL, BEFORE_AND_AFTER),
    "python": lambda _: _commands(PYTHON, BEFORE),
    "python, and after": lambda _: _commands(PYTHON, BEFORE_AND_AFTER),
}


class Clock:
    """A model that requests a number of tool calls and records when it is called."""

    def __init__(self, calls: int) -> None:
        self.moments: list[float] = []
        self._calls = calls

    def __call__(self, request: Request) -> Turn:
        self.moments.append(time.perf_counter())
        return call(bash(f"echo {request.turn}")) if request.turn < self._calls else say("done")

    @property
    def gaps(self) -> list[float]:
        pairs = zip(self.moments, self.moments[1:], strict=False)
        return [1000 * (after - before) for before, after in pairs][2:]  # the first calls warm up


def main() -> None:
    """Run all kinds in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args()
    gaps: dict[str, list[float]] = {kind: [] for kind in KINDS}
    own: list[float] = []
    for _ in range(wanted.rounds):
        for kind in KINDS:
            gaps[kind] += _session(kind, wanted.calls, own)
    base = statistics.median(gaps["none"])
    print(f"milliseconds from answer to next request, median of {len(gaps['none'])} tool calls each")
    for kind in KINDS:
        median = statistics.median(gaps[kind])
        print(f"{kind:<18} {median:8.1f}   added {median - base:6.1f}")
    print(f"our own handling of one event: {statistics.median(own):.2f} ms, 99 of 100 within {_percentile(own, 0.99):.2f} ms")


@contextmanager
def _model(calls: int) -> Generator[tuple[str, Callable[[], list[float]]]]:
    """Serve the model from its own process, as in reality. Yields its address, and a function that returns its measurements."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(calls, theirs))
    process.start()
    try:
        yield ours.recv(), lambda: (ours.send("enough"), ours.recv())[1]
    finally:
        process.terminate()
        process.join()


def _serve(calls: int, connection: Connection) -> None:
    clock = Clock(calls)
    with ScriptedModel(clock) as model:
        connection.send(model.url)
        connection.recv()
        connection.send(clock.gaps)


def _session(kind: str, calls: int, own: list[float]) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name, _model(calls) as (url, gaps):
        home = Path(name) / "home"
        home.mkdir()
        variables = {"PATH": os.environ["PATH"], **environment(url, home)}
        steers = Steering(Rules(worktree=name), _nothing, _empty)

        def answer(event: Mapping[str, Any]) -> Mapping[str, Any]:
            begun = time.perf_counter()
            output = steers.answer(event)
            own.append(1000 * (time.perf_counter() - begun))
            return output

        with hook_server(answer) as server:
            _run(["--settings", KINDS[kind](server)], Path(name), {**variables, TOKEN: server.token})
        return gaps()


def _run(options: list[str], folder: Path, variables: Mapping[str, str]) -> None:
    command = [bundled_cli(), *ARGUMENTS, *options]
    subprocess.run(command, input="go", text=True, cwd=folder, env=variables, capture_output=True, timeout=300, check=True)


def _commands(command: str, events: tuple[str, ...]) -> str:
    hook = {"hooks": [{"type": "command", "command": command}]}
    return json.dumps({"hooks": {name: [hook] for name in events}})


def _also_after(told: str) -> str:
    hooks = json.loads(told)["hooks"]
    return json.dumps({"hooks": {**hooks, "PostToolUse": hooks["PreToolUse"]}})


def _nothing(_: object) -> None:
    """Report to nobody."""


def _empty(_: str) -> str:
    return ""


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


if __name__ == "__main__":
    main()
