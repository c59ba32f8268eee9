"""Find what a command needs of this machine to run, and what to hide from it."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.sandbox import SYSTEM, Mount

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO")
"""Variables with paths of certificates."""
RESOLVER = "/etc/resolv.conf"
ENVIRONMENT_MARK = "pyvenv.cfg"
SHIMS = "shims"


def tool_mounts(environment: Mapping[str, str], program: Path | None, writable: Sequence[Path] = ()) -> Iterator[Mount]:
    """Mount programs outside of the system's folders: those on PATH, the agent's own, and the Python for inside.py.

    Follows no links in folders that the agent can write to: it could choose what its next call sees.
    """
    home = environment.get("HOME", "")
    on_path = [Path(folder) for folder in environment.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    python = [Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parent]
    own = [_with_libraries(program.parent)] if program else []
    own += [_with_libraries(Path(os.path.realpath(program)).parent)] if program and not is_in_any(program, writable) else []
    certificates = [Path(environment[name]) for name in CERTIFICATES if environment.get(name)]
    programs = [*map(_with_libraries, on_path), *own]
    libraries = list[Path]()
    for folder in programs:  # for a virtual environment with its Python elsewhere: only that Python
        if not is_in_any(folder, writable) and (folder / ENVIRONMENT_MARK).is_file():
            real = Path(os.path.realpath(folder / "bin" / "python")).parent
            libraries += [real, real.parent / "lib"]
    for path in dict.fromkeys([*programs, *python, *libraries, *certificates]):
        # a folder on PATH that contains the home would show all of it
        if path.exists() and not _is_system(path) and not (home and Path(home).is_relative_to(path)):
            yield Mount(str(path))
    resolver = Path(os.path.realpath(RESOLVER))
    if resolver.is_file() and not _is_system(resolver):
        yield Mount(str(resolver))


def hide_unreadable(folder: str = "/etc") -> Iterator[Mount]:
    """Hide files that are not world-readable: root, or members of a group, would pass them on."""
    for current, folders, files in os.walk(folder):
        secret = [name for name in folders if _is_secret(Path(current, name))]
        folders[:] = [name for name in folders if name not in secret]
        yield from (Mount(os.path.join(current, name), "empty") for name in secret)  # noqa: PTH118 - thousands of names
        yield from (Mount(os.path.join(current, name), "nothing") for name in files if _is_secret(Path(current, name)))  # noqa: PTH118


def existing_paths(paths: Iterable[str], home: str) -> Iterator[Path]:
    """Existing paths of the operator's; `~` is the home. Missing ones are skipped: one file may serve many machines."""
    yield from (path for path in expand_paths(paths, home) if path.exists())


def expand_paths(paths: Iterable[str], home: str) -> Iterator[Path]:
    """Expand the operator's paths, whether they exist or not."""
    yield from (Path(os.path.normpath(home + text[1:] if text == "~" or text.startswith("~/") else text)) for text in paths)


def is_in_any(path: Path, folders: Sequence[Path]) -> bool:
    """Whether the path, or its resolved path, is in one of the folders."""
    tops = [top for folder in folders for top in (folder, Path(os.path.realpath(folder)))]
    return any(candidate.is_relative_to(top) for candidate in (path, Path(os.path.realpath(path))) for top in tops)


def require_not_writable(hide: Iterable[str], writable: Sequence[Path], home: str, what: str = "a path of sandbox.hide") -> None:
    """Raise OperatorError for hidden paths in writable folders: they could be moved, and read under another name."""
    for path in expand_paths(hide, home):
        if is_in_any(path, writable):
            raise OperatorError(
                f"{what} is in a writable folder, where it could be moved and then read",
                expected="paths outside of the worktree and of sandbox.write",
                found=str(path),
                remedy="move it elsewhere, or list only the folders next to it in sandbox.write",
            )


def hide_paths(paths: Iterable[str], home: str) -> Iterator[Mount]:
    """Hide resolved paths: a link cannot be a mount point."""
    for path in (Path(os.path.realpath(path)) for path in existing_paths(paths, home)):
        yield Mount(str(path), "empty" if path.is_dir() else "nothing")


def _with_libraries(folder: Path) -> Path:
    """Parent folder for virtual environments, with their libraries, and shims (pyenv, asdf), with their targets."""
    return folder.parent if (folder.parent / ENVIRONMENT_MARK).is_file() or folder.name == SHIMS else folder


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(system) for system in SYSTEM)


def _is_secret(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(status.st_mode) and not status.st_mode & stat.S_IROTH
