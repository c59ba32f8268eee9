"""Runs the commands of the tutorial in docs/ in an empty folder, with a scripted model for agent and judge."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deployments.demo_model import Request, Turn, bash, call, say
from tests.fakes.command_line import PATIENCE, ScriptedCommandLine, scripted_command_line
from tests.fakes.pathologies import PROMISE, keep, put, status
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually
from tests.fakes.terminal import Terminal

# --- the text ----------------------------------------------------------------------------------------------------

SHELL = "sh"
LEFT_OUT = "…"
"""A line that stands for lines left out of the shown output."""

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"^(?:>|.*\[Y/n\]) (.+)$", re.MULTILINE)
_VARYING = (
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"\b\d+\.\d+ ?s\b|\b\d+:\d\d:\d\d\b"), "DURATION"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\$\d+(?:\.\d+)?"), "DOLLARS"),
    (re.compile(r"\b[\d,]+ tokens\b"), "TOKENS"),
    (re.compile(r"(?<=\S) {2,}(?=\S)"), "  "),  # a column is as wide as its widest entry, which may be a duration
)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    start: int
    """Where its text begins in the document."""


@dataclass(frozen=True)
class Step:
    """A command and its shown output."""

    command: str
    shown: Block | None
    """None: it prints nothing."""

    @property
    def answers(self) -> list[str]:
        """What a person types while it runs: the text behind the prompts."""
        return _TYPED.findall(self.shown.text) if self.shown else []

    def is_true(self, printed: str) -> bool:
        return agree(self.shown.text if self.shown else "", printed)


def steps(document: str) -> list[Step]:
    """Pair each command block with the output block after it. Raises ValueError for output without a command."""
    found = [Block(block["language"], block["text"], block.start("text")) for block in _BLOCK.finditer(document)]
    every = [Block("", "", 0), *found, Block(SHELL, "", 0)]
    for before, block in pairwise(every):
        if SHELL not in {before.language, block.language}:
            raise ValueError(f"nothing is typed that could print: {block.text}")
    return [Step(one.text, None if after.language == SHELL else after) for one, after in pairwise(every) if one.language == SHELL]


def agree(shown: str, printed: str) -> bool:
    """Whether the shown output matches the printed one, except for varying values and lines left out."""
    parts = [""]
    for line in _steady(shown):
        parts += [""] if line == LEFT_OUT else [parts.pop() + re.escape(f"{line}\n")]
    return re.fullmatch(r"(?:[^\n]*\n)*?".join(parts), "".join(f"{line}\n" for line in _steady(printed))) is not None


def corrected(document: str, perform: Callable[[Step], str]) -> str:
    """The document with outdated output replaced by the current."""
    text, end = "", 0
    for step in steps(document):
        printed = perform(step)
        if step.shown and not step.is_true(printed):
            text += document[end : step.shown.start] + tidy(printed)
            end = step.shown.start + len(step.shown.text)
    return text + document[end:]


def tidy(printed: str) -> str:
    """Strip trailing blanks and surrounding blank lines."""
    lines = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
    return f"{lines}\n" if lines else ""


def _steady(text: str) -> Iterator[str]:
    """Lines with varying values replaced by names."""
    text = tidy(text)
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return iter(text.splitlines())


PAGES = tuple(Path(__file__).parents[2] / "docs" / name for name in ("tutorial.md", "tutorial-run.md"))
OF_A_TERMINAL = {"init", "align", "run"}
"""Commands whose output differs in a terminal."""
SIZE = 160, 50

# --- the model ----------------------------------------------------------------------------------------------------

ASKED = ("Who pays the cents that are left over?", "Shall a bill below zero, a refund, be split as well?")
AGREED: dict[str, Any] = {
    "deliverables": ["`split` returns shares that add up to the bill", "tests that show it"],
    "outOfScope": ["how a bill is entered or printed"],
    "approach": "Give everybody the whole part of the division, and hand the rest out cent by cent.",
    "sequence": [
        {"stage": "a test with cents left over", "artifact": "it fails"},
        {"stage": "hand them out", "artifact": "it passes"},
    ],
    "assumptions": ["Python 3.11, nothing but its standard library"],
    "machineChecks": ["python3 -m unittest discover -s tests"],
    "behaviouralChecks": ["`split(1000, 3)` is `[334, 333, 333]`"],
    "edgeCases": ["fewer cents than people", "one person", "nobody"],
    "capabilityGaps": [],
    "instructionGaps": [],
    "intentionalityGaps": [],
}
OFF_BY_SOME = '''\
def split(cents, people):
    """The share of each person, in cents."""
    share, rest = divmod(cents, people)
    return [share + 1] * rest + [share] * people
'''
TESTS = """\
import unittest

from bill import split


class SplitTest(unittest.TestCase):
    def test_an_even_bill_is_split_evenly(self):
        self.assertEqual(split(900, 3), [300, 300, 300])

    def test_the_first_ones_pay_a_cent_more(self):
        self.assertEqual(split(1000, 3), [334, 333, 333])

    def test_the_shares_of_any_bill_add_up_to_it(self):
        for cents in range(-50, 50):
            for people in range(1, 9):
                self.assertEqual(sum(split(cents, people)), cents)
                self.assertEqual(len(split(cents, people)), people)
