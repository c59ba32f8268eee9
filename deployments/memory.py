"""`helmsman memory`: its store, opened as a loop would, looked at, taken elsewhere, and made to forget."""

import json
import os
import re
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from deployments.dialogue import YES, is_anybody_there, typed
from deployments.memory_text import (
    Known,
    found_lines,
    guardrail_lines,
    import_lines,
    lesson_lines,
    list_lines,
    said,
    seen_last,
    size,
    stats_lines,
)
from deployments.settings import configuration
from deployments.start_directory import start_directory
from helmsman.errors import HelmsmanError, OperatorError, WorldError
from helmsman.layers import Layer, from_environment, resolve, shown
from helmsman.memory.guardrail_effect import effect_text, verdict
from helmsman.memory.levels import effects
from helmsman.plain import clean
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, TaskType
from tasks.loop.files import read_user_layer
from tasks.memory import Store, chosen_url, delete, guardrails_place, opening, project_of
from tasks.processes.environment import ours
from tasks.repository.git import Repository, open_repository
from tasks.system.clock import now_utc

KEEP_ALL = 365
"""Daily copies: a command that looks removes none, whatever the loops of a repository are told to keep."""
WITHOUT = "loops go on without a memory that fails, and with memory.use = false they do not try"
GUARDRAIL = "guardrail"
STANDARD_OUTPUT = Path("-")
LONGEST_PREFIX = 100
_CHECKSUM = re.compile(r'"sha256":"([0-9a-f]{64})"')

E = TypeVar("E", bound=StrEnum)


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
        return configuration(repository, {}, goal_later=True).config.memory.url
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


# --- looking ------------------------------------------------------------------------------------------------------


def show_list(repo: Path, *, project: Path | None, kind: str, task_type: str, retired: bool, limit: int, as_json: bool) -> None:
    """`project`: the folder of a repository; None: of all projects."""
    lessons = None if kind == GUARDRAIL else _chosen(kind, LessonKind, "--kind", GUARDRAIL)
    work = _chosen(task_type, TaskType, "--type")
    if kind == GUARDRAIL and work:
        raise OperatorError("guardrails are of no kind of work", found=f"--type {work}", remedy="leave --type out")
    only = project_of(open_repository(project.absolute())) if project else None
    store_of = project if project and repo == start_directory() else repo  # its lessons are where its own loops put them
    with opened_memory(store_of) as memory:
        known: list[Known] = []
        if kind != GUARDRAIL:
            known += memory.store.lessons(only, lessons, work, retired=retired, limit=limit + 1)
        if not lessons and not work:
            known += _guardrails(memory, only, retired=retired)
        known.sort(key=seen_last, reverse=True)
        listed, more = known[:limit], len(known) > limit
        plain = {"lessons": _plain_of(Lesson, listed), "guardrails": _plain_of(Guardrail, listed), "more": more}
        answer(memory, list_lines(listed, more=more), plain, as_json=as_json)


def show_found(repo: Path, text: str, kind: str, limit: int, *, as_json: bool) -> None:
    only = _chosen(kind, LessonKind, "--kind")
    if not text.strip():
        raise OperatorError("there is nothing to look for", expected="some words", found=shown(text), remedy="name a few words")
    with opened_memory(repo) as memory:
        found = memory.store.search(text, [only] if only else None, limit=limit)[:limit]
        plain = {"found": [{"score": round(one.text, 4), **_plain(one.lesson)} for one in found]}
        answer(memory, found_lines(found), plain, as_json=as_json)


