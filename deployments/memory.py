"""`helmsman memory`: inspect, export, import and delete from the store that a loop here would use.

Each command closes the store before it prints, since a pager may keep the output open for hours.
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

from deployments.dialogue import confirm, has_terminal
from deployments.output import fields, print_result, write_file, write_stdout
from deployments.settings import configuration, operator_settings, repository_if_any
from deployments.start_directory import STANDARD_STREAM, start_directory
from helmsman.config.layers import display
from helmsman.errors import OperatorError
from helmsman.memory.learned_guardrails import effect_text, verdict
from helmsman.plain import clean, shorten
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, TaskType
from tasks.memory import Store, guardrails_path, memory_url, open_store, project_id, write_guardrails
from tasks.repository.git import Repository, open_repository

GUARDRAIL = "guardrail"
NO_MATCH = "nothing matches; loops add lessons as they run: helmsman run GOAL --check CMD"
HEAD = f"{'id':<13}{'kind':<12}{'tier':<10}{'sure':>5}{'went well':>11}  text"
TEXT_SHOWN = 100  # characters in a list; `show` prints the full text
EFFECTS_SHOWN = 20
WIDTH = 17
EMPTY_VALUES = {"None", "", "False"}

Entry: TypeAlias = Lesson | Guardrail
E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")


@dataclass(frozen=True)
class Memory:
    store: Store
    repository: Repository | None
    now: datetime
    notes: list[str]  # notices to print besides the result

    @property
    def project(self) -> str:
        return project_id(self.repository) if self.repository else ""

    def guardrails(self, project: str | None, *, retired: bool = False) -> list[Guardrail]:
        """Guardrails of a project; None: of all projects."""
        projects = self.store.guarded_projects() if project is None else [project]
        return [guardrail for name in projects for guardrail in self.store.guardrails(name, retired=retired)]

    def find(self, name: str) -> Entry:
        """A lesson or guardrail by id. Raises OperatorError if it does not exist or was just deleted."""
        entry = self.store.lesson(name) or self.store.guardrail(name)
        if entry is None:
            raise OperatorError(
                "no lesson or guardrail has this id",
                expected="the full id of a lesson or a guardrail",
                found=display(name),
                remedy="helmsman memory list --retired shows them all",
            )
        return entry


@contextmanager
def open_memory(repo: Path) -> Generator[Memory]:
    """Open the store that a loop in this repository would use; outside of one, the environment's or the user's store."""
    repository, now = repository_if_any(repo), datetime.now(UTC)
    url = memory_url("")
    if not url and repository:
        url = configuration(repository, {}, goal_later=True).config.memory.url
    elif not url:
        url = operator_settings().config.memory.url
    with open_store(url, now) as store:
        yield Memory(store, repository, now, list(store.warnings))


def _emit(memory: Memory, lines: Iterable[str], plain: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the result: notes go to standard error, or into the JSON object."""
    if not as_json:
        _print_notes(memory)
    print_result({**plain, "notes": memory.notes}, lines, as_json=as_json)


def _print_notes(memory: Memory) -> None:
    sys.stderr.write("".join(f"note: {clean(note)}\n" for note in memory.notes))


def show_list(repo: Path, *, project: Path | None, kind: str, task_type: str, retired: bool, limit: int, as_json: bool) -> None:
    """Print lessons and guardrails. `project`: folder of a repository; None: all projects."""
    lesson_kind = None if kind == GUARDRAIL else _parse_choice(kind, LessonKind, "--kind", GUARDRAIL)
    work_type = _parse_choice(task_type, TaskType, "--type")
    if kind == GUARDRAIL and work_type:
        raise OperatorError("guardrails have no task type", found=f"--type {work_type}", remedy="omit --type")
    of_project = project_id(open_repository(project.absolute())) if project else None
    store_of = project if project and repo == start_directory() else repo  # the store that its own loops use
    with open_memory(store_of) as memory:
        entries: list[Entry] = []
        if kind != GUARDRAIL:
            entries += memory.store.lessons(of_project, lesson_kind, work_type, retired=retired, limit=limit + 1)
        if not lesson_kind and not work_type:
            entries += memory.guardrails(of_project, retired=retired)
    entries.sort(key=_last_used, reverse=True)
    shown, more = entries[:limit], len(entries) > limit
    kinds: dict[str, type[Entry]] = {"lessons": Lesson, "guardrails": Guardrail}
    plain = {name: [entry.model_dump(mode="json") for entry in shown if type(entry) is record] for name, record in kinds.items()}
    lines = [HEAD, *map(_row, shown)] if shown else [NO_MATCH]
    lines += ["and more: --limit shows more, --project, --kind and --type narrow the list"] if more else []
    _emit(memory, lines, {**plain, "more": more}, as_json=as_json)


