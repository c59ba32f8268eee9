"""`helmsman memory`: the store that a loop here would use, looked at, taken elsewhere, and made to forget.

Each command finds its answer while the store is open and prints it afterwards: whoever reads it may take all day.
"""

import json
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from deployments.dialogue import agreed, is_anybody_there
from deployments.output import answer, emit, fields, write_file
from deployments.settings import configuration, repository_if_any
from deployments.start_directory import STANDARD_STREAM, start_directory
from helmsman.config.layers import Layer, display, from_environment, resolve
from helmsman.errors import OperatorError
from helmsman.memory.guardrail_effect import effect_text, verdict
from helmsman.plain import clean, shortened
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, TaskType
from tasks.loop.configure import read_user_layer
from tasks.memory import Store, chosen_url, delete, guardrails_place, opening, project_of
from tasks.repository.git import Repository, open_repository
from tasks.system.clock import now_utc
from tasks.system.environment import ours

GUARDRAIL = "guardrail"
NOTHING_KEPT = "nothing matches; loops add lessons as they run: helmsman run GOAL --check CMD"
HEAD = f"{'id':<13}{'kind':<12}{'tier':<10}{'sure':>5}{'went well':>11}  text"
TEXT_SHOWN = 100  # characters, in a list; `show` has all of it
EFFECTS_SHOWN = 20
WIDTH = 17
NOTHING = {"None", "", "False"}

Known: TypeAlias = Lesson | Guardrail
E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")


@dataclass(frozen=True)
class Memory:
    store: Store
    repository: Repository | None
    now: datetime
    notes: list[str]  # what people should hear besides the answer

    @property
    def project(self) -> str:
        return project_of(self.repository) if self.repository else ""

    def guardrails(self, project: str | None, *, retired: bool = False) -> list[Guardrail]:
        """Those of a project; None: of all."""
        projects = self.store.guarded_projects() if project is None else [project]
        return [one for name in projects for one in self.store.guardrails(name, retired=retired)]

    def one(self, name: str) -> Known:
        """A lesson or a guardrail by its id. Raises OperatorError where there is none, or somebody else was quicker."""
        found = self.store.lesson(name) or self.store.guardrail(name)
        if found is None:
            raise OperatorError(
                "no lesson or guardrail has this id",
                expected="the full id of a lesson or a guardrail",
                found=display(name),
                remedy="helmsman memory list --retired shows them all",
            )
        return found


@contextmanager
def opened_memory(repo: Path) -> Generator[Memory]:
    """The store that a loop in this repository would use; outside of any, that of the environment, or this user's own."""
    repository, now = repository_if_any(repo), now_utc()
    url = chosen_url("")
    if not url and repository:
        url = configuration(repository, {}, goal_later=True).config.memory.url
    elif not url:
        layers = [Layer("environment", from_environment(ours())), *read_user_layer(), Layer("not given yet", {"goal": "…"})]
        url = resolve(layers).config.memory.url
    with opening(url, now) as store:
        yield Memory(store, repository, now, list(store.warnings))


def _answer(memory: Memory, lines: Iterable[str], plain: Mapping[str, Any], *, as_json: bool) -> None:
    """The notes go beside what people read, and into the object."""
    if not as_json:
        _tell_notes(memory)
    answer({**plain, "notes": memory.notes}, lines, as_json=as_json)


def _tell_notes(memory: Memory) -> None:
    sys.stderr.write("".join(f"note: {clean(note)}\n" for note in memory.notes))