def show_one(repo: Path, name: str, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        one = found_one(memory, name)
        if isinstance(one, Guardrail):
            effect = effect_text(one)
            answer(memory, guardrail_lines(one, memory.project), {GUARDRAIL: _plain(one), "effect": effect}, as_json=as_json)
            return
        named = {uid: memory.store.episodes(uid) for uid in one.sources}
        loops = {uid: next((of.loop for of in known), "") for uid, known in named.items()}  # empty: nothing of it is kept
        answer(memory, lesson_lines(one, loops, memory.project), {"lesson": _plain(one), "loops": loops}, as_json=as_json)


def show_stats(repo: Path, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        standing, stats = _guardrails(memory, None, retired=False), memory.store.stats()
        levels = effects(memory.store.episodes(uid) for uid in memory.store.learning_loops())
        file = guardrails_place(memory.repository) if memory.repository else None
        plain = {
            **asdict(stats),
            "verdicts": dict(Counter(verdict(one).value for one in standing)),
            "effects": [
                {"id": one.id, "project": one.project, "verdict": verdict(one), "effect": effect_text(one)} for one in standing
            ],
            "learning": [_plain(one) for one in levels],
            "guardrails_file": str(file) if file else None,
        }
        answer(memory, stats_lines(stats, standing, levels, file), plain, as_json=as_json)


def _chosen(said: str, kinds: type[E], option: str, *others: str) -> E | None:
    """One of these words. None where nothing was said."""
    if not said or said in set(kinds):
        return kinds(said) if said else None
    expected = f"one of: {', '.join([*kinds, *others])}"
    raise OperatorError(f"{option} cannot be understood", expected=expected, found=shown(said), remedy="name one of them")


def _guardrails(memory: Memory, project: str | None, *, retired: bool) -> list[Guardrail]:
    projects = memory.store.guarded_projects() if project is None else [project]
    return [one for name in projects for one in memory.store.guardrails(name, retired=retired)]


def _plain(one: BaseModel) -> dict[str, Any]:
    return one.model_dump(mode="json")


def _plain_of(record: type[Known], known: Iterable[Known]) -> list[dict[str, Any]]:
    return [_plain(one) for one in known if isinstance(one, record)]


# --- taking it elsewhere ------------------------------------------------------------------------------------------


def export_to(repo: Path, file: Path, *, force: bool, as_json: bool) -> None:
    """Write the document whole or not at all; `-`: to standard output, and nothing else."""
    if file == STANDARD_OUTPUT:
        _print(repo)
        return
    _refuse(file, force=force)
    with opened_memory(repo) as memory:
        count, checksum = _write(file, memory.store.export(), force=force)
        path = str(file.absolute())
        line = f"{clean(path)}: {size(count)}, SHA-256 {checksum}"
        answer(memory, [line], {"file": path, "bytes": count, "sha256": checksum}, as_json=as_json)


def import_from(repo: Path, file: Path, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        merged = memory.store.import_(file)
        answer(memory, import_lines(merged), asdict(merged), as_json=as_json)


def _print(repo: Path) -> None:
    """From a file of nobody's: who reads it may take all day, while a server ends what asks and does not listen."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as whole:
        with opened_memory(repo) as memory:
            tell_notes(memory)
            try:
                whole.writelines(memory.store.export())
                whole.seek(0)
            except OSError as error:
                what, found = (
                    "nothing was exported: there is no room to get it ready",
                    f"{tempfile.gettempdir()}: {error.strerror}",
                )
                remedy = "free some space there, or name another folder by TMPDIR"
                raise OperatorError(what, found=found, remedy=remedy) from error
        emit(whole)


def _refuse(file: Path, *, force: bool) -> None:
    try:
        found = os.lstat(file)
    except FileNotFoundError:
        return
    except OSError as error:  # a name that no file can have
        raise _cannot(file, error.strerror or str(error)) from error
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "something that is no file"
        raise _cannot(file, what, "name a file, or - to print it")
    if not force:
        raise _there(file)


def _write(file: Path, pieces: Iterable[str], *, force: bool) -> tuple[int, str]:
    """By way of a file beside it that only this user reads: nobody ever sees half a document."""
    part = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name[:LONGEST_PREFIX]}.", dir=file.absolute().parent)
        part = Path(name)
        written = _put(handle, pieces)
        _give_name(part, file, force=force)
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from error
    finally:
        if part:
            part.unlink(missing_ok=True)
    return written


def _put(handle: int, pieces: Iterable[str]) -> tuple[int, str]:
    count, last = 0, ""
    with os.fdopen(handle, "wb") as target:
        for piece in pieces:
            count, last = count + target.write(piece.encode()), piece
        target.flush()
        os.fsync(target.fileno())
    found = _CHECKSUM.search(last)
    return count, found.group(1) if found else ""


def _give_name(part: Path, file: Path, *, force: bool) -> None:
    if force:
        part.replace(file)
        return
    try:
        os.link(part, file)  # never over what somebody put there meanwhile
    except FileExistsError:
        raise _there(file) from None
    except OSError:  # a file system without second names
        _refuse(file, force=False)
        part.replace(file)


def _there(file: Path) -> OperatorError:
    return OperatorError(
        "nothing was exported: the file is there already", found=str(file), remedy="name another file, or replace it with --force"
    )


def _cannot(file: Path, found: str, remedy: str = "name another file, or print it with -") -> OperatorError:
    expected = "a file in a folder that is there and may be written to"
    return OperatorError(
        "nothing was exported: the file cannot be written", expected=expected, found=f"{file}: {found}", remedy=remedy
    )


# --- forgetting ---------------------------------------------------------------------------------------------------


def forget(repo: Path, name: str, *, yes: bool, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        one = found_one(memory, name)
        if not (yes or as_json):
            _confirm(one)
        _remove(memory, one)
        memory.notes.extend(_left(memory, one))
        kind = "guardrail" if isinstance(one, Guardrail) else "lesson"
        line = f"forgotten: {kind} {clean(one.id)}: {said(one)}"
        answer(memory, [line], {"forgotten": kind, kind: one.model_dump(mode="json")}, as_json=as_json)


def _confirm(one: Lesson | Guardrail) -> None:
    if not is_anybody_there():
        return
    answered = typed(f"{clean(one.id)}: {said(one)}\nForget it for good? [y/N]") or ""
    if answered.lower() not in YES:
        raise OperatorError("nothing was forgotten", remedy="--yes forgets without asking")


def _remove(memory: Memory, one: Lesson | Guardrail) -> None:
    if isinstance(one, Guardrail) and memory.repository and one.project == memory.project:
        file = delete(memory.repository, memory.store, one, memory.now)
        memory.notes.extend(filter(None, (file.warning, "guardrails.md is without it now" if file.changed else "")))
        return
    with memory.store.change() as change:
        gone = change.forget(one.id)
    if not gone:  # somebody else was quicker
        raise unknown(one.id)


def _left(memory: Memory, one: Lesson | Guardrail) -> Iterator[str]:
    """Where it is still, and how it could come back."""
    stats = memory.store.stats()
    if stats.backups:
        yield f"daily copies of the store that may hold it still: {len(stats.backups)}"
    if stats.damaged:
        yield f"damaged files of the store that may hold it still, beside it: {', '.join(stats.damaged)}"
    if isinstance(one, Lesson):
        return
    if one.project != memory.project:
        yield "the guardrails.md of its own repository keeps its words, as a note; --repo DIR names that repository"
    if one.failure:
        yield "failures of its class may make it anew; one that is deleted in guardrails.md instead is not made again"
