"""`helmsman memory list`, `search`, `show` and `stats`: they change nothing of what is known."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from deployments.memory.opened import Memory, answer, found_one, opened_memory
from deployments.memory.pages import (
    Known,
    Numbers,
    found_lines,
    guardrail_lines,
    lesson_lines,
    list_lines,
    seen_last,
    stats_lines,
)
from deployments.start_directory import start_directory
from helmsman.errors import OperatorError
from helmsman.layers import shown
from helmsman.memory.guardrail_effect import effect_text, verdict
from helmsman.memory.levels import effects
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, TaskType
from tasks.memory import guardrails_place, project_of
from tasks.repository.git import open_repository

GUARDRAIL = "guardrail"

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True)
class Wanted:
    """What a list shall show."""

    project: Path | None
    """Folder of a repository; None: of all projects."""
    kind: str
    task_type: str
    retired: bool
    limit: int


def show_list(repo: Path, wanted: Wanted, *, as_json: bool) -> None:
    kind = None if wanted.kind == GUARDRAIL else _chosen(wanted.kind, LessonKind, "--kind", GUARDRAIL)
    task_type = _chosen(wanted.task_type, TaskType, "--type")
    if wanted.kind == GUARDRAIL and task_type:
        raise OperatorError("guardrails are of no kind of work", found=f"--type {task_type}", remedy="leave --type out")
    project = project_of(open_repository(wanted.project.absolute())) if wanted.project else None
    store_of = (
        wanted.project if wanted.project and repo == start_directory() else repo
    )  # its lessons are where its own loops put them
    with opened_memory(store_of) as memory:
        known: list[Known] = []
        if wanted.kind != GUARDRAIL:
            known += memory.store.lessons(project, kind, task_type, retired=wanted.retired, limit=wanted.limit + 1)
        if not kind and not task_type:
            known += _guardrails(memory, project, retired=wanted.retired)
        known.sort(key=seen_last, reverse=True)
        listed, more = known[: wanted.limit], len(known) > wanted.limit
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
        loops = {uid: _loop(memory, uid) for uid in one.sources}
        answer(memory, lesson_lines(one, loops, memory.project), {"lesson": _plain(one), "loops": loops}, as_json=as_json)


def show_stats(repo: Path, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        standing = _guardrails(memory, None, retired=False)
        levels = effects(memory.store.episodes(uid) for uid in memory.store.learning_loops())
        file = guardrails_place(memory.repository) if memory.repository else None
        numbers = Numbers(memory.store.stats(), tuple(standing), levels, file)
        answer(memory, stats_lines(numbers), _plain_numbers(numbers), as_json=as_json)


def _chosen(said: str, kinds: type[E], option: str, *others: str) -> E | None:
    """One of these words. None where nothing was said."""
    if not said or said in set(kinds):
        return kinds(said) if said else None
    expected = f"one of: {', '.join([*kinds, *others])}"
    raise OperatorError(f"{option} cannot be understood", expected=expected, found=shown(said), remedy="name one of them")


def _guardrails(memory: Memory, project: str | None, *, retired: bool) -> list[Guardrail]:
    projects = memory.store.guarded_projects() if project is None else [project]
    return [one for name in projects for one in memory.store.guardrails(name, retired=retired)]


def _loop(memory: Memory, uid: str) -> str:
    """Its name; empty where nothing of it is kept any more."""
    return next((one.loop for one in memory.store.episodes(uid)), "")


def _plain(one: BaseModel) -> dict[str, Any]:
    return one.model_dump(mode="json")


def _plain_of(record: type[Known], known: Iterable[Known]) -> list[dict[str, Any]]:
    return [_plain(one) for one in known if isinstance(one, record)]


def _plain_numbers(numbers: Numbers) -> dict[str, Any]:
    found = Counter(verdict(one).value for one in numbers.standing)
    effect = [
        {"id": one.id, "project": one.project, "verdict": verdict(one), "effect": effect_text(one)} for one in numbers.standing
    ]
    return {
        **asdict(numbers.stats),
        "verdicts": dict(found),
        "effects": effect,
        "learning": [_plain(one) for one in numbers.levels],
        "guardrails_file": str(numbers.file) if numbers.file else None,
    }
