"""Claude Code's own folder inside a box: sessions that last as long as the loop, and the login; nothing else of the user's."""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from helmsman.sandbox.box import Mount
from tasks.system.files import remove, write_atomic

FOLDER = ".claude"
CREDENTIALS = ".credentials.json"
COPY = "credentials.json"  # what the program writes to
LENT = "lent.json"  # what was lent: it tells whether the user's own is still the one that was renewed
LARGEST = 256 * 1024


@contextmanager
def lent_login(private: Path, environment: Mapping[str, str], *, renewed: bool) -> Generator[tuple[Mount, ...]]:
    """The folder and a copy of the login of the user whose environment this is; nobody inside reaches `private` but by these.

    `renewed`: what the program renewed of it is given back, as an old token may be worth nothing. Else it can only be read.
    """
    sessions = private / "claude"
    sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
    _settle(private, environment, renewed=renewed)  # of a call whose driver was killed
    seen = f"{environment['HOME']}/{FOLDER}"
    before = _read(_users_own(environment))
    if before is None:
        yield (Mount(seen, "write", str(sessions)),)
        return
    remove(sessions / CREDENTIALS)  # nothing that was planted in an earlier call may be there
    for name in (LENT, COPY):
        write_atomic(private / name, before, mode=0o600)
    try:
        way = "write" if renewed else "read"
        yield Mount(seen, "write", str(sessions)), Mount(f"{seen}/{CREDENTIALS}", way, str(private / COPY))
    finally:
        _settle(private, environment, renewed=renewed)


def _settle(private: Path, environment: Mapping[str, str], *, renewed: bool) -> None:
    """Give back what was renewed. Raises OSError where that cannot be; it is kept for the next time then.

    Nobody else may have renewed it meanwhile, and it has to look like what it was: the agent could write there too.
    """
    before, after, own = _read(private / LENT), _read(private / COPY), _users_own(environment)
    if renewed and before is not None and after is not None and after != before and _read(own) == before:
        shape = _shape(after)
        if shape is not None and shape == _shape(before):
            write_atomic(own, after, mode=0o600)
    for name in (COPY, LENT):
        (private / name).unlink(missing_ok=True)


def _users_own(environment: Mapping[str, str]) -> Path:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(named) if named else Path(environment["HOME"]) / FOLDER) / CREDENTIALS


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= LARGEST else ""
    except (OSError, ValueError):
        return None
    return text or None


def _shape(text: str) -> Any:
    """Names and kinds of what a JSON object holds; None where it is none."""

    def kinds(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kinds(inner) for key, inner in cast("dict[str, Any]", value).items()}
        return type(value).__name__

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return kinds(value) if isinstance(value, dict) else None
