"""Compare Helmsman with the two common kinds of public loops, with the same agents and the same engine.

    python -m bench.comparison [NAME …]

The public loops are in bench/public_loops: a shell loop with fresh sessions, and a Stop hook in one session. Both wait for the
agent's promise of completion. The agents are the real Claude Code CLI with a scripted model that behaves the same in every
session. Prints for each agent and loop: responses of the model ("calls"), how the loop ended, whether its claim is true (the
original tests pass on the result), and seconds. At the end, each loop is killed during its second call and restarted; prints the
number of concurrent agents after the restart, and where the unfinished work is.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import psutil

from bench.common import SCRATCH, print_row, set_options
from deployments.demo_model import Request, Script, ScriptedModel, Turn, bash, call, environment, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.state_ref import show_state
from tests.fakes.claude_cli import bundled_cli
from tests.fakes.command_line import scripted_command_line
from tests.fakes.drifting_agents import AGENTS_OVER_TIME, CHECK, GOAL, TESTS, DriftingAgent, Session, repository
from tests.fakes.faults import Fault
from tests.fakes.pathologies import DISHONEST
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import processes
from tests.fakes.repositories import sh

MAX_ITERATIONS = 30
"""Maximum iterations: Helmsman's default. Many public loops have no limit."""
PATIENCE = 600
"""Time limit of one loop, in seconds."""
SESSION_SECONDS = 60
"""Time limit, in seconds, of a session without a limit of its own."""
PUBLIC_LOOPS = Path(__file__).parent / "public_loops"
DRIFTING = ("does nothing", "tries in vain", "goes round in circles", "does many small tasks", "refactors over red tests")
UNFINISHED = "unfinished.txt"
WIDTHS = (25, 11, 6, 13, 23, 7)


@dataclass(frozen=True)
class LoopEnd:
    """How one loop ended."""

    claims_done: bool
    calls: int
    """Sessions of the agent; for the Stop hook, one plus the number of times that it continued its session."""
    seconds: float
    ending: str


def chosen_agents(names: Sequence[str]) -> list[DriftingAgent]:
    dishonest = (agent for agent in DISHONEST if agent.name in {"liar", "deletes the failing test"})
    liars = [_same_session(agent.name, *agent.sessions[-1]) for agent in dishonest]
    agents = [*liars, *(agent for agent in AGENTS_OVER_TIME if agent.name in DRIFTING)]
    return [agent for agent in agents if not names or any(name in agent.name for name in names)]


def _same_session(name: str, shell: str, words: str) -> DriftingAgent:
    session = Session(shell, words)
    return DriftingAgent(name, lambda _number, _prompt: session, ("completion.unproven",), "", MAX_ITERATIONS)


# --- the loops -------------------------------------------------------------------------------------------------------


def fresh_context(folder: Path, agent: DriftingAgent, _engine: str) -> LoopEnd:
    with ScriptedModel(_script_per_session(agent)) as model:
        start = time.monotonic()
        status = _wait(_start_shell_loop(folder, model))
        calls = len({request.call for request in model.requests})
        return LoopEnd(status == 0, calls, time.monotonic() - start, f"exit status {status}")


def stop_hook(folder: Path, agent: DriftingAgent, _engine: str) -> LoopEnd:
    hook = {"type": "command", "command": f"{sys.executable} {PUBLIC_LOOPS / 'stop_hook.py'}"}
    settings = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    with ScriptedModel(_script_of_one_session(agent)) as model:
        start = time.monotonic()
        command = [
            str(bundled_cli()),
            "-p",
            GOAL,
            "--dangerously-skip-permissions",
            "--settings",
            settings,
            "--output-format",
            "json",
        ]
        message, ending = _wait_for_session(_start(command, folder, model))
        calls = (len(model.requests) + 1) // 2  # a tool call and a final message each
        return LoopEnd("<promise>COMPLETE</promise>" in message, calls, time.monotonic() - start, ending)


def helmsman(folder: Path, agent: DriftingAgent, engine: str) -> LoopEnd:
    with scripted_command_line(folder, engine, _script_per_session(agent)) as driver:
        start = time.monotonic()
        settings = set_options(agent.settings)
        driver.run_loop(agent.goal, "--check", CHECK, "--max-iterations", str(MAX_ITERATIONS), "--json", *settings)
        state = _state(folder)
        rule = state.ending.rule if state.ending else ""
        seconds = time.monotonic() - start
        return LoopEnd(state.outcome is Outcome.COMPLETED, state.spending.agent_calls, seconds, rule)


