"""`helmsman init` ended by a signal while it tries commands or asks: its checkout and processes are removed."""

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_line import HELMSMAN, PATIENCE, CommandLine, offline_command_line
from tests.fakes.processes import eventually, processes
from tests.fakes.repositories import make_repository, sh

pytestmark = pytest.mark.feature("O1")


@pytest.fixture
def helmsman(tmp_path: Path) -> Iterator[CommandLine]:
    """In a repository whose tests start and never end. Processes left by a failed test are ended."""
    begun = tmp_path / "begun"
    make_repository(tmp_path / "repository", {"Makefile": f"test:\n\ttouch '{begun}'; sleep 600\n"})
    yield offline_command_line(tmp_path, HELMSMAN_HOME=str(tmp_path / "home of helmsman"))
    for process in processes("HOME", str(tmp_path / "home")):
        process.kill()


def checkouts(helmsman: CommandLine) -> list[Path]:
    """Existing clean checkouts."""
    return [*(helmsman.folder / "home of helmsman" / "checkouts").glob("*/verify-*")]


def footprint(helmsman: CommandLine) -> str:
    return sh(helmsman.repository, "status", "--porcelain", "--ignored") + sh(helmsman.repository, "for-each-ref")


def has_started(helmsman: CommandLine) -> bool:
    return eventually((helmsman.folder / "begun").exists, PATIENCE)


def nothing_lives(helmsman: CommandLine) -> bool:
    return eventually(lambda: not processes("HOME", str(helmsman.folder / "home")))


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=lambda ending: ending.name)
def test_a_signal_takes_the_checkout_away_and_ends_what_was_tried(helmsman: CommandLine, ending: signal.Signals) -> None:
    before = footprint(helmsman)
    process = helmsman.start("init", "--repo", "repository", "--yes")
    assert has_started(helmsman)
    assert len(checkouts(helmsman)) == 1
    process.send_signal(ending)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + ending, output
    assert checkouts(helmsman) == []
    assert nothing_lives(helmsman)
    assert footprint(helmsman) == before
    assert "wrote" not in output


@pytest.mark.parametrize("typed", ["", "y\n"], ids=["while it asks", "while it tries"])
def test_a_terminal_that_is_closed_takes_the_checkout_away(helmsman: CommandLine, typed: str) -> None:
    before = footprint(helmsman)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", HELMSMAN, "init", "--repo", "repository"],
        cwd=helmsman.folder,
        env={**helmsman.variables, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    assert has_started(helmsman) if typed else _asks(ours)
    assert len(checkouts(helmsman)) == bool(typed)
    os.close(ours)  # the system tells all that are in it by SIGHUP
    process.wait(PATIENCE)
    assert checkouts(helmsman) == []
    assert nothing_lives(helmsman)
    assert footprint(helmsman) == before


def _asks(terminal: int) -> bool:
    shown = b""
    while b"Do you trust" not in shown:
        shown += os.read(terminal, 65536)
    return True