def _last_used(entry: Entry) -> datetime:
    times = (entry.updated_at,) if isinstance(entry, Lesson) else (entry.created_at, entry.loaded_at)
    return max(at if at.tzinfo else at.replace(tzinfo=UTC) for at in times if at)


def search(repo: Path, text: str, kind: str, limit: int, *, as_json: bool) -> None:
    only = _parse_choice(kind, LessonKind, "--kind")
    if not text.strip():
        raise OperatorError("the query is empty", expected="some words", found=display(text), remedy="give a few words")
    with open_memory(repo) as memory:
        matches = memory.store.search(text, only, limit=limit)[:limit]
    data = {"found": [{"score": round(match.text, 4), **match.lesson.model_dump(mode="json")} for match in matches]}
    lines = [f"{'score':<7}{HEAD}", *(_row(match.lesson, f"{match.text:<7.2f}") for match in matches)]
    _emit(memory, lines if matches else ["no lesson contains any of these words"], data, as_json=as_json)


def _parse_choice(value: str, choices: type[E], option: str, *others: str) -> E | None:
    """Option's value as an enum member; None if empty. Raises OperatorError for an unknown value."""
    if not value or value in set(choices):
        return choices(value) if value else None
    expected = f"one of: {', '.join([*choices, *others])}"
    raise OperatorError(f"invalid value of {option}", expected=expected, found=display(value), remedy="name one of them")


def _row(entry: Entry, start: str = "") -> str:
    if isinstance(entry, Lesson):
        kind, tier, confidence, good = entry.kind, entry.tier, f"{entry.confidence:.2f}", f"{entry.successes}/{entry.uses}"
    else:  # successes: occasions on which its failure class did not occur
        good = f"{entry.after_of - entry.after_seen}/{entry.after_of}" if entry.failure else "-"
        kind, tier, confidence = GUARDRAIL, "standing", "-"
    tier = "retired" if entry.retired else tier
    return f"{start}{clean(entry.id):<12} {kind:<12}{tier:<10}{confidence:>5}{good:>11}  {shorten(_text_of(entry), TEXT_SHOWN)}"


def _text_of(entry: Entry) -> str:
    texts = (entry.text,) if isinstance(entry, Lesson) else (entry.trigger, entry.instruction)
    return ": ".join(filter(None, (" ".join(clean(text).split()) for text in texts)))


def show_one(repo: Path, name: str, *, as_json: bool) -> None:
    with open_memory(repo) as memory:
        entry = memory.find(name)
        sources = {uid: memory.store.episodes(uid) for uid in entry.sources} if isinstance(entry, Lesson) else {}
    if isinstance(entry, Guardrail):
        effect = effect_text(entry)
        more: dict[str, Any] = {"effect": effect}
        data = {GUARDRAIL: entry.model_dump(mode="json"), **more}
    else:
        loops = {
            uid: next((episode.loop for episode in episodes), "") for uid, episodes in sources.items()
        }  # empty: no episodes are stored
        more = {"sources": [f"{name} ({uid})" if name else uid for uid, name in loops.items()]}
        data = {"lesson": entry.model_dump(mode="json"), "loops": loops}
    _emit(memory, _field_lines({**entry.model_dump(mode="json"), **more}), data, as_json=as_json)


def _field_lines(stored: Mapping[str, Any]) -> Iterator[str]:
    """Lines of all stored fields except empty ones."""
    for name, value in stored.items():
        values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
        yield from fields([(name.replace("_", " "), [text for item in values if (text := str(item)) not in EMPTY_VALUES])], WIDTH)