LOOPS: dict[str, Callable[[Path, DriftingAgent, str], LoopEnd]] = {
    "shell loop": fresh_context,
    "Stop hook": stop_hook,
    "Helmsman": helmsman,
}


def _script_per_session(agent: DriftingAgent) -> Script:
    """Model script in which each call of the agent is one session of the behaviour."""

    def answer(request: Request) -> Turn:
        session = agent.behaves(request.call, request.prompt)
        return call(bash(session.shell or "true")) if request.turn == 0 else say(session.words)

    return answer


def _script_of_one_session(agent: DriftingAgent) -> Script:
    """Model script for a single session: each continuation behaves like the next session."""

    def answer(request: Request) -> Turn:
        session = agent.behaves(request.turn // 2, request.prompt)
        return say(session.words) if request.turn % 2 else call(bash(session.shell or "true"))

    return answer


def _wait_for_session(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Final message of a session that may not end, and how it ended."""
    try:
        output, _ = process.communicate(timeout=SESSION_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", f"still running after {SESSION_SECONDS} s"
    return str(json.loads(output).get("result", "")), f"exit status {process.returncode}"


def _start_shell_loop(folder: Path, model: ScriptedModel) -> "subprocess.Popen[str]":
    prompt = folder / "PROMPT.md"
    prompt.write_text(f"{GOAL}\nSay <promise>COMPLETE</promise> when all is done.\n")
    return _start(
        ["bash", str(PUBLIC_LOOPS / "fresh_context.sh"), str(bundled_cli()), str(prompt), str(MAX_ITERATIONS)], folder, model
    )


def _start(command: Sequence[str], folder: Path, model: ScriptedModel) -> "subprocess.Popen[str]":
    (folder / "home").mkdir(exist_ok=True)
    variables = {"PATH": os.environ["PATH"], **environment(model.url, folder / "home")}
    return subprocess.Popen(
        command,
        cwd=folder / "repository",
        env=variables,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _wait(process: "subprocess.Popen[str]") -> int:
    process.communicate(timeout=PATIENCE)
    return process.returncode


def _state(folder: Path) -> LoopState:
    return show_state(open_repository(folder / "repository"), "loop").state


# --- true results ---------------------------------------------------------------------------------------------------


def is_done(folder: Path, loop: str) -> bool:
    """Whether the original tests pass on the result."""
    result, checkout = folder / "repository", folder / "truth"
    source = sh(result, "show", f"{_state(folder).head}:shop.py") if loop == "Helmsman" else (result / "shop.py").read_text()
    (checkout / "tests").mkdir(parents=True)
    (checkout / "shop.py").write_text(f"{source}\n")
    (checkout / "tests" / "test_shop.py").write_text(TESTS)
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests"]
    variables = {**os.environ, "PYTHONPATH": ".", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=checkout, env=variables, capture_output=True, check=False).returncode == 0


def compare(agent: DriftingAgent, loop: str, folder: Path, engine: str) -> None:
    folder.mkdir()
    repository(folder / "repository", agent)
    end = LOOPS[loop](folder, agent, engine)
    is_true = is_done(folder, loop)
    verdicts = {(True, True): "done", (True, False): "FALSE done", (False, False): "not done", (False, True): "done, no claim"}
    print_row((agent.name, loop, end.calls, verdicts[end.claims_done, is_true], end.ending, f"{end.seconds:.0f}"), WIDTHS)


# --- killed loops ---------------------------------------------------------------------------------------------------------


def print_killed(loop: str, folder: Path, engine: str) -> None:
    """Kill the loop with SIGKILL during its second call, restart it, and print the result."""
    agent = next(agent for agent in AGENTS_OVER_TIME if agent.name == "refactors over red tests")
    folder.mkdir()
    repository(folder / "repository", agent)
    monitor = ConcurrencyMonitor(folder)
    end = KILLED_LOOPS[loop](folder, replace(agent, name="killed"), engine, monitor)
    location = _locate_unfinished(folder)
    result = "done" if is_done(folder, loop) else "not done"
    print_row(("killed during a call", loop, end.calls, result, end.ending, f"{end.seconds:.0f}"), WIDTHS)
    print(f"    concurrent agents after the restart: {monitor.max_agents}; unfinished work: {location}")


class ConcurrencyMonitor:
    """Counts concurrent agents from the restart on."""

    def __init__(self, folder: Path) -> None:
        """Start with a count of zero."""
        self.max_agents = 0
        self._home, self._stopped = str(folder / "home"), threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._stopped.wait(0.2):
            self.max_agents = max(self.max_agents, len(_agents(self._home)))


def _agents(home: str) -> list[psutil.Process]:
    """Main processes of agents: those whose parent is not an agent."""
    agents = [process for process in processes("HOME", home) if _program(process) == bundled_cli()]
    pids = {process.pid for process in agents}
    return [process for process in agents if _parent(process) not in pids]


def _program(process: psutil.Process) -> Path:
    with suppress(psutil.Error):
        return Path(process.exe())
    return Path()


def _parent(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return process.ppid()
    return 0


def _hang_in_second_call(agent: DriftingAgent, is_hanging: threading.Event) -> Script:
    """The behaviour, except that its second call writes an unfinished file and then waits."""
    usual = _script_per_session(agent)

    def answer(request: Request) -> Turn:
        if request.call != 1:
            return usual(replace(request, call=max(0, request.call - 1)) if request.call > 1 else request)
        if request.turn == 0:
            return call(bash(f"echo unfinished > {UNFINISHED}"))
        is_hanging.set()
        return Fault(text="More remains.", delay=20)

    return answer


def _killed_shell_loop(folder: Path, agent: DriftingAgent, _engine: str, monitor: ConcurrencyMonitor) -> LoopEnd:
    is_hanging = threading.Event()
    with ScriptedModel(_hang_in_second_call(agent, is_hanging)) as model:
        start = time.monotonic()
        first = _start_shell_loop(folder, model)
        is_hanging.wait(PATIENCE)
        first.send_signal(signal.SIGKILL)
        first.wait()
        with monitor:
            status = _wait(_start_shell_loop(folder, model))
        calls = len({request.call for request in model.requests})
        return LoopEnd(status == 0, calls, time.monotonic() - start, f"exit status {status}")


def _killed_helmsman(folder: Path, agent: DriftingAgent, engine: str, monitor: ConcurrencyMonitor) -> LoopEnd:
    is_hanging = threading.Event()
    with scripted_command_line(folder, engine, _hang_in_second_call(agent, is_hanging), warm=False) as driver:
        start = time.monotonic()
        arguments = ("run", agent.goal, "--check", CHECK, "--name", "loop", "--yes", "--repo", driver.repository)
        first = driver.start(*arguments)
        is_hanging.wait(PATIENCE)
        first.send_signal(signal.SIGKILL)
        first.wait()
        with monitor:
            driver.run("resume", "loop", "--repo", driver.repository)
        state = _state(folder)
        rule = state.ending.rule if state.ending else ""
        return LoopEnd(state.outcome is Outcome.COMPLETED, state.spending.agent_calls, time.monotonic() - start, rule)


KILLED_LOOPS = {"shell loop": _killed_shell_loop, "Helmsman": _killed_helmsman}


def _locate_unfinished(folder: Path) -> str:
    top = folder / "repository"
    refs = [ref for ref in sh(top, "for-each-ref", "--format=%(refname)").splitlines() if _contains_unfinished(top, ref)]
    salvaged = [ref for ref in refs if "/salvage/" in ref]
    if salvaged:
        return f"saved at {salvaged[0]}"
    if refs:
        return f"committed by a later session, unmarked, on {refs[0]}"
    return "in the work tree, unmarked" if (top / UNFINISHED).exists() else "lost"


def _contains_unfinished(top: Path, ref: str) -> bool:
    return UNFINISHED in sh(top, "ls-tree", "-r", "--name-only", ref).split()


# --- command --------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only agents whose name contains one of these; `killed`: the last part"
    )
    names = parser.parse_args().names
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name, PrefectServer.running(Path(name) / "engine") as server:
        print_row(("agent", "loop", "calls", "result", "ended by", "seconds"), WIDTHS)
        for number, agent in enumerate(chosen_agents(names)):
            for loop in LOOPS:
                compare(agent, loop, Path(name) / f"{number}-{loop.replace(' ', '-')}", server.url)
        if not names or "killed" in names:
            for loop in KILLED_LOOPS:
                print_killed(loop, Path(name) / f"killed-{loop.replace(' ', '-')}", server.url)


if __name__ == "__main__":
    main()
