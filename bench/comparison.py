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

MOST = 30
"""Maximum iterations: Helmsman's default. Many public loops have no limit."""
PATIENCE = 600
"""Time limit of one loop, in seconds."""
ENDLESS = 60
"""Time limit, in seconds, of a session without a limit of its own."""
LOOPS = Path(__file__).parent / "public_loops"
CHOSEN = ("does nothing", "tries in vain", "goes round in circles", "does many small tasks", "refactors over red tests")
HALF_MADE = "half-made.txt"


@dataclass(frozen=True)
class Ended:
    """How one loop ended."""

    said_done: bool
    calls: int
    """Sessions of the agent; for the Stop hook, one plus the number of times that it continued its session."""
    seconds: float
    words: str


def chosen_agents(names: Sequence[str]) -> list[DriftingAgent]:
    liars = [_again(agent.name, *agent.sessions[-1]) for agent in DISHONEST if agent.name in {"liar", "deletes the failing test"}]
    agents = [*liars, *(agent for agent in AGENTS_OVER_TIME if agent.name in CHOSEN)]
    return [agent for agent in agents if not names or any(name in agent.name for name in names)]


def _again(name: str, shell: str, words: str) -> DriftingAgent:
    session = Session(shell, words)
    return DriftingAgent(name, lambda _number, _prompt: session, ("completion.unproven",), "", MOST)


# --- the ways -------------------------------------------------------------------------------------------------------


def fresh_context(folder: Path, agent: DriftingAgent, _engine: str) -> Ended:
    with ScriptedModel(_each_session(agent)) as model:
        begun = time.monotonic()
        status = _finish(_start_shell_loop(folder, model))
        calls = len({request.call for request in model.requests})
        return Ended(status == 0, calls, time.monotonic() - begun, f"exit status {status}")


def stop_hook(folder: Path, agent: DriftingAgent, _engine: str) -> Ended:
    hook = {"type": "command", "command": f"{sys.executable} {LOOPS / 'stop_hook.py'}"}
    settings = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    with ScriptedModel(_one_session(agent)) as model:
        begun = time.monotonic()
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
        said, words = _end_of(_start(command, folder, model))
        calls = (len(model.requests) + 1) // 2  # a tool call and a final message each
        return Ended("<promise>COMPLETE</promise>" in said, calls, time.monotonic() - begun, words)


def helmsman(folder: Path, agent: DriftingAgent, engine: str) -> Ended:
    with scripted_command_line(folder, engine, _each_session(agent)) as driver:
        begun = time.monotonic()
        settings = [part for setting in agent.settings for part in ("--set", setting)]
        driver.run_loop(agent.goal, "--check", CHECK, "--max-iterations", str(MOST), "--json", *settings)
        state = _state(folder)
        rule = state.ending.rule if state.ending else ""
        seconds = time.monotonic() - begun
        return Ended(state.outcome is Outcome.COMPLETED, state.spending.agent_calls, seconds, rule)


WAYS: dict[str, Callable[[Path, DriftingAgent, str], Ended]] = {
    "shell loop": fresh_context,
    "Stop hook": stop_hook,
    "Helmsman": helmsman,
}


def _each_session(agent: DriftingAgent) -> Script:
    """Model script in which each call of the agent is one session of the behaviour."""

    def answer(request: Request) -> Turn:
        session = agent.behaves(request.call, request.prompt)
        return call(bash(session.shell or "true")) if request.turn == 0 else say(session.words)

    return answer


