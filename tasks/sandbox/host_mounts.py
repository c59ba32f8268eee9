"""What a command needs of this machine to run at all, and what of it is nobody's business: found out by looking."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.sandbox.box import SYSTEM, Mount

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO")
"""Variables that name them, wherever they lie."""
RESOLVER = "/etc/resolv.conf"
ENVIRONMENT_MARK = "pyvenv.cfg"
SHIMS = "shims"


def tools(environment: Mapping[str, str], program: Path | None, writable: Sequence[Path] = ()) -> Iterator[Mount]:
    """Programs outside of the system's folders: what PATH names, the agent's own, and the Python that runs inside.py.

    Where the agent can write, no link is followed to what it leads to: it would choose what it is shown in its next call.
    """
    home = environment.get("HOME", "")
    named = [Path(folder) for folder in environment.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    python = [Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parent]
    own = [_whole(program.parent)] if program else []
    own += [_whole(Path(os.path.realpath(program)).parent)] if program and not lies_in(program, writable) else []
    certificates = [Path(environment[name]) for name in CERTIFICATES if environment.get(name)]
    programs = [*map(_whole, named), *own]
    libraries = list[Path]()
    for folder in programs:  # of a virtual environment whose Python lies elsewhere: that, and nothing beside it
        if not lies_in(folder, writable) and (folder / ENVIRONMENT_MARK).is_file():
            real = Path(os.path.realpath(folder / "bin" / "python")).parent
            libraries += [real, real.parent / "lib"]
    for path in dict.fromkeys([*programs, *python, *libraries, *certificates]):
        # a folder on PATH that is the home, or above it, would show all of it
        if path.exists() and not _known(path) and not (home and Path(home).is_relative_to(path)):
            yield Mount(str(path))
    resolver = Path(os.path.realpath(RESOLVER))
    if resolver.is_file() and not _known(resolver):
        yield Mount(str(resolver))


def unreadable(folder: str = "/etc") -> Iterator[Mount]:
    """What not everybody may read there is hidden: who runs as root, or is in a group, would hand it on."""
    for at, folders, files in os.walk(folder):
        secret = [name for name in folders if _is_secret(Path(at, name))]
        folders[:] = [name for name in folders if name not in secret]
        yield from (Mount(os.path.join(at, name), "empty") for name in secret)  # noqa: PTH118 - thousands of names
        yield from (Mount(os.path.join(at, name), "nothing") for name in files if _is_secret(Path(at, name)))  # noqa: PTH118


def named(paths: Iterable[str], home: str) -> Iterator[Path]:
    """Paths that an operator wrote; `~` is the home. What is not there is passed over: one file may serve many machines."""
    yield from (path for path in written_out(paths, home) if path.exists())


def written_out(paths: Iterable[str], home: str) -> Iterator[Path]:
    """The same, whether they are there or not."""
    yield from (Path(os.path.normpath(home + text[1:] if text == "~" or text.startswith("~/") else text)) for text in paths)


def lies_in(path: Path, folders: Sequence[Path]) -> bool:
    """As it is written, or where its links lead."""
    tops = [top for folder in folders for top in (folder, Path(os.path.realpath(folder)))]
    return any(one.is_relative_to(top) for one in (path, Path(os.path.realpath(path))) for top in tops)


def refuse_hidden_in(hide: Iterable[str], writable: Sequence[Path], home: str, what: str = "what sandbox.hide names") -> None:
    """Raises OperatorError for what is to be hidden where it could be moved away, and be read under another name from then on."""
    for path in written_out(hide, home):
        if lies_in(path, writable):
            raise OperatorError(
                f"{what} lies in a folder that can be written to: it could be moved there, and be read",
                expected="paths outside of the worktree and of sandbox.write",
                found=str(path),
                remedy="keep it elsewhere, or name in sandbox.write only the folders beside it",
            )


def hidden(paths: Iterable[str], home: str) -> Iterator[Mount]:
    """Where a path leads is hidden: nothing may be laid over a link."""
    for path in (Path(os.path.realpath(path)) for path in named(paths, home)):
        yield Mount(str(path), "empty" if path.is_dir() else "nothing")


def _whole(folder: Path) -> Path:
    """A virtual environment is of no use without its libraries, nor shims (pyenv's, asdf's) without what they lead to."""
    return folder.parent if (folder.parent / ENVIRONMENT_MARK).is_file() or folder.name == SHIMS else folder


def _known(path: Path) -> bool:
    return any(path.is_relative_to(system) for system in SYSTEM)


def _is_secret(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(found.st_mode) and not found.st_mode & stat.S_IROTH
