"""Measure the tokens that Helmsman adds to an agent's requests: loops of several kinds through the real command line.

    python -m bench.tokens [NAME …]

Only the model is scripted. Prints for each loop: the tokens added in the iteration with the most of them, beyond the goal, the
checks and quoted text of the repository (system text, own text of the message, texts of the stop hook); their growth from the
first to the last iteration; and the share of a request that equals the beginning of the previous one, block by block, which the
provider's cache serves. A missed target is marked with !. At the end: tokens for each failure of a check with many failures, and
the fixed texts of public loops for comparison.
"""

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import mean
from typing import Any

from bench.common import set_options
from deployments.demo_model import Request, Script, Turn, bash, call, say
from helmsman.tokens import tokens
from tests.fakes import drifting_agents, pathologies
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

STEPS = 12
"""Iterations of the growing loop."""
SYSTEM_START = "You are working unattended in a loop"
"""Beginning of Helmsman's system text."""
TASK_PARTS = re.compile(r"<(goal|checks|criteria|picture-of-the-finished-work)>.*?</\1>\n*", re.DOTALL)
QUOTATIONS = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$\n?", re.DOTALL | re.MULTILINE)
PUBLIC_LOOPS_FOLDER = Path(__file__).parent / "public_loops"
PUBLIC_LOOPS = "fixed texts of comparable loops: 933 to 2,700"
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -B -m pytest -q -p no:cacheprovider"
MAX_ADDED, MAX_GROWTH, MIN_IDENTICAL = 900, 0.15, 0.75
"""Targets; the one for growth applies to loops of STEPS iterations."""
FAILURES = 10
"""Failures of the check with many failures."""


@dataclass(frozen=True)
class Scenario:
    """A loop of one kind: its repository, its goal, and the model's answers."""

    name: str
    prepare: Callable[[Path], object]
    """Creates the repository in a folder."""
    goal: str
    script: Script
    options: Sequence[str] = ()


@dataclass(frozen=True)
class Iteration:
    """Tokens of Helmsman's texts in one session, and the blocks of its first request."""

    system: int
    message: int
    stop_hook: int
    full_message: int
    """The message with goal, checks and quoted text."""
    blocks: tuple[str, ...]
    text: str

    @property
    def added(self) -> int:
        return self.system + self.message + self.stop_hook


def blocks_of(body: dict[str, Any]) -> tuple[str, ...]:
    """Parts of a request in the provider's caching order: tools, system, messages."""
    tools = [json.dumps(tool, sort_keys=True) for tool in body.get("tools", ())]
    messages = [block for message in body["messages"] for block in texts_of(message["content"])]
    return (*tools, *texts_of(body.get("system", "")), *messages)


def texts_of(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block.get("text", "") if block.get("type") == "text" else json.dumps(block, sort_keys=True) for block in content]


def read_session(requests: Sequence[Request]) -> Iteration:
    """One session, from its requests in order."""
    first, last = requests[0], requests[-1]
    system = next((text[text.index(SYSTEM_START) :] for text in texts_of(first.body["system"]) if SYSTEM_START in text), "")
    message = first.prompt[first.prompt.index("<goal>") :]
    own_text = QUOTATIONS.sub("", TASK_PARTS.sub("", message))
    replies = last.body["messages"][len(first.body["messages"]) :]
    stop_texts = [
        text for reply in replies if reply["role"] == "user" for text in texts_of(reply["content"]) if not text.startswith('{"')
    ]
    return Iteration(
        tokens(system),
        tokens(own_text),
        sum(map(tokens, stop_texts)),
        tokens(message),
        blocks_of(first.body),
        f"{system}\n{message}",
    )


def run_scenario(scenario: Scenario, folder: Path, api_url: str) -> list[Iteration]:
    """Sessions of one loop, in order."""
    folder.mkdir()
    scenario.prepare(folder / "repository")
    with scripted_command_line(folder, api_url, scenario.script) as helmsman:
        helmsman.run_loop(scenario.goal, *scenario.options)
        sessions: dict[int, list[Request]] = {}
        for request in helmsman.model.requests:
            if SYSTEM_START in json.dumps(request.body.get("system", "")):
                sessions.setdefault(request.call, []).append(request)
    return [read_session(sessions[number]) for number in sorted(sessions)]


def identical_share(before: Sequence[str], after: Sequence[str]) -> float:
    """Share of a request, by characters, whose leading blocks equal those of the previous one."""
    identical = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    return sum(len(text) for text, _ in identical) / sum(map(len, after))


def step_by_step() -> Scenario:
    """Each iteration fixes one failing test, until all pass."""
    tests = "import numbers_of\n\n" + "".join(
        f"\ndef test_number_{n}():\n    assert numbers_of.number_{n}() == {n}\n\n" for n in range(STEPS)
    )

    def script(request: Request) -> Turn:
        is_last = request.call == STEPS - 1
        append = f"printf 'def number_{request.call}():\\n    return {request.call}\\n\\n\\n' >> numbers_of.py"
        note = f"mkdir -p .helmsman; echo '- number_{request.call} is there; next is the following one' >> .helmsman/progress.md"
        turns = (
            call(bash(f"{append}; {note}; git add numbers_of.py; git commit -qm 'Add number {request.call}'")),
            say("All numbers are there.\n<promise>COMPLETE</promise>" if is_last else "CONTINUE: one more number is there."),
        )
        return turns[min(request.turn, 1)]

    prepare = partial(make_repository, files={"numbers_of.py": "", "test_numbers.py": tests})
    options = ("--check", PYTEST, "--max-iterations", str(STEPS + 1))
    return Scenario("step by step", prepare, "numbers_of.py does what its tests say.", script, options)


