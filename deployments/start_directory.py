"""The directory in which a command was started. The process leaves it at once; user paths are resolved against it."""

import os
from pathlib import Path

from tasks.system.environment import neutral_directory

PATH_VARIABLES = "HELMSMAN_HOME", "PREFECT_HOME", "PREFECT_PROFILES_PATH", "XDG_STATE_HOME"
"""Variables with user paths that are read later; relative ones are resolved against the start directory."""
REPOSITORY_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
)  # fmt: skip
"""Variables that git sets for hooks. A loop started by a hook works in the repository that it is given."""
GITPYTHON_PREFIX = "GIT_PYTHON_"
STANDARD_STREAM = Path("-")
_start: list[Path] = []


def leave_start_directory() -> None:
    """Change to the neutral directory, and remove git's variables for hooks.

    Called before anything is imported that reads either.
    """
    _start[:] = [_working_directory()]
    os.chdir(neutral_directory())  # noqa: TID251 - the only place: no other code depends on the working directory
    for name in PATH_VARIABLES:
        if os.environ.get(name):
            os.environ[name] = str(from_start(os.environ[name]))
    for name in [name for name in os.environ if name in REPOSITORY_VARIABLES or name.startswith(GITPYTHON_PREFIX)]:
        del os.environ[name]
    # an empty or relative element would find programs in a repository in which we start a process
    elements = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, elements))


def start_directory() -> Path:
    """The start directory; the working directory if no command was started, as in tests."""
    return _start[0] if _start else _working_directory()


def from_start(path: str | Path) -> Path:
    """Absolute form of a user path; `..` and links are not resolved."""
    return start_directory() / path


def file_from_start(path: str | Path) -> Path:
    """Like `from_start`, except that `-` means standard input or output."""
    return STANDARD_STREAM if Path(path) == STANDARD_STREAM else from_start(path)


def _working_directory() -> Path:
    try:
        return Path.cwd()  # noqa: TID251 - the command line may ask where it was started
    except FileNotFoundError:  # it was removed; later errors show its name
        return Path("/", os.environ.get("PWD", ""))