def show_list(repo: Path, *, project: Path | None, kind: str, task_type: str, retired: bool, limit: int, as_json: bool) -> None:
    """`project`: the folder of a repository; None: of all projects."""
    lessons = None if kind == GUARDRAIL else _chosen(kind, LessonKind, "--kind", GUARDRAIL)
    work = _chosen(task_type, TaskType, "--type")
    if kind == GUARDRAIL and work:
        raise OperatorError("guardrails have no task type", found=f"--type {work}", remedy="leave --type out")
    only = project_of(open_repository(project.absolute())) if project else None
    store_of = project if project and repo == start_directory() else repo  # its lessons are where its own loops put them
    with opened_memory(store_of) as memory:
        known: list[Known] = []
        if kind != GUARDRAIL:
            known += memory.store.lessons(only, lessons, work, retired=retired, limit=limit + 1)
        if not lessons and not work:
            known += memory.guardrails(only, retired=retired)
    known.sort(key=_seen_last, reverse=True)
    listed, more = known[:limit], len(known) > limit
    kinds: dict[str, type[Known]] = {"lessons": Lesson, "guardrails": Guardrail}
    plain = {name: [one.model_dump(mode="json") for one in listed if type(one) is record] for name, record in kinds.items()}
    lines = [HEAD, *map(_row, listed)] if listed else [NOTHING_KEPT]
    lines += ["and more: --limit shows more, --project, --kind and --type narrow the list"] if more else []
    _answer(memory, lines, {**plain, "more": more}, as_json=as_json)


def _seen_last(one: Known) -> datetime:
    moments = (one.updated_at,) if isinstance(one, Lesson) else (one.created_at, one.loaded_at)
    return max(at if at.tzinfo else at.replace(tzinfo=UTC) for at in moments if at)


def show_found(repo: Path, text: str, kind: str, limit: int, *, as_json: bool) -> None:
    only = _chosen(kind, LessonKind, "--kind")
    if not text.strip():
        raise OperatorError("the query is empty", expected="some words", found=display(text), remedy="give a few words")
    with opened_memory(repo) as memory:
        found = memory.store.search(text, only, limit=limit)[:limit]
    plain = {"found": [{"score": round(one.text, 4), **one.lesson.model_dump(mode="json")} for one in found]}
    lines = [f"{'score':<7}{HEAD}", *(_row(one.lesson, f"{one.text:<7.2f}") for one in found)]
    _answer(memory, lines if found else ["no lesson holds any of these words"], plain, as_json=as_json)


def _chosen(said: str, kinds: type[E], option: str, *others: str) -> E | None:
    """One of these words. None where nothing was said."""
    if not said or said in set(kinds):
        return kinds(said) if said else None
    expected = f"one of: {', '.join([*kinds, *others])}"
    raise OperatorError(f"{option} cannot be understood", expected=expected, found=display(said), remedy="name one of them")


def _row(one: Known, before: str = "") -> str:
    if isinstance(one, Lesson):
        kind, tier, sure, well = one.kind, one.tier, f"{one.confidence:.2f}", f"{one.successes}/{one.uses}"
    else:  # it went well where its class did not fail although it could have
        well = f"{one.after_of - one.after_seen}/{one.after_of}" if one.failure else "-"
        kind, tier, sure = GUARDRAIL, "standing", "-"
    tier = "retired" if one.retired else tier
    return f"{before}{clean(one.id):<12} {kind:<12}{tier:<10}{sure:>5}{well:>11}  {shortened(_said(one), TEXT_SHOWN)}"


def _said(one: Known) -> str:
    words = (one.text,) if isinstance(one, Lesson) else (one.trigger, one.instruction)
    return ": ".join(filter(None, (" ".join(clean(text).split()) for text in words)))


