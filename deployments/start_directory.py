"""The directory that a command was started in. The process leaves it at once; paths that the user gives are looked up from it."""

import os
from pathlib import Path

from tasks.system.environment import neutral_directory

NAME_PATHS = "HELMSMAN_HOME", "PREFECT_HOME", "PREFECT_PROFILES_PATH", "XDG_STATE_HOME"
"""Variables that hold the user's paths and are read later. A relative one is meant from where the command was started."""
OF_A_REPOSITORY = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
)  # fmt: skip
"""What git tells a hook of its repository. A loop that a hook starts works in the one that it is told."""
OF_GITPYTHON = "GIT_PYTHON_"
STANDARD_STREAM = Path("-")
_start: list[Path] = []


def leave_start_directory() -> None:
    """Stand in the neutral directory from now on, and forget what a hook was told of its repository.

    Called before anything is imported that reads either.
    """
    _start[:] = [_working_directory()]
    os.chdir(neutral_directory())  # noqa: TID251 - the one place: from here on the working directory is nobody's
    for name in NAME_PATHS:
        if os.environ.get(name):
            os.environ[name] = str(from_start(os.environ[name]))
    for name in [name for name in os.environ if name in OF_A_REPOSITORY or name.startswith(OF_GITPYTHON)]:
        del os.environ[name]
    # an empty or relative element finds programs in the repository, once one of ours is started there
    elements = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, elements))


def start_directory() -> Path:
    """Where the command was started; the working directory where there was no command, as in a test."""
    return _start[0] if _start else _working_directory()


def from_start(path: str | Path) -> Path:
    """A path that the user gave. It is absolute afterwards and may still lead through `..` and links."""
    return start_directory() / path


def file_from_start(path: str | Path) -> Path:
    """Like `from_start`, for a file in whose place `-` stands for standard input or output."""
    return STANDARD_STREAM if Path(path) == STANDARD_STREAM else from_start(path)


def _working_directory() -> Path:
    try:
        return Path.cwd()  # noqa: TID251 - the command line may ask where it was started
    except FileNotFoundError:  # it was removed; by its name whoever needs it says that it is not there
        return Path("/", os.environ.get("PWD", ""))
