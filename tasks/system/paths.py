"""Paths on this machine. To resume elsewhere, only the repository itself is needed."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OTHERS, GROUP = 0o007, 0o070


def private_folder(folder: Path, *, shut_out: int = GROUP | OTHERS) -> Path:
    """Create a folder that other users cannot enter, so that the modes of its content do not matter.

    Ignores errors, such as for a folder that another user owns.
    """
    with suppress(OSError):  # later writes will report it
        folder.mkdir(mode=0o777 & ~shut_out, parents=True, exist_ok=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & shut_out:
            folder.chmod(mode & ~shut_out)
    return folder


def state_home() -> Path:
    """The user's state folder: HELMSMAN_HOME, or else the XDG state folder."""
    configured = os.environ.get("HELMSMAN_HOME")
    return private_folder(
        Path(configured or Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "helmsman")
    )


def helmsman_folder(common: Path) -> Path:
    """Our folder inside a repository's git folder. If a group may write to the repository, it may also drive its loops."""
    shared = common.stat().st_mode & stat.S_IWGRP
    return private_folder(common / "helmsman", shut_out=OTHERS if shared else GROUP | OTHERS)


def user_config_file() -> Path:
    """The user's configuration for all repositories: in HELMSMAN_HOME, or else in the XDG configuration folder."""
    configured = os.environ.get("HELMSMAN_HOME")
    if configured:
        return Path(configured) / "config.toml"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "helmsman" / "config.toml"


@dataclass(frozen=True)
class Within:
    """Descriptor of a path below the `root` of its owner."""

    name: str

    def __get__(self, folder: Any, _: object = None) -> Path:
        return folder.root / self.name


@dataclass(frozen=True)
class DrivenFolder:
    """Folder inside the git folder of something that one process drives at a time."""

    root: Path

    lock = Within("lock")
    cancel = Within("cancel")  # its existence asks the driver to stop


class LoopFolder(DrivenFolder):
    """Folder of a loop: journal, answers, and a folder for every agent call."""

    journal = Within("journal.jsonl")
    answers = Within("answers")  # answers to gates, from any channel; one file each, named by the gate's key
    words = Within("words")  # unsolicited messages of people; one file each, until the loop has read it
    notes = Within("notes")  # notes of judge and research, after the worktree is gone
    left = Within("left")  # the ending for which the loop has finished its clean-up
    calls = Within("calls")

    def call(self, iteration: int, attempt: int) -> Path:
        return self.calls / f"{iteration:05d}-{attempt}"


class AlignFolder(DrivenFolder):
    """Folder of an alignment: its attempt, and the notes that loops leave."""

    attempt = Within("attempt.json")  # id of the current attempt; deleted with it, so that a new attempt asks again
    left = Within("left.md")  # notes of loops whose alignment file is in no commit


class GroupFolder(DrivenFolder):
    """Folder of a group of loops."""

    names = Within("names")  # ids of its loops, one a line
    choice = Within("choice.json")  # the best of its loops, once known, so that nobody is asked again
