"""What passes between a command and whoever sits at the terminal: on standard error, since standard output is for results."""

import shlex
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from deployments.start_directory import start_directory
from helmsman.errors import OperatorError
from helmsman.plain import clean

YES = frozenset({"y", "yes"})


def is_anybody_there() -> bool:
    """Whether a question would be seen, and could be answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def typed(question: str) -> str | None:
    """What is typed behind a question; None where nobody types any more."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    return readable(line.strip()) if line else None


def agreed(question: str, *, usually: bool = False) -> bool:
    """Whether the answer is yes; `usually`: what Enter means. Whoever closes the terminal's input instead has not agreed."""
    said = typed(f"{question} [{'Y/n' if usually else 'y/N'}]")
    return said is not None and (said.lower() in YES or (usually and not said))


def say(*lines: str) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def readable(text: str) -> str:
    """Text that can be written down. Raises OperatorError for bytes of a terminal or an argument that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OperatorError(
            "the input is not valid text", expected="UTF-8", found=clean(text)[:80], remedy="set the terminal to UTF-8"
        ) from None
    return text


def repo_option(repo: Path) -> str:
    """How a command that continues names the repository; not at all where the user stands in it."""
    return "" if repo == start_directory() else f" --repo {shlex.quote(str(repo))}"


ENDINGS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@contextmanager
def ending_tidily(*signals: signal.Signals) -> Generator[None]:
    """A signal that ends the block leaves no checkout behind, and no later one disturbs that: a closed terminal sends several."""
    heeded = [one for one in signals or ENDINGS if signal.getsignal(one) is not signal.SIG_IGN]  # nohup has us ignore one

    def end(number: int, _: object) -> None:
        for one in heeded:
            signal.signal(one, signal.SIG_IGN)
        sys.exit(128 + number)

    before = [(one, signal.signal(one, end)) for one in heeded]
    try:
        yield
    finally:
        for one, handler in before:
            signal.signal(one, handler)
