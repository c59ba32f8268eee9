"""A person at a shell: keys go into a terminal, and what it shows is read until the words are there."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.needs import need

PATIENCE = 12
"""Seconds until the words must be there, on a busy machine as well."""
INTERACTIVE = {"bash": ("--noprofile", "--norc", "-i"), "zsh": ("-f", "-i"), "fish": ("--no-config", "--interactive")}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cMDEHNOZ])|[\x07\x08\r]")


@dataclass
class Shell:
    """One that runs in a terminal."""

    terminal: int
    shown: str = ""

    def type(self, keys: str) -> None:
        self.shown = ""
        os.write(self.terminal, keys.encode())

    def see(self, *words: str) -> str:
        """What is shown, once all of it is there."""
        until = time.monotonic() + PATIENCE
        while not all(word in self.shown for word in words):
            left = until - time.monotonic()
            assert left > 0, f"not shown within {PATIENCE} s: {words}\n{self.shown}"
            if select.select([self.terminal], [], [], left)[0]:
                self.shown += _ESCAPES.sub("", os.read(self.terminal, 65536).decode(errors="replace"))
        return self.shown

    def do(self, command: str) -> str:
        """Run a command to its end."""
        self.type(f"{command}; echo done'.'\n")
        return self.see("done.")


@contextmanager
def shell(name: str, folder: Path, home: Path) -> Generator[Shell]:
    """Start it with nobody's settings in a session of its own. Skips the test where it is not installed."""
    need(name)
    ours, theirs = pty.openpty()
    process = _started(["setsid", "--ctty", name, *INTERACTIVE[name]], folder, home, theirs)
    os.close(theirs)
    try:
        yield Shell(ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _started(command: Sequence[str], folder: Path, home: Path, terminal: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": path, "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "$ "}
    return subprocess.Popen(command, cwd=folder, env=own, stdin=terminal, stdout=terminal, stderr=terminal)
