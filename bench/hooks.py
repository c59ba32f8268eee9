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

from bench.common import SCRATCH, percentile
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
    "helmsman": settings,
    "helmsman, and after": lambda server: _with_post_tool_use(settings(server)),
    "sh": lambda _: _command_hooks(SHELL, BEFORE),
    "sh, and after": lambda _: _command_hooks(SHELL, BEFORE_AND_AFTER),
    "python": lambda _: _command_hooks(PYTHON, BEFORE),
    "python, and after": lambda _: _command_hooks(PYTHON, BEFORE_AND_AFTER),
}


class TimedModel:
    """A model that requests a number of tool calls and records when it is called."""

    def __init__(self, calls: int) -> None:
        self.times: list[float] = []
        self._calls = calls

    def __call__(self, request: Request) -> Turn:
        self.times.append(time.perf_counter())
        return call(bash(f"echo {request.turn}")) if request.turn < self._calls else say("done")

    @property
    def gaps(self) -> list[float]:
        pairs = zip(self.times, self.times[1:], strict=False)
        return [1000 * (after - before) for before, after in pairs][2:]  # the first calls are warm-up


def main() -> None:
    """Run sessions of all kinds in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    gaps: dict[str, list[float]] = {kind: [] for kind in KINDS}
    handling: list[float] = []
    for _ in range(options.rounds):
        for kind in KINDS:
            gaps[kind] += _session(kind, options.calls, handling)
    base = statistics.median(gaps["none"])
    print(f"milliseconds from answer to next request, median of {len(gaps['none'])} tool calls each")
    for kind in KINDS:
        median = statistics.median(gaps[kind])
        print(f"{kind:<18} {median:8.1f}   added {median - base:6.1f}")
    print(f"handling of one event: {statistics.median(handling):.2f} ms, 99 % within {percentile(handling, 0.99):.2f} ms")


@contextmanager
def _model(calls: int) -> Generator[tuple[str, Callable[[], list[float]]]]:
    """Serve the model from its own process, as in reality. Yields its address, and a function that returns its measurements."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(calls, theirs))
    process.start()
    try:
        yield ours.recv(), lambda: (ours.send("stop"), ours.recv())[1]
    finally:
        process.terminate()
        process.join()


def _serve(calls: int, connection: Connection) -> None:
    clock = TimedModel(calls)
    with ScriptedModel(clock) as model:
        connection.send(model.url)
        connection.recv()
        connection.send(clock.gaps)


def _session(kind: str, calls: int, handling: list[float]) -> list[float]:
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name, _model(calls) as (url, gaps):
        home = Path(name) / "home"
        home.mkdir()
        variables = {"PATH": os.environ["PATH"], **environment(url, home)}
        steering = Steering(Rules(worktree=name), _ignore, _no_text)

        def answer(event: Mapping[str, Any]) -> Mapping[str, Any]:
            start = time.perf_counter()
            output = steering.answer(event)
            handling.append(1000 * (time.perf_counter() - start))
            return output

        with hook_server(answer) as server:
            _run(["--settings", KINDS[kind](server)], Path(name), {**variables, TOKEN: server.token})
        return gaps()


def _run(options: list[str], folder: Path, variables: Mapping[str, str]) -> None:
    command = [bundled_cli(), *ARGUMENTS, *options]
    subprocess.run(command, input="go", text=True, cwd=folder, env=variables, capture_output=True, timeout=300, check=True)


def _command_hooks(command: str, events: tuple[str, ...]) -> str:
    hook = {"hooks": [{"type": "command", "command": command}]}
    return json.dumps({"hooks": {name: [hook] for name in events}})


def _with_post_tool_use(hook_settings: str) -> str:
    hooks = json.loads(hook_settings)["hooks"]
    return json.dumps({"hooks": {**hooks, "PostToolUse": hooks["PreToolUse"]}})


def _ignore(_: object) -> None:
    """Ignore a report."""


def _no_text(_: str) -> str:
    return ""


if __name__ == "__main__":
    main()
