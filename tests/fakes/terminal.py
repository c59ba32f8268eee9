"""A command in a pseudo-terminal that can be read, typed into and resized."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from tests.fakes.processes import Ended, eventually
from tests.fakes.warm_process import COMMAND_LINE, WarmProcess

PATIENCE = 100
"""Seconds that something may take to appear on the screen of a busy machine."""

CURSOR = "\x1b[?25h"
ERASED = "\x1b[2K"
_UP = re.compile(r"\x1b\[(\d*)A")
_PIECES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+")


class Terminal:
    """The person's end of the terminal."""

    def __init__(self, process: "subprocess.Popen[Any]", ours: int) -> None:
        """Start to read."""
        self.process, self._ours, self._pieces = process, ours, list[bytes]()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @classmethod
    @contextmanager
    def running(
        cls, command: Sequence[str | Path], folder: Path, variables: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> Generator[Self]:
        """Run the command in a terminal of this size; it ends with the block."""

        def start(theirs: int) -> "subprocess.Popen[Any]":
            own = {"TERM": "xterm-256color", **variables}
            process = subprocess.Popen(command, cwd=folder, env=own, stdin=theirs, stdout=theirs, stderr=theirs)
            os.close(theirs)
            return process

        with cls._running(start, size) as terminal:
            yield terminal

    @classmethod
    @contextmanager
    def running_warm(
        cls, arguments: Sequence[str], folder: Path, variables: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> Generator[Self]:
        """The same for Helmsman's command line, forked from a process that has imported it."""
        own = {"TERM": "xterm-256color", **variables}
        with cls._running(lambda theirs: WarmProcess(COMMAND_LINE, arguments, folder, own, theirs), size) as terminal:
            yield terminal

    @classmethod
    @contextmanager
    def _running(cls, start: Callable[[int], "subprocess.Popen[Any]"], size: tuple[int, int]) -> Generator[Self]:
        """`start` closes the command's end."""
        ours, theirs = pty.openpty()
        _resize(ours, *size)
        process = start(theirs)
        terminal = cls(process, ours)
        try:
            yield terminal
        finally:
            process.kill()
            terminal.end()
            os.close(ours)

    @property
    def written(self) -> str:
        """Everything that was written to it so far, as it was written."""
        return b"".join(self._pieces).decode(errors="replace")

    def has_written(self, words: str) -> bool:
        return eventually(lambda: words in self.written, PATIENCE)

    def shows(self, words: str) -> bool:
        """Whether a line of the screen soon contains the words."""
        return eventually(lambda: any(words in line for line in self.screen), PATIENCE)

    @property
    def screen(self) -> list[str]:
        """All lines including those that scrolled away."""
        return screen(self.written)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def type(self, line: str) -> None:
        self.press(f"{line}\n")

    def run_typed(self, keys: str, patience: float = PATIENCE) -> Ended:
        """Type ahead, then wait for the end. The screen is the output."""
        self.press(keys)
        code = self.end(patience)
        return Ended(code, self.written, "")

    def resize(self, columns: int, rows: int) -> None:
        _resize(self._ours, columns, rows)

    def end(self, patience: float = PATIENCE) -> int:
        """Wait for the end of the command. Returns its exit status."""
        code = self.process.wait(patience)
        self._thread.join(PATIENCE)
        return code

    def _read(self) -> None:
        with suppress(OSError):  # Linux raises it when the last writer has closed
            while piece := os.read(self._ours, 65536):
                self._pieces.append(piece)


def screen(written: str) -> list[str]:
    """The lines that a terminal shows after this was written."""
    lines, row, column = [""], 0, 0
    for piece in _PIECES.findall(written):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif up := _UP.fullmatch(piece):
            row = max(row - int(up[1] or 1), 0)
        elif piece == ERASED:
            lines[row] = ""
        elif not piece.startswith("\x1b"):
            lines[row] = f"{lines[row][:column]:<{column}}{piece}{lines[row][column + len(piece) :]}"
            column += len(piece)
    return [line.rstrip() for line in lines]


def _resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