def item_by_item() -> Scenario:
    """A plan of three items, each with its own check."""
    items = "".join(f'[[item]]\nid = "T00{n}"\ntitle = "Write {n}.txt"\ncheck = "test -e {n}.txt"\n\n' for n in (1, 2, 3))

    def script(request: Request) -> Turn:
        name = f"{request.call + 1}.txt"
        turns = (call(bash(f"echo > {name}; git add {name}; git commit -qm 'Add {name}'")), say(f"CONTINUE: {name} is there."))
        return turns[min(request.turn, 1)]

    prepare = partial(make_repository, files={"plan.toml": items})
    options = ("--check", "test -e 3.txt", "--max-iterations", "4", "--set", "plan.file=plan.toml")
    return Scenario("item by item of a plan", prepare, "The three files are there.", script, options)


def pathology(agent: pathologies.Agent) -> Scenario:
    options = set_options(agent.settings)
    common = ("--check", pathologies.CHECK, "--max-iterations", "3")
    prepare = partial(pathologies.repository, agent=agent)
    return Scenario(agent.name, prepare, pathologies.GOAL, pathologies.script(agent), (*common, *options))


def drifting(agent: drifting_agents.DriftingAgent) -> Scenario:
    options = ("--check", drifting_agents.CHECK, "--max-iterations", str(STEPS))
    prepare = partial(drifting_agents.repository, agent=agent)
    return Scenario(agent.name, prepare, agent.goal, drifting_agents.script(agent), options)


def format_row(scenario: Scenario, sessions: Sequence[Iteration]) -> str:
    """Table row of one loop."""
    growth = sessions[-1].added / sessions[0].added - 1
    shares = [identical_share(before.blocks, after.blocks) for before, after in pairwise(sessions)]
    largest, identical = max(sessions, key=lambda session: session.added), mean(shares) if shares else 1
    added_cell = _mark_missed(f"{largest.added}", missed=largest.added > MAX_ADDED)
    growth_cell = _mark_missed(f"{growth:+.0%}", missed=growth > MAX_GROWTH and len(sessions) >= STEPS)
    identical_cell = _mark_missed(f"{identical:.1%}", missed=identical < MIN_IDENTICAL)
    cells = f"{largest.system:7} {largest.message:8} {largest.stop_hook:6} {added_cell:>6} {growth_cell:>8} {identical_cell:>10}"
    return f"{scenario.name[:40]:40} {len(sessions):4} {cells} {max(session.full_message for session in sessions):8}"


def _mark_missed(number: str, *, missed: bool) -> str:
    return f"!{number}" if missed else number


def many_failures() -> Scenario:
    """A check with a number of distinct failures, each with the output of a long assertion."""
    tests = "".join(f"def test_{n}():\n    assert list(range({n + 30})) == [{n}] * {n + 30}\n\n\n" for n in range(FAILURES))
    prepare = partial(make_repository, files={"test_it.py": tests})
    options = ("--check", PYTEST, "--max-iterations", "2")
    return Scenario("fails in many ways", prepare, "The tests pass.", lambda _: say("CONTINUE: I looked."), options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    scenarios = [
        step_by_step(),
        item_by_item(),
        *map(pathology, pathologies.AGENTS),
        *map(drifting, drifting_agents.AGENTS_OVER_TIME),
    ]
    selected = [scenario for scenario in scenarios if scenario.name in names] or scenarios
    print(f"targets: added at most {MAX_ADDED}, growth {MAX_GROWTH:.0%}, identical {MIN_IDENTICAL:.0%} or more")
    print(f"{'loop':40} iter  system  message  stops  added   growth  identical  message+")
    with tempfile.TemporaryDirectory(prefix="helmsman-tokens-") as scratch:
        folder = Path(scratch)
        with PrefectServer.running(folder / "engine") as server:
            for number, scenario in enumerate(selected):
                if sessions := run_scenario(scenario, folder / str(number), server.url):
                    print(format_row(scenario, sessions), flush=True)
            sessions = run_scenario(many_failures(), folder / "many", server.url)
    checks = sessions[-1].text.partition("# Checks")[2].partition("\n\n# ")[0]
    print(f"\ntokens for each of {FAILURES} failures: {tokens(checks) / FAILURES:.0f}")
    print(PUBLIC_LOOPS)
    for file in sorted(PUBLIC_LOOPS_FOLDER.glob("*.*")):
        print(f"bench/public_loops/{file.name}: {tokens(file.read_text(encoding='utf-8')):,} tokens of script and text")


if __name__ == "__main__":
    main()
