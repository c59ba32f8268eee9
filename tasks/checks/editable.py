"""What checks may import besides the work: an editable installation of the operator's checkout, and packages outside of it."""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from helmsman.config import CheckConfig
from helmsman.plain import clean, shorten
from helmsman.verify.commands import simple_commands

_PACKAGES = "lib*/python*/*-packages"  # below the prefix of an interpreter
_POINTERS = "*.pth", "*.egg-link", "__editable__*.py"
_MODULE = re.compile(r"\bpython[0-9.]*\s+-m\b")
_PYTHONPATH = re.compile(r"^\s*pythonpath\s*=", re.MULTILINE)
_PYTEST_FILES = "pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"
LARGEST = 100_000  # bytes of a file that may point to the repository
NAME_SHOWN = 80


def editable_warnings(checks: Sequence[CheckConfig], top: Path) -> Iterator[str]:
    """Yield a warning for the first check whose program has the repository at `top` installed as editable.

    None for checks that certainly find the work first: with PYTHONPATH, pytest's `pythonpath`, or `python -m` without `src`.
    """
    if any(_PYTHONPATH.search(_read(top / name)) for name in _PYTEST_FILES):
        return
    for check in checks:
        for program in _programs(check.command):
            pointer, path = next(_pointers(program, top), (None, ""))
            if pointer and not (path == str(top) and _MODULE.search(check.command)):
                yield (
                    f"`{shorten(clean(check.title), NAME_SHOWN)}` may test your checkout instead of the work: its Python has this"
                    f" repository installed as editable ({pointer}: {path}); let [workspace] setup install it, for example"
                    ' setup = ["python3 -m venv .venv && .venv/bin/pip install -e ."], and run the check with .venv/bin/python'
                )
                return


def _programs(command: str) -> Iterator[str]:
    """Yield the programs that a command names, with wrappers; none with PYTHONPATH."""
    if "PYTHONPATH" not in command:
        yield from (word for word in re.split(r"[\s'\";&|()=]+", command) if word.startswith("/") and _is_program(word))
        yield from (name for simple in simple_commands(command) for name in (simple.program, *simple.wrappers))


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


def package_stamps(checks: Sequence[CheckConfig], top: Path) -> dict[str, str]:
    """The packages of the checks' Python by path, with size and time of what says what is installed; none below `top`."""
    programs = {program for check in checks for program in _programs(check.command)}
    folders = {folder for program in programs for folder in _package_folders(program, top)}
    return {str(path): _stamp(path) for folder in folders for path in folder.glob("*") if path.name != "__pycache__"}


def changed_packages(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Packages that were added, changed or removed, as far as `package_stamps` shows."""
    return tuple(sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path)))


def _stamp(path: Path) -> str:
    try:
        status = (path / "RECORD" if path.suffix == ".dist-info" else path).stat()
    except OSError:
        return ""
    # a folder's time changes when Python compiles what is in it
    return "" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} {status.st_mtime_ns}"


def _pointers(program: str, top: Path) -> Iterator[tuple[Path, str]]:
    """Yield files that point into the repository from the packages of a program's Python, and the paths in them."""
    inside = re.compile(rf"{re.escape(str(top))}(?:/[^'\"\n]*)?(?=['\"\s]|\Z)")
    for folder in _package_folders(program, top):
        for pointer in (path for pattern in _POINTERS for path in sorted(folder.glob(pattern))):
            if match := inside.search(_read(pointer)):
                yield pointer, match[0].rstrip("/")


def _package_folders(program: str, top: Path) -> Iterator[Path]:
    """Yield the folders of a program's Python with packages; none where the clean checkout replaces the program."""
    found = shutil.which(program) if os.sep not in program else program
    # the clean checkout replaces folders of the repository on PATH, and relative programs, by its own
    if found is None or not os.path.isabs(found) or (os.sep not in program and Path(found).is_relative_to(top)):  # noqa: PTH117
        return
    yield from dict.fromkeys(folder.resolve() for folder in Path(found).parent.parent.glob(_PACKAGES))  # lib64 may be a link


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else ""
    except OSError:
        return ""
