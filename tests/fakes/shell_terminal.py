"""A person at a shell: keys go into a terminal, and what it shows is read until the words are there."""

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.loop_bench import eventually
from tests.fakes.requirements import need
from tests.fakes.terminal import Terminal

PATIENCE = 12
"""Seconds until the words must be there, on a busy machine as well."""
INTERACTIVE = {"bash": ("--noprofile", "--norc", "-i"), "zsh": ("-f", "-i"), "fish": ("--no-config", "--interactive")}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cMDEHNOZ])|[\x07\x08\r]")


class Shell:
    """One that runs in a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        """Nothing of it was looked at yet."""
        self._terminal, self._seen = terminal, 0

    @property
    def shown(self) -> str:
        """What came since the last keys."""
        return _ESCAPES.sub("", self._terminal.written[self._seen :])

    def type(self, keys: str) -> None:
        self._seen = len(self._terminal.written)
        self._terminal.press(keys)

    def see(self, *words: str) -> str:
        """What is shown, once all of it is there."""
        assert eventually(lambda: all(word in self.shown for word in words), PATIENCE), f"not shown: {words}\n{self.shown}"
        return self.shown

    def do(self, command: str) -> str:
        """Run a command to its end."""
        self.type(f"{command}; echo done'.'\n")
        return self.see("done.")


@contextmanager
def run_shell(name: str, folder: Path, home: Path) -> Generator[Shell]:
    """Start it with nobody's settings in a session of its own. Skips the test where it is not installed."""
    need(name)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": path, "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "$ "}
    with Terminal.running(["setsid", "--ctty", name, *INTERACTIVE[name]], folder, own) as terminal:
        yield Shell(terminal)
