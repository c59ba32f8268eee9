"""Claude Code's folder inside a sandbox: sessions for the lifetime of the loop, and the login; nothing else of the user."""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from helmsman.sandbox import Mount
from tasks.system.files import remove, write_atomic

FOLDER = ".claude"
CREDENTIALS = ".credentials.json"
COPY = "credentials.json"  # the copy that the program writes to
LENT = "lent.json"  # the original: shows whether the user's login is still the one that was renewed
LARGEST = 256 * 1024


@contextmanager
def login_mounts(private: Path, environment: Mapping[str, str], *, renewed: bool) -> Generator[tuple[Mount, ...]]:
    """Mounts of the folder and a copy of the user's login; `private` is reachable inside only through them.

    `renewed`: copy a renewed login back, as the old token may be invalid. If False, the copy is read-only.
    """
    sessions = private / "claude"
    sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
    _return_renewed(private, environment, renewed=renewed)  # after a call whose driver was killed
    inner_folder = f"{environment['HOME']}/{FOLDER}"
    before = _read(_credentials_file(environment))
    if before is None:
        yield (Mount(inner_folder, "write", str(sessions)),)
        return
    remove(sessions / CREDENTIALS)  # remove anything planted in an earlier call
    for name in (LENT, COPY):
        write_atomic(private / name, before, mode=0o600)
    try:
        mode = "write" if renewed else "read"
        yield Mount(inner_folder, "write", str(sessions)), Mount(f"{inner_folder}/{CREDENTIALS}", mode, str(private / COPY))
    finally:
        _return_renewed(private, environment, renewed=renewed)


def _return_renewed(private: Path, environment: Mapping[str, str], *, renewed: bool) -> None:
    """Copy a renewed login back. Raises OSError if that fails, and keeps it for the next time.

    Only if the user's login is unchanged and the new one has the same shape: the agent could also write to the copy.
    """
    before, after, user_file = _read(private / LENT), _read(private / COPY), _credentials_file(environment)
    if renewed and before is not None and after is not None and after != before and _read(user_file) == before:
        shape = _shape(after)
        if shape is not None and shape == _shape(before):
            write_atomic(user_file, after, mode=0o600)
    for name in (COPY, LENT):
        (private / name).unlink(missing_ok=True)


def _credentials_file(environment: Mapping[str, str]) -> Path:
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(configured) if configured else Path(environment["HOME"]) / FOLDER) / CREDENTIALS


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= LARGEST else ""
    except (OSError, ValueError):
        return None
    return text or None


def _shape(text: str) -> Any:
    """Keys and types of a JSON object; None for anything else."""

    def types_of(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: types_of(inner) for key, inner in cast("dict[str, Any]", value).items()}
        return type(value).__name__

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return types_of(value) if isinstance(value, dict) else None
