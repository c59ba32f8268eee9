"""The configuration that a pushed commit carries: its few files laid out in a folder, read from git and from nowhere else."""

import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, cast

from helmsman.config.layers import display
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.toml_of import toml_of
from tasks.agents.catalogue import MOST_FILES
from tasks.agents.finding import AGENTS
from tasks.hats.finding import HATS, PRESETS, is_path
from tasks.loop.files import AUTOCHECKS, RUBRIC, read_rubric_file
from tasks.repository.git import Repository
from tasks.repository.objects import FILE_MODES, entries_in, entry_at, read_object, size_of
from tasks.system.files import LARGEST_FILE, resolve_inside

FILES = ("helmsman.toml", "pyproject.toml", RUBRIC, AUTOCHECKS)
IN_A_WORKTREE = {"workspace": {"in_place": False}}  # a push never changes what somebody has checked out


@contextmanager
def laid_out(repository: Repository, commit: str, what: str, remedy: str) -> Generator[Path]:
    """A folder with the files of configuration, and the goals and presets that they name, as they are in a commit.

    What is wrong with them is told as the commit's, which `what` names in words.
    """
    names = list(FILES)
    for known in (PRESETS, HATS, AGENTS):
        found = (entry.path for entry in entries_in(repository.common, commit, known.folder))
        names += [name for name in found if name.endswith(known.ending)][:MOST_FILES]
    with tempfile.TemporaryDirectory(prefix="helmsman-") as place:
        folder = Path(place)
        try:
            for name in names:
                _write(repository, commit, name, folder)
            for key in ("goal_file", "preset"):
                for named in _named_by(folder, key):
                    if key == "goal_file" or (isinstance(named, str) and is_path(named)):  # a preset's name is laid out already
                        lay_out_file(repository, commit, named, folder, key)
            yield folder
        except OperatorError as error:
            found = str(error).replace(f"{place}/", "")
            raise OperatorError(f"the configuration of {what} cannot be used", found=found, remedy=remedy) from error


def lay_out_file(repository: Repository, commit: str, named: object, folder: Path, key: str) -> None:
    """Write one more file that the configuration names. Raises OperatorError where it does not lie in the repository.

    An alignment that is not there is none: whoever reads the configuration says so where it has to be.
    """
    path = PurePosixPath(named) if isinstance(named, str) and named else PurePosixPath("/")
    inside = False
    with suppress(OperatorError):
        inside = bool(resolve_inside(folder, str(path), key))
    missing = key == "alignment" and inside and entry_at(repository.common, commit, str(path)) is None
    if not missing and not (inside and _write(repository, commit, str(path), folder)):
        raise OperatorError(
            f"the {key.removesuffix('_file')} of the pushed commit cannot be read",
            expected="a file of the repository, by its path from the top, and no link",
            found=display(named),
            remedy=f"correct {key}, and push again",
        )


def _write(repository: Repository, commit: str, name: str, folder: Path) -> bool:
    """Whether there is such a file in the commit."""
    found = entry_at(repository.common, commit, name)
    if found is None or found.mode not in FILE_MODES:
        return False
    if (size := size_of(repository.common, found)) > LARGEST_FILE:
        raise OperatorError(
            f"{name} of the pushed commit is too large", expected=f"{LARGEST_FILE} bytes at most", found=f"{size}"
        )
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(read_object(repository.common, found.id))
    return True


def _named_by(folder: Path, key: str) -> Iterator[object]:
    """What the files give under a key. One that cannot be read gives nothing; whoever reads the configuration says so."""
    tool: Any = _toml(folder / FILES[1]).get("tool")
    ours: Any = cast("dict[str, Any]", tool).get("helmsman") if isinstance(tool, dict) else None
    tables: list[Any] = [_toml(folder / FILES[0]), ours]
    with suppress(HelmsmanError):
        tables += [read_rubric_file(folder / RUBRIC).front] if (folder / RUBRIC).exists() else []
    yield from (table[key] for table in tables if isinstance(table, Mapping) and key in table)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return toml_of(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
