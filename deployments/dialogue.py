"""Prompts and messages on the terminal: on standard error, since standard output is for results."""

import os
import shlex
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from deployments.start_directory import start_directory
from helmsman.errors import OperatorError
from helmsman.plain import clean

YES = frozenset({"y", "yes"})


def has_terminal() -> bool:
    """Whether there is a terminal to ask a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_text(question: str) -> str | None:
    """Prompt for a line; None at the end of input."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    return require_utf8(line.strip()) if line else None


def confirm(question: str, *, usually: bool = False) -> bool:
    """Ask for yes or no; `usually`: the default for Enter. The end of input means no."""
    reply = ask_text(f"{question} [{'Y/n' if usually else 'y/N'}]")
    return reply is not None and (reply.lower() in YES or (usually and not reply))


def say(*lines: str) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def require_utf8(text: str) -> str:
    """Return the text. Raises OperatorError if it contains bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OperatorError(
            "the input is not valid text", expected="UTF-8", found=clean(text)[:80], remedy="set the terminal to UTF-8"
        ) from None
    return text


def repo_option(repo: Path) -> str:
    """`--repo` option for a suggested command; empty if the repository is the start directory."""
    return "" if repo == start_directory() else f" --repo {shlex.quote(str(repo))}"


ENDINGS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@contextmanager
def exiting_cleanly(*signals: signal.Signals) -> Generator[None]:
    """Exit on a signal so that checkouts are cleaned up, and ignore further ones: a closing terminal sends several."""
    handled = [sig for sig in signals or ENDINGS if signal.getsignal(sig) is not signal.SIG_IGN]  # nohup ignores SIGHUP

    def end(number: int, _: object) -> None:
        for sig in handled:
            signal.signal(sig, signal.SIG_IGN)
        with suppress(OSError):  # the terminal may be gone; `sys.stderr` may be in use where the signal came
            os.write(2, b"interrupted\n")
        sys.exit(128 + number)

    previous = [(sig, signal.signal(sig, end)) for sig in handled]
    try:
        yield
    finally:
        for sig, handler in previous:
            signal.signal(sig, handler)
