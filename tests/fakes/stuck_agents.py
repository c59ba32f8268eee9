"""Agents that are stuck within one iteration, each in another way, until they get guidance; then they do the work.

Their model is scripted, the command line is real. Guidance is what it receives besides tool results.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from deployments.demo_model import Request, Script, Turn, bash, call, edit, read, say, write
from tests.fakes.repositories import make_repository

GOAL = "Add double(n) to app.py."
CHECK = f"{sys.executable} -B check.py"
MOST = 30
"""Turns after which an agent without guidance gives up."""
WRONG = "def double(n):\n    return n\n"
WORSE = "def double(n):\n    return n + 1\n"
RIGHT = "def double(n):\n    return 2 * n\n"
CHECKS = "from app import double\n\nassert double(2) == 4, 'double(2) is not 4'\nassert double(0) == 0\n"
GUIDANCE = ("hook additional context", "hook error: ")
"""How the command line passes on a hook's message."""
WINDOW = 100_000

Move = Callable[[int], Turn]
"""What it does in its nth turn, while it spins."""


@dataclass(frozen=True)
class StuckAgent:
    name: str
    move: Move
    rule: str
    """The guardrail that should fire first; empty: the stop hook."""
    most: int
    """Tool calls that it may waste until then."""
    settings: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict[str, str])


def _comments(number: int) -> Turn:
    """Change a comment, then run the check again."""
    if number % 2:
        return call(bash(CHECK))
    change = edit("app.py", f"# try {number}\n", f"# try {number + 2}\n")
    return call(change) if number else call(read("app.py"), change)


def _turns(number: int) -> Turn:
    """Alternate between two approaches."""
    if number % 2:
        return call(bash(CHECK))
    change = edit("app.py", *((WRONG, WORSE) if number % 4 == 0 else (WORSE, WRONG)))
    return call(change) if number else call(read("app.py"), change)


STUCK_AGENTS = (
    StuckAgent("runs the same command again and again", lambda _: call(bash(CHECK)), "repeated", 3),
    StuckAgent("tries one failing command after the other", lambda n: call(bash(f"{CHECK} && echo {n}")), "failures", 5),
    StuckAgent("changes what does not matter", _comments, "same_failure", 12, files={"app.py": "# try 0\n"}),
    StuckAgent("takes two approaches in turns", _turns, "reverted", 9, files={"app.py": WRONG}),
    StuckAgent(
        "edits text that is not there",
        lambda n: call(bash(f"head -{n + 1} app.py") if n % 2 == 0 else edit("app.py", f"return {n}0", "return 2 * n")),
        "failures",
        11,
    ),
    StuckAgent("looks for files that are not there", lambda n: call(read(f"part{n}.py")), "failures", 5),
    StuckAgent("asks for the state of things", lambda _: call(bash("git status --short")), "repeated_look", 4),
    StuckAgent("writes outside of the worktree", lambda n: call(write(f"/proc/helmsman-never-{n}/app.py", RIGHT)), "outside", 1),
    StuckAgent("stops early", lambda _: say("Everything works.\n<promise>COMPLETE</promise>"), "", 0, files={"app.py": WRONG}),
    StuckAgent(
        "fills its context",
        lambda n: Turn(tools=(bash(f"cat app.py | head -{n + 1}"),), usage={"input_tokens": 10_000 * (n + 1)}),
        "context",
        7,
        settings=(f"context.window={WINDOW}",),
    ),
)


def repository(folder: Path, agent: StuckAgent) -> Path:
    """A repository whose check fails."""
    return make_repository(folder, {"app.py": "# double is missing\n", "check.py": CHECKS, **agent.files})


def script(agent: StuckAgent) -> Script:
    """Stay stuck until guidance comes, then do the work; give up after MOST turns."""

    def answer(request: Request) -> Turn:
        if has_guidance(request):
            return _cure(request)
        return agent.move(request.turn) if request.turn < MOST else say("I give up.")

    return answer


def _cure(request: Request) -> Turn:
    done = f'"name": "Write", "input": {{"file_path": "app.py", "content": {json.dumps(RIGHT)}'
    if done in json.dumps(request.body["messages"]):
        return say("double(n) is there.\n<promise>COMPLETE</promise>")
    return call(read("app.py"), write("app.py", RIGHT))


def has_guidance(request: Request) -> bool:
    """Whether the model has received anything besides tool results."""
    told = json.dumps([message for message in request.body["messages"][1:] if message["role"] != "assistant"])
    return any(sign in told for sign in GUIDANCE)


def cost_until_guidance(requests: list[Request]) -> tuple[int, int]:
    """Model responses and tool calls in the first session until guidance, or its end."""
    session = [request for request in requests if request.call == 0]
    first = next((number for number, request in enumerate(session) if has_guidance(request)), len(session))
    asked = session[min(first, len(session) - 1)].body["messages"]
    return first, sum(_tool_calls(message) for message in asked if message["role"] == "assistant")


def _tool_calls(message: dict[str, object]) -> int:
    content = message["content"]
    return json.dumps(content).count('"type": "tool_use"') if isinstance(content, list) else 0
