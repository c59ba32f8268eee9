"""Claude Code's own folder inside a box: sessions that last as long as the loop, and the login; nothing else of the user's."""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from helmsman.sandbox.box import Mount

FOLDER = ".claude"
CREDENTIALS = ".credentials.json"
LARGEST = 256 * 1024


@dataclass(frozen=True)
class Login:
    """Of the user whose environment this is; `private` is a folder that nobody inside reaches but by these mounts."""

    private: Path
    environment: Mapping[str, str]
    renewed: bool = True
    """Whether what the program renewed is given back. Else it can only be read."""

    @contextmanager
    def lent(self) -> Generator[tuple[Mount, ...]]:
        """The folder and a copy of the login. What the program renewed of it is given back: an old token may be worth nothing."""
        sessions = self.private / "claude"
        sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._settle()  # of a call whose driver was killed
        seen = f"{self.environment['HOME']}/{FOLDER}"
        before = _read(self._real)
        if before is None:
            yield (Mount(seen, "write", str(sessions)),)
            return
        _forget(sessions / CREDENTIALS)
        write_secret(self._first, before)
        write_secret(self._copy, before)
        try:
            way = "write" if self.renewed else "read"
            yield Mount(seen, "write", str(sessions)), Mount(f"{seen}/{CREDENTIALS}", way, str(self._copy))
        finally:
            self._settle()

    @property
    def _copy(self) -> Path:
        """What the program writes to."""
        return self.private / "credentials.json"

    @property
    def _first(self) -> Path:
        """What was lent: it tells whether the user's own is still the one that was renewed."""
        return self.private / "lent.json"

    def _settle(self) -> None:
        """Raises OSError where it cannot be given back; it is kept for the next time then."""
        before = _read(self._first)
        if before is not None and self.renewed:
            self._give_back(before, _read(self._copy))
        self._copy.unlink(missing_ok=True)
        self._first.unlink(missing_ok=True)

    @property
    def _real(self) -> Path:
        named = os.environ.get("CLAUDE_CONFIG_DIR")
        return (Path(named) if named else Path(self.environment["HOME"]) / FOLDER) / CREDENTIALS

    def _give_back(self, before: str, after: str | None) -> None:
        """Nobody else may have renewed it meanwhile, and it has to look like what it was: the agent could write there too."""
        if after is None or after == before or _read(self._real) != before:
            return
        if _shape(after) is not None and _shape(after) == _shape(before):
            write_secret(self._real, after)


def write_secret(path: Path, text: str) -> None:
    """Whole or not at all, and for nobody else to read at any time."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.write(text)
    part.replace(path)


def _forget(path: Path) -> None:
    """Nothing that was planted in an earlier call may be what the login is laid over."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        with suppress(OSError):
            path.rename(path.with_name(f"{CREDENTIALS}.aside"))


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= LARGEST else ""
    except (OSError, ValueError):
        return None
    return text or None


def _shape(text: str) -> Any:
    """Names and kinds of what a JSON object holds; None where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _kinds(value) if isinstance(value, dict) else None


def _kinds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kinds(inner) for key, inner in cast("dict[str, Any]", value).items()}
    return type(value).__name__
