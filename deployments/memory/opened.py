"""The memory as its commands use it: opened, with the repository where there is one, and its answers printed."""

import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from deployments.start_directory import start_directory
from deployments.wishes import Wishes, wished
from helmsman.errors import HelmsmanError, OperatorError, WorldError
from helmsman.layers import Layer, from_environment, resolve, shown
from helmsman.plain import clean
from helmsman.records.lessons import Guardrail, Lesson
from tasks.loops.config_files import read_user_layer
from tasks.loops.opening import now_utc
from tasks.memory import Store, chosen_url, opening, project_of
from tasks.processes.environment import ours
from tasks.repository.git import Repository, open_repository

KEEP_ALL = 365
"""Daily copies: a command that looks removes none, whatever the loops of a repository are told to keep."""
WITHOUT = "loops go on without a memory that fails, and with memory.use = false they do not try"


class _Unprinted(WorldError):  # noqa: N818 - whoever meets it meets an error of the world
    """There was an answer: nothing is wrong with the memory."""


@dataclass(frozen=True)
class Memory:
    store: Store
    repository: Repository | None
    now: datetime
    notes: list[str] = field(default_factory=list[str])
    """What people should hear besides the answer."""

    @property
    def project(self) -> str:
        """Of the repository; empty where there is none."""
        return project_of(self.repository) if self.repository else ""


@contextmanager
def opened_memory(repo: Path) -> Generator[Memory]:
    """The store that a loop in this repository would use; outside of any, that of the environment, or this user's own."""
    repository = _repository(repo)
    url, now = chosen_url("") or _configured_url(repository), now_utc()
    with _said_how_to_do_without(), opening(url, now, KEEP_ALL) as store:
        yield Memory(store, repository, now, list(store.warnings))


def found_one(memory: Memory, name: str) -> Lesson | Guardrail:
    one = memory.store.lesson(name) or memory.store.guardrail(name)
    if one is None:
        raise unknown(name)
    return one


def unknown(name: str) -> OperatorError:
    return OperatorError(
        "nothing in the memory has this id",
        expected="the whole id of a lesson or a guardrail",
        found=shown(name),
        remedy="helmsman memory list --retired shows them all",
    )


def answer(memory: Memory, lines: Iterable[str], plain: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what was asked for: for people with the notes beside it, or as one JSON object that holds them."""
    if as_json:
        say(json.dumps({**plain, "notes": memory.notes}))
        return
    tell_notes(memory)
    say("\n".join(lines))


def tell_notes(memory: Memory) -> None:
    sys.stderr.write("".join(f"note: {clean(note)}\n" for note in memory.notes))


def say(text: str) -> None:
    emit([f"{text}\n"])


def emit(pieces: Iterable[str]) -> None:
    """Write to standard output as UTF-8. Whoever read it may have enough of it; that is no error."""
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the rest of it is tried once more at the end
        if not isinstance(error, BrokenPipeError):
            raise _Unprinted("the answer cannot be written", found=str(error), remedy="make room where it goes") from error


def _repository(repo: Path) -> Repository | None:
    """A memory is there without any repository; but one that was named has to be there."""
    try:
        return open_repository(repo)
    except HelmsmanError:
        if repo != start_directory():
            raise
        return None


def _configured_url(repository: Repository | None) -> str:
    if repository:
        return wished(repository, Wishes(), goal_later=True).config.memory.url
    layers = [Layer("environment", from_environment(ours())), *read_user_layer(), Layer("not given yet", {"goal": "…"})]
    return resolve(layers).config.memory.url


@contextmanager
def _said_how_to_do_without() -> Generator[None]:
    try:
        yield
    except _Unprinted:
        raise
    except WorldError as error:
        first = error.remedy.removesuffix(", or set memory.use to false")
        remedy = "; ".join(filter(None, (first, WITHOUT)))
        raise WorldError(error.problem, expected=error.expected, found=error.found, remedy=remedy) from error
