"""A command in a terminal of its own, whose screen is read while it runs and whose size changes."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from rich.cells import cell_len
from rich.text import Text

from tests.fakes.bench import eventually

PATIENCE = 100
"""Seconds that something may take to appear on the screen of a busy machine."""

ON, OFF = "\x1b[?1049h", "\x1b[?1049l"
"""What turns the screen of a full-screen view on and off."""
HOME = "\x1b[H"
CURSOR = "\x1b[?25h"


class Terminal:
    """Ours is the end at which a person sits."""

    def __init__(self, process: "subprocess.Popen[bytes]", ours: int) -> None:
        """Begin to read, as a terminal does."""
        self.process, self._ours, self._pieces = process, ours, list[bytes]()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @classmethod
    @contextmanager
    def running(
        cls, command: Sequence[str | Path], folder: Path, variables: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> Generator[Self]:
        """The command in a terminal of so many columns and rows; it is ended with the block."""
        ours, theirs = pty.openpty()
        _resize(ours, *size)
        process = subprocess.Popen(
            command, cwd=folder, env={"TERM": "xterm-256color", **variables}, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
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

    @property
    def frame(self) -> list[str]:
        """The last whole screen, without its colours."""
        frames = self.written.replace("\r", "").split(HOME)
        return [line.rstrip() for line in Text.from_ansi(frames[-2] if len(frames) > 2 else "").plain.splitlines()]

    @property
    def widest(self) -> int:
        """Columns of the widest line of that screen."""
        return max(map(cell_len, self.frame), default=0)

    def shows(self, words: str) -> bool:
        """Whether the words come to stand on the screen, soon."""
        return eventually(lambda: any(words in line for line in self.frame), PATIENCE)

    def has_written(self, words: str) -> bool:
        return eventually(lambda: words in self.written, PATIENCE)

    def resize(self, columns: int, rows: int) -> None:
        _resize(self._ours, columns, rows)

    def end(self) -> int:
        """Wait for the end of the command. Returns its exit status."""
        code = self.process.wait(PATIENCE)
        self._thread.join(PATIENCE)
        return code

    def _read(self) -> None:
        with suppress(OSError):  # so Linux tells that the last one who wrote has gone
            while piece := os.read(self._ours, 65536):
                self._pieces.append(piece)


def _resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
