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
from tasks.loop.alignment_file import place_of
from tasks.loop.files import AUTOCHECKS, RUBRIC, read_rubric_file
from tasks.repository.git import Repository
from tasks.repository.objects import FILE_MODES, FOLDER, entries_in, entry_at, read_object, size_of
from tasks.system.files import LARGEST_FILE, resolve_inside

FILES = ("helmsman.toml", "pyproject.toml", RUBRIC, AUTOCHECKS)
IN_A_WORKTREE = {"workspace": {"in_place": False}}
"""A push never changes what somebody has checked out."""


@contextmanager
def laid_out(repository: Repository, commit: str, what: str, remedy: str) -> Generator[Path]:
    """A folder with what the commit configures. What is wrong with it is told as the commit's, which `what` names in words."""
    with tempfile.TemporaryDirectory(prefix="helmsman-") as name:
        try:
            _lay_out(repository, commit, Path(name))
            yield Path(name)
        except OperatorError as error:
            found = str(error).replace(f"{name}/", "")
            raise OperatorError(f"the configuration of {what} cannot be used", found=found, remedy=remedy) from error


def _lay_out(repository: Repository, commit: str, folder: Path) -> None:
    """Write the files of configuration, and the goals and presets that they name, as they are in a commit."""
    names = list(FILES)
    for known in (PRESETS, HATS, AGENTS):
        found = (entry.path for entry in entries_in(repository.common, commit, known.folder))
        names += [name for name in found if name.endswith(known.ending)][:MOST_FILES]
    for name in names:
        _write(repository, commit, name, folder)
    for named in _named_by(folder, "goal_file"):
        lay_out_file(repository, commit, named, folder)
    for preset in _named_by(folder, "preset"):
        if isinstance(preset, str) and is_path(preset):  # a name stands for a file that is laid out already
            lay_out_file(repository, commit, preset, folder, "preset")


def lay_out_file(repository: Repository, commit: str, named: object, folder: Path, key: str = "goal_file") -> Path:
    """Write one more file that the configuration names. Raises OperatorError where it does not lie in the repository."""
    path = PurePosixPath(named) if isinstance(named, str) and named else PurePosixPath("/")
    inside = False
    with suppress(OperatorError):
        inside = bool(resolve_inside(folder, str(path), key))
    if not (inside and _write(repository, commit, str(path), folder)):
        raise OperatorError(
            f"the {key.removesuffix('_file')} of the pushed commit cannot be read",
            expected="a file of the repository, by its path from the top",
            found=display(named),
            remedy=f"correct {key}, and push again",
        )
    return folder / path


def lay_out_alignment(repository: Repository, commit: str, file: str, folder: Path) -> None:
    """Write the alignment file, where the commit has it. Raises OperatorError where something else stands in its place."""
    path = PurePosixPath(place_of(folder, file).relative_to(folder.resolve()))
    if _write(repository, commit, str(path), folder):
        return
    above = [entry_at(repository.common, commit, str(parent)) for parent in path.parents if parent.name]
    if entry_at(repository.common, commit, str(path)) or any(entry and entry.mode != FOLDER for entry in above):
        raise OperatorError(
            "the alignment file of the pushed commit cannot be read",
            expected="a file, and no link",
            found=str(path),
            remedy="name another one in `alignment`, and push again",
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
