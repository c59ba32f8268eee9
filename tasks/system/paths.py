"""Where things lie on this machine. Nothing here is needed to resume elsewhere but the repository itself."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OTHERS, GROUP = 0o007, 0o070


def closed(folder: Path, *, shut_out: int = GROUP | OTHERS) -> Path:
    """Make a folder that no other user gets into, so that the modes of what lies in it do not matter.

    One that cannot be made, or that another user owns, is left as it is.
    """
    with suppress(OSError):  # whoever writes there is told
        folder.mkdir(mode=0o777 & ~shut_out, parents=True, exist_ok=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & shut_out:
            folder.chmod(mode & ~shut_out)
    return folder


def state_home() -> Path:
    """Folder for what belongs to the user: HELMSMAN_HOME, else the XDG state folder."""
    named = os.environ.get("HELMSMAN_HOME")
    return closed(Path(named or Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "helmsman"))


def helmsman_folder(common: Path) -> Path:
    """Ours inside a repository's git folder. Where a group may write to the repository, it may also drive its loops."""
    shared = common.stat().st_mode & stat.S_IWGRP
    return closed(common / "helmsman", shut_out=OTHERS if shared else GROUP | OTHERS)


def user_config_file() -> Path:
    """The user's own configuration, for all repositories: in HELMSMAN_HOME, else in the XDG configuration folder."""
    named = os.environ.get("HELMSMAN_HOME")
    if named:
        return Path(named) / "config.toml"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "helmsman" / "config.toml"


@dataclass(frozen=True)
class Within:
    """A file or folder of a name in the `root` of whatever has it."""

    name: str

    def __get__(self, folder: Any, _: object = None) -> Path:
        return folder.root / self.name


@dataclass(frozen=True)
class DrivenFolder:
    """What is driven by one process at a time keeps this beside git's objects."""

    root: Path

    lock = Within("lock")
    cancel = Within("cancel")  # its existence asks the driver to stop


class LoopFolder(DrivenFolder):
    """What one loop keeps: a journal, answers, and a folder for every agent call."""

    journal = Within("journal.jsonl")
    answers = Within("answers")  # answers to gates, put there by whoever got them; one file each, named by the gate's key
    words = Within("words")  # what people said while nobody asked; one file for each time, until the loop has taken it
    notes = Within("notes")  # what judge and research wrote down, once the worktree is gone
    left = Within("left")  # which end of the loop has left all that it leaves
    calls = Within("calls")

    def call(self, iteration: int, attempt: int) -> Path:
        return self.calls / f"{iteration:05d}-{attempt}"


class AlignFolder(DrivenFolder):
    """What is kept of an alignment: while it is made, and what loops leave beside it."""

    attempt = Within("attempt.json")  # Under which id this one is made. It ends with the attempt: whoever begins anew asks anew.
    left = Within("left.md")  # what loops left to know whose alignment file is in no commit


class GroupFolder(DrivenFolder):
    """What a group of loops keeps."""

    choice = Within("choice.json")  # which of its loops is the best, once that is known: who has been asked is not asked again