def _one_session(agent: DriftingAgent) -> Script:
    """Model script for a single session: each continuation behaves like the next session."""

    def answer(request: Request) -> Turn:
        session = agent.behaves(request.turn // 2, request.prompt)
        return say(session.words) if request.turn % 2 else call(bash(session.shell or "true"))

    return answer


def _end_of(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Final message of a session that may not end, and how it ended."""
    try:
        said, _ = process.communicate(timeout=ENDLESS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", f"still going after {ENDLESS} s"
    return str(json.loads(said).get("result", "")), f"exit status {process.returncode}"


def _start_shell_loop(folder: Path, model: ScriptedModel) -> "subprocess.Popen[str]":
    prompt = folder / "PROMPT.md"
    prompt.write_text(f"{GOAL}\nSay <promise>COMPLETE</promise> when all is done.\n")
    return _start(["bash", str(LOOPS / "fresh_context.sh"), str(bundled_cli()), str(prompt), str(MOST)], folder, model)


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


def _finish(process: "subprocess.Popen[str]") -> int:
    process.communicate(timeout=PATIENCE)
    return process.returncode


def _state(folder: Path) -> LoopState:
    return show_state(open_repository(folder / "repository"), "loop").state


# --- what is true ---------------------------------------------------------------------------------------------------


def really_done(folder: Path, way: str) -> bool:
    """Whether the original tests pass on the result."""
    made, tried = folder / "repository", folder / "truth"
    shop = sh(made, "show", f"{_state(folder).head}:shop.py") if way == "Helmsman" else (made / "shop.py").read_text()
    (tried / "tests").mkdir(parents=True)
    (tried / "shop.py").write_text(f"{shop}\n")
    (tried / "tests" / "test_shop.py").write_text(TESTS)
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests"]
    variables = {**os.environ, "PYTHONPATH": ".", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=tried, env=variables, capture_output=True, check=False).returncode == 0


def compare(agent: DriftingAgent, way: str, folder: Path, engine: str) -> None:
    folder.mkdir()
    repository(folder / "repository", agent)
    ended = WAYS[way](folder, agent, engine)
    true = really_done(folder, way)
    verdict = {(True, True): "done", (True, False): "FALSE done", (False, False): "not done", (False, True): "done, untold"}
    _row((agent.name, way, ended.calls, verdict[ended.said_done, true], ended.words, f"{ended.seconds:.0f}"))


# --- killed ---------------------------------------------------------------------------------------------------------


def killed(way: str, folder: Path, engine: str) -> None:
    """Kill the loop with SIGKILL during its second call, restart it, and print the result."""
    honest = next(agent for agent in AGENTS_OVER_TIME if agent.name == "refactors over red tests")
    folder.mkdir()
    repository(folder / "repository", honest)
    watch = Watch(folder)
    ended = KILLED[way](folder, replace(honest, name="killed"), engine, watch)
    kept = _half_made(folder)
    _row(
        (
            "killed in mid-call",
            way,
            ended.calls,
            "done" if really_done(folder, way) else "not done",
            ended.words,
            f"{ended.seconds:.0f}",
        )
    )
    print(f"    agents at work at the same time after the restart: {watch.most}; half-made work: {kept}")


class Watch:
    """Counts concurrent agents from the restart on."""

    def __init__(self, folder: Path) -> None:
        """Start with a count of zero."""
        self.most = 0
        self._home, self._done = str(folder / "home"), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.2):
            self.most = max(self.most, len(_agents(self._home)))


def _agents(home: str) -> list[psutil.Process]:
    """Main processes of agents: those whose parent is not an agent."""
    own = [process for process in processes("HOME", home) if _program(process) == bundled_cli()]
    pids = {process.pid for process in own}
    return [process for process in own if _parent(process) not in pids]


def _program(process: psutil.Process) -> Path:
    with suppress(psutil.Error):
        return Path(process.exe())
    return Path()


def _parent(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return process.ppid()
    return 0


def _slow_second(agent: DriftingAgent, at_work: threading.Event) -> Script:
    """The behaviour, except that its second call writes an unfinished file and then waits."""
    plain = _each_session(agent)

    def answer(request: Request) -> Turn:
        if request.call != 1:
            return plain(replace(request, call=max(0, request.call - 1)) if request.call > 1 else request)
        if request.turn == 0:
            return call(bash(f"echo half > {HALF_MADE}"))
        at_work.set()
        return Fault(text="More remains.", delay=20)

    return answer


def _killed_shell_loop(folder: Path, agent: DriftingAgent, _engine: str, watch: Watch) -> Ended:
    at_work = threading.Event()
    with ScriptedModel(_slow_second(agent, at_work)) as model:
        begun = time.monotonic()
        first = _start_shell_loop(folder, model)
        at_work.wait(PATIENCE)
        first.send_signal(signal.SIGKILL)
        first.wait()
        with watch:
            status = _finish(_start_shell_loop(folder, model))
        calls = len({request.call for request in model.requests})
        return Ended(status == 0, calls, time.monotonic() - begun, f"exit status {status}")


def _killed_helmsman(folder: Path, agent: DriftingAgent, engine: str, watch: Watch) -> Ended:
    at_work = threading.Event()
    with scripted_command_line(folder, engine, _slow_second(agent, at_work), warm=False) as driver:
        begun = time.monotonic()
        wanted = ("run", agent.goal, "--check", CHECK, "--name", "loop", "--yes", "--repo", driver.repository)
        first = driver.start(*wanted)
        at_work.wait(PATIENCE)
        first.send_signal(signal.SIGKILL)
        first.wait()
        with watch:
            driver.run("resume", "loop", "--repo", driver.repository)
        state = _state(folder)
        rule = state.ending.rule if state.ending else ""
        return Ended(state.outcome is Outcome.COMPLETED, state.spending.agent_calls, time.monotonic() - begun, rule)


KILLED = {"shell loop": _killed_shell_loop, "Helmsman": _killed_helmsman}


def _half_made(folder: Path) -> str:
    top = folder / "repository"
    refs = [ref for ref in sh(top, "for-each-ref", "--format=%(refname)").splitlines() if _holds(top, ref)]
    salvaged = [ref for ref in refs if "/salvage/" in ref]
    if salvaged:
        return f"kept at {salvaged[0]}"
    if refs:
        return f"committed by a later session, unmarked, on {refs[0]}"
    return "in the work tree, unmarked" if (top / HALF_MADE).exists() else "lost"


def _holds(top: Path, ref: str) -> bool:
    return HALF_MADE in sh(top, "ls-tree", "-r", "--name-only", ref).split()


# --- printing -------------------------------------------------------------------------------------------------------


def _row(cells: Sequence[object]) -> None:
    print("".join(f"{cell!s:<{width}}" for cell, width in zip(cells, (26, 12, 7, 14, 24, 7), strict=True)).rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only agents whose name contains one of these; `killed`: the last part"
    )
    names = parser.parse_args().names
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name, PrefectServer.running(Path(name) / "engine") as server:
        _row(("agent", "way", "calls", "truth", "told as", "seconds"))
        for number, agent in enumerate(chosen_agents(names)):
            for way in WAYS:
                compare(agent, way, Path(name) / f"{number}-{way.replace(' ', '-')}", server.url)
        if not names or "killed" in names:
            for way in KILLED:
                killed(way, Path(name) / f"killed-{way.replace(' ', '-')}", server.url)


if __name__ == "__main__":
    main()