def show_stats(repo: Path, *, as_json: bool) -> None:
    with open_memory(repo) as memory:
        active, stats = memory.guardrails(None), memory.store.stats()
    file = guardrails_path(memory.repository) if memory.repository else None
    plain = {
        **asdict(stats),
        "verdicts": dict(Counter(verdict(guardrail).value for guardrail in active)),
        "effects": [
            {"id": guardrail.id, "project": guardrail.project, "verdict": verdict(guardrail), "effect": effect_text(guardrail)}
            for guardrail in active
        ],
        "guardrails_file": str(file) if file else None,
    }
    more = [f"and {len(active) - EFFECTS_SHOWN} more"] if len(active) > EFFECTS_SHOWN else []
    effects = [f"{guardrail.id}  {effect_text(guardrail)}" for guardrail in active[:EFFECTS_SHOWN]]
    rows = {**asdict(stats), "size": f"{stats.size:,} bytes", "effects": [*effects, *more], "guardrails_file": file}
    _emit(memory, _field_lines(rows), plain, as_json=as_json)


def export_to(repo: Path, file: Path, *, force: bool, as_json: bool) -> None:
    """Write one JSON document; `-` prints only that to standard output."""
    with open_memory(repo) as memory:
        text = memory.store.export()
    if file == STANDARD_STREAM:
        _print_notes(memory)
        write_stdout(text)
        return
    write_file(file, text, "the export", "name another file, or print it with -", force=force, mode=0o600)
    checksum, path, count = json.loads(text)["sha256"], str(file.absolute()), len(text.encode())
    line = f"{clean(path)}: {count:,} bytes, SHA-256 {checksum}"
    _emit(memory, [line], {"file": path, "bytes": count, "sha256": checksum}, as_json=as_json)


def import_from(repo: Path, file: Path, *, as_json: bool) -> None:
    with open_memory(repo) as memory:
        sections = memory.store.import_(file)
    template = "{added} added, {replaced} replaced by newer ones, {kept} unchanged"
    _emit(memory, fields((name, template.format_map(merged)) for name, merged in sections.items()), sections, as_json=as_json)


def forget(repo: Path, name: str, *, yes: bool, as_json: bool) -> None:
    with open_memory(repo) as memory:
        entry = memory.find(name)
        question = f"{clean(entry.id)}: {_text_of(entry)}\nDelete it permanently?"
        if not (yes or as_json) and has_terminal() and not confirm(question):
            raise OperatorError("nothing was deleted", remedy="pass --yes to delete without asking")
        repository = memory.repository if isinstance(entry, Guardrail) and entry.project == memory.project else None
        if repository:  # import edits of guardrails.md first: edited text of a forgotten guardrail would look like a new one
            write_guardrails(repository, memory.store, memory.project, memory.now)
        with memory.store.change() as change:
            gone = change.forget(entry.id)
        if not gone:
            memory.find(entry.id)  # deleted by another process
        if repository:
            write_guardrails(repository, memory.store, memory.project, memory.now)
        memory.notes.extend(_remaining_copies(memory, entry))
    kind = GUARDRAIL if isinstance(entry, Guardrail) else "lesson"
    line = f"deleted: {kind} {clean(entry.id)}: {_text_of(entry)}"
    _emit(memory, [line], {"forgotten": kind, kind: entry.model_dump(mode="json")}, as_json=as_json)


def _remaining_copies(memory: Memory, entry: Entry) -> Iterator[str]:
    """Notes on remaining copies of the entry, and on how it could come back."""
    stats = memory.store.stats()
    if stats.backups:
        yield f"daily backups that may still contain it: {len(stats.backups)}"
    if stats.damaged:
        yield f"damaged store files that may still contain it: {', '.join(stats.damaged)}"
    if isinstance(entry, Lesson):
        return
    if entry.project != memory.project:
        yield "the guardrails.md of its own repository contains it until the next update; pass --repo DIR for that repository"
    if entry.failure:
        yield "failures of its class may create it again; one deleted in guardrails.md is not created again"
