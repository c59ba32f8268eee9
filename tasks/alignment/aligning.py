"""An alignment in progress: its file, its id, and its configuration."""

import json
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.config.layers import Layer
from helmsman.errors import OperatorError
from helmsman.memory.handoff import is_goal_completed
from helmsman.parsers.alignment_file import is_same_goal
from helmsman.records.alignment import LONGEST_GOAL, Alignment, AlignRequest
from helmsman.records.request import LoopRequest
from tasks.loop.alignment_file import (
    align_folder,
    alignment_path,
    other_goal_error,
    parse_alignment,
    read_alignment,
    read_text,
    with_stored_handoffs,
    write_alignment,
)
from tasks.loop.configure import configure
from tasks.repository.git import Repository, open_repository
from tasks.system.files import read_json, write_atomic
from tasks.system.paths import AlignFolder
from tasks.system.trust import consent_of


@dataclass(frozen=True)
class Work:
    """An alignment in progress, with its file and its id."""

    repository: Repository
    config: LoopConfig
    file: str
    uid: str
    asks: bool

    @property
    def goal(self) -> str:
        return self.config.goal

    @property
    def name(self) -> str:
        return self.folder.root.name

    @property
    def path(self) -> Path:
        return alignment_path(self.repository.top, self.file)

    @property
    def folder(self) -> AlignFolder:
        return align_folder(self.repository, self.file)


def attempt_id(folder: AlignFolder, goal: str) -> str:
    """The id of the last interrupted attempt at the same goal, or a new one, stored before it is used."""
    attempt = read_json(folder.attempt)
    if "uid" in attempt and is_same_goal(str(attempt.get("goal")), goal):
        return str(attempt["uid"])
    uid = secrets.token_hex(8)
    write_atomic(folder.attempt, json.dumps({"uid": uid, "goal": goal}))
    return uid


def require_worktree(repository: Repository) -> Repository:
    if repository.bare:
        raise OperatorError(
            "a bare repository has no worktree for an alignment file", found=str(repository.top), remedy="use a clone"
        )
    return repository


def current_alignment(work: Work) -> Alignment | None:
    """The alignment in the file; None without a file. Raises OperatorError for another document or another goal."""
    alignment = read_alignment(work.path)
    if alignment is not None and not is_same_goal(alignment.goal, work.goal):
        if is_goal_completed(with_stored_handoffs(work.repository, work.file, alignment)):
            return None
        raise other_goal_error(
            work.path, alignment, f"remove it, or give --out FILE, or align its own goal: helmsman align --out {work.file}"
        )
    return alignment


def current_alignment_if_readable(work: Work) -> Alignment | None:
    """The alignment in the file; None also while a person's edit makes it unreadable."""
    try:
        return current_alignment(work)
    except OperatorError:
        return None


def replace_alignment(work: Work, alignment: Alignment, over: Alignment | None) -> Path | None:
    """Write the file. Return the path of a backup where the file's content is neither `over` nor `alignment`."""
    text, is_expected = read_text(work.path), False
    with suppress(OperatorError):  # text that is not an alignment is a person's
        is_expected = text is None or parse_alignment(work.path, text) in (over, alignment)
    backup = None
    if text is not None and not is_expected:
        work.folder.root.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix="before-", suffix=".md", dir=work.folder.root)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        backup = Path(name)
    write_alignment(work.path, alignment)
    return backup


def configure_alignment(request: AlignRequest) -> LoopConfig:
    """The configuration for an alignment. Without a goal in the request, that of the existing file is used."""
    repository = open_repository(Path(request.repository))
    alignment = None if request.goal else read_alignment(alignment_path(repository.top, request.out))
    loop_request = LoopRequest(repository=request.repository, goal=request.goal, settings=request.settings)
    stronger = [Layer(request.out, {"goal": alignment.goal})] if alignment else []
    config = configure(repository.top, loop_request, consent=consent_of(repository.consent_key), stronger=stronger).config
    if len(config.goal) > LONGEST_GOAL:
        raise OperatorError(
            "the goal is too long for an alignment",
            expected=f"{LONGEST_GOAL:,} characters at most",
            found=f"{len(config.goal):,}",
            remedy="summarise it, and name the files with the rest",
        )
    return config