"""
MENDED = OFF_BY_SOME.replace("* people\n", "* (people - rest)\n")
REFUSING = MENDED.replace(
    "    share,", '    if people < 1:\n        raise ValueError("there is nobody to share the bill")\n    share,'
)
REFUSED = """
    def test_nobody_cannot_share_a_bill(self):
        with self.assertRaisesRegex(ValueError, "nobody"):
            split(1000, 0)
"""
DONE = f"{{}}\n{status(files=2)}\n{PROMISE}"
SESSIONS = (
    (
        call(bash(put("tests/test_bill.py", TESTS) + put("bill.py", OFF_BY_SOME))),
        say(DONE.format("The cents that are left over are handed out.")),
        call(bash(put("bill.py", MENDED) + keep("Hand out the cents that are left over"))),
        say(DONE.format("The cents that are left over are handed out, one each.")),
    ),
    (
        call(bash(put("tests/test_bill.py", TESTS + REFUSED) + put("bill.py", REFUSING) + keep("Refuse to split among nobody"))),
        say(DONE.format("Nobody to share the bill is an error now.")),
    ),
)


def model(request: Request) -> Turn:
    """The scripted model. The judge reads the code in its prompt."""
    form: Mapping[str, Any] = request.body.get("output_config", {}).get("format", {}).get("schema", {}).get("properties", {})
    if "blockingQuestions" in form:
        return say(json.dumps(AGREED | {"blockingQuestions": [] if ASKED[0] in request.prompt else ASKED}))
    if "criteria" in form:
        return say(json.dumps(judged(refuses="raise ValueError" in request.prompt)))
    turns = SESSIONS["Iteration 2 of " in request.prompt]
    return turns[min(request.turn, len(turns) - 1)]


def judged(*, refuses: bool) -> dict[str, Any]:
    nobody = "people < 1 raises a ValueError that names the cause" if refuses else "divmod by 0 raises a ZeroDivisionError"
    criteria: list[dict[str, Any]] = [
        {
            "id": "cents",
            "verdict": "met",
            "reason": "the rest of the division is handed out, one cent each",
            "fix": "",
            "need": [],
        },
        {"id": "nobody", "verdict": "met" if refuses else "not_met", "reason": nobody, "fix": "", "need": []},
    ]
    return {"criteria": criteria, "principle": "try what no test has tried"}


# --- the reader ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    helmsman: ScriptedCommandLine

    def perform(self, step: Step) -> str:
        """Type it. Returns the output, with the home as ~."""
        *before, last = step.command.splitlines()
        if last.startswith("helmsman "):
            shown = self._shell("\n".join(before)) + self._steer(shlex.split(last)[1:], step.answers)
        else:
            shown = self._shell(step.command)
        return shown.replace(self.helmsman.variables["HOME"], "~")

    def _shell(self, text: str) -> str:
        done = subprocess.run(
            ["sh", "-e", "-c", text],
            cwd=self.helmsman.folder,
            env=self.helmsman.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def _steer(self, words: list[str], answers: list[str]) -> str:
        if words[0] in OF_A_TERMINAL:
            return self._in_a_terminal(words, answers)
        told = self.helmsman.run(*words)
        assert told.exit_code == 0, told
        return told.output + told.errors

    def _in_a_terminal(self, words: list[str], answers: list[str]) -> str:
        """Give each answer when its prompt is shown."""
        with Terminal.running_warm(words, self.helmsman.folder, self.helmsman.variables, SIZE) as terminal:
            for number, answer in enumerate(answers, 1):
                assert eventually(lambda asked=number: prompts(terminal) >= asked, PATIENCE), terminal.screen
                terminal.type(answer)
            assert terminal.end() == 0, terminal.screen
            return "\n".join(terminal.screen)


def prompts(terminal: Terminal) -> int:
    return sum(line.startswith(">") or "[Y/n]" in line for line in terminal.screen)


@contextmanager
def reading(api_url: str) -> Generator[Reader]:
    """Somebody in an empty folder below their home, whom git knows.

    The home's path is always as long as now: where the terminal breaks a line depends on it.
    """
    with TemporaryDirectory(prefix="reader-", dir="/tmp") as name, scripted_command_line(Path(name), api_url, model) as helmsman:
        folder = Path(name)
        project = folder / "home" / "bill"
        project.mkdir()
        (folder / "home" / ".gitconfig").write_text("[user]\nname = You\nemail = you@localhost\n")
        own = {name: value for name, value in helmsman.variables.items() if name not in {"HELMSMAN_HOME", "PREFECT_HOME"}}
        yield Reader(replace(helmsman, folder=project, variables=own))


def main() -> None:
    """Write into the tutorial what is printed now: `python -m tests.fakes.tutorial`."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with PrefectServer.running(folder / "server") as server, reading(server.url) as reader:
            for page in PAGES:
                page.write_text(corrected(page.read_text(encoding="utf-8"), reader.perform), encoding="utf-8")


if __name__ == "__main__":
    main()