def show_one(repo: Path, name: str, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        one = memory.one(name)
        named = {uid: memory.store.episodes(uid) for uid in one.sources} if isinstance(one, Lesson) else {}
    if isinstance(one, Guardrail):
        effect = effect_text(one)
        more: dict[str, Any] = {"effect": effect}
        plain = {GUARDRAIL: one.model_dump(mode="json"), **more}
    else:
        loops = {uid: next((of.loop for of in known), "") for uid, known in named.items()}  # empty: nothing of it is kept
        more = {"sources": [f"{name} ({uid})" if name else uid for uid, name in loops.items()]}
        plain = {"lesson": one.model_dump(mode="json"), "loops": loops}
    _answer(memory, _field_lines({**one.model_dump(mode="json"), **more}), plain, as_json=as_json)


def _field_lines(known: Mapping[str, Any]) -> Iterator[str]:
    """All that is stored of it; what says nothing is left out."""
    for name, value in known.items():
        values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
        yield from fields([(name.replace("_", " "), [told for one in values if (told := str(one)) not in NOTHING])], WIDTH)


def show_stats(repo: Path, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        standing, stats = memory.guardrails(None), memory.store.stats()
    file = guardrails_place(memory.repository) if memory.repository else None
    plain = {
        **asdict(stats),
        "verdicts": dict(Counter(verdict(one).value for one in standing)),
        "effects": [
            {"id": one.id, "project": one.project, "verdict": verdict(one), "effect": effect_text(one)} for one in standing
        ],
        "guardrails_file": str(file) if file else None,
    }
    more = [f"and {len(standing) - EFFECTS_SHOWN} more"] if len(standing) > EFFECTS_SHOWN else []
    told = [f"{one.id}  {effect_text(one)}" for one in standing[:EFFECTS_SHOWN]]
    known = {**asdict(stats), "size": f"{stats.size:,} bytes", "effects": [*told, *more], "guardrails_file": file}
    _answer(memory, _field_lines(known), plain, as_json=as_json)


def export_to(repo: Path, file: Path, *, force: bool, as_json: bool) -> None:
    """Write one JSON document; `-`: to standard output, and nothing else."""
    with opened_memory(repo) as memory:
        text = memory.store.export()
    if file == STANDARD_STREAM:
        _tell_notes(memory)
        emit(text)
        return
    write_file(file, text, "the export", "name another file, or print it with -", force=force, mode=0o600)
    checksum, path, count = json.loads(text)["sha256"], str(file.absolute()), len(text.encode())
    line = f"{clean(path)}: {count:,} bytes, SHA-256 {checksum}"
    _answer(memory, [line], {"file": path, "bytes": count, "sha256": checksum}, as_json=as_json)


def import_from(repo: Path, file: Path, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        sections = memory.store.import_(file)
    words = "{added} added, {replaced} replaced by newer ones, {kept} left as they were"
    _answer(memory, fields((name, words.format_map(merged)) for name, merged in sections.items()), sections, as_json=as_json)


def forget(repo: Path, name: str, *, yes: bool, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        one = memory.one(name)
        question = f"{clean(one.id)}: {_said(one)}\nDelete it permanently?"
        if not (yes or as_json) and is_anybody_there() and not agreed(question):
            raise OperatorError("nothing was forgotten", remedy="pass --yes to forget without asking")
        if isinstance(one, Guardrail) and memory.repository and one.project == memory.project:
            memory.notes.extend(filter(None, [delete(memory.repository, memory.store, one, memory.now)]))
        else:
            with memory.store.change() as change:
                gone = change.forget(one.id)
            if not gone:
                memory.one(one.id)  # somebody else was quicker
        memory.notes.extend(_left(memory, one))
    kind = GUARDRAIL if isinstance(one, Guardrail) else "lesson"
    line = f"forgotten: {kind} {clean(one.id)}: {_said(one)}"
    _answer(memory, [line], {"forgotten": kind, kind: one.model_dump(mode="json")}, as_json=as_json)


def _left(memory: Memory, one: Known) -> Iterator[str]:
    """Where it is still, and how it could come back."""
    stats = memory.store.stats()
    if stats.backups:
        yield f"daily copies of the store that may hold it still: {len(stats.backups)}"
    if stats.damaged:
        yield f"damaged files of the store that may hold it still, beside it: {', '.join(stats.damaged)}"
    if isinstance(one, Lesson):
        return
    if one.project != memory.project:
        yield "the guardrails.md of its own repository keeps its words until it is written next; --repo DIR names that repository"
    if one.failure:
        yield "failures of its class may make it anew; one that is deleted in guardrails.md instead is not made again"
