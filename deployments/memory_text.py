"""What is told of the memory to people: what others wrote is cleaned, and a list has one line for each."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size

from deployments.options import MOST_LISTED as MOST
from helmsman.memory.guardrail_effect import effect_text
from helmsman.memory.levels import Effect, effect_lines
from helmsman.memory.recall import Found
from helmsman.plain import clean, clean_lines
from helmsman.records.lessons import Guardrail, Lesson, Tier
from helmsman.texts import counted
from tasks.memory import Imported, Merged, Stats

Known: TypeAlias = Lesson | Guardrail
WIDTH = 11
HEAD = f"{'id':<13}{'kind':<12}{'tier':<10}{'sure':>5}{'went well':>11}  text"
NONE = "nothing is kept yet that fits; loops teach as they run: helmsman run GOAL --check CMD"
NARROWEST = 20
"""Columns that a text gets in any terminal."""
EFFECTS_SHOWN = 20
_KIB = 1024


# --- lists --------------------------------------------------------------------------------------------------------


def list_lines(known: Sequence[Known], *, more: bool) -> Iterator[str]:
    if not known:
        yield NONE
        return
    yield HEAD
    yield from map(_row, known)
    if more and len(known) >= MOST:
        yield "and more; --project, --kind and --type narrow the list"
    elif more:
        twice = 2 * len(known)
        shows = f"--limit {twice} shows as many again" if twice <= MOST else f"--limit {MOST} shows some of them"
        yield f"and more; {shows}"


def found_lines(found: Sequence[Found]) -> Iterator[str]:
    if not found:
        yield "no lesson holds any of these words"
        return
    yield f"{'score':<7}{HEAD}"
    yield from (_row(one.lesson, f"{one.text:<7.2f}") for one in found)


def said(one: Known) -> str:
    """Its words on one line."""
    if isinstance(one, Lesson):
        return _one_line(one.text)
    return ": ".join(filter(None, (_one_line(one.trigger), _one_line(one.instruction))))


def seen_last(one: Known) -> datetime:
    moment = one.updated_at if isinstance(one, Lesson) else max(filter(None, (one.created_at, one.loaded_at)), key=_utc)
    return _utc(moment)


def _row(one: Known, before: str = "") -> str:
    """Nothing is cut where no terminal reads it."""
    if isinstance(one, Lesson):
        well, of = f"{one.successes}/{one.uses}", "retired" if one.retired else one.tier
        facts = f"{one.kind:<12}{of:<10}{one.confidence:>5.2f}{well:>11}"
    else:  # it went well where its class did not fail although it could have
        well = f"{one.after_of - one.after_seen}/{one.after_of}" if one.failure else "-"
        facts = f"{'guardrail':<12}{'retired' if one.retired else 'standing':<10}{'-':>5}{well:>11}"
    facts, text = f"{before}{clean(one.id):<12} {facts}  ", said(one)
    if not sys.stdout.isatty():
        return facts + text
    room = max(shutil.get_terminal_size().columns - cell_len(facts), NARROWEST)
    return facts + (text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + "…")


# --- one of them --------------------------------------------------------------------------------------------------


def lesson_lines(one: Lesson, loops: Mapping[str, str], here: str) -> Iterator[str]:
    """`loops`: names of the loops that it was seen in, by their uids."""
    yield _field("lesson", clean(one.id))
    yield _field("kind", f"{one.kind}, for work of the kind {one.task_type}")
    yield from _text("text", one.text)
    yield from _text("rests on", one.detail)
    told = "semantic: told to other loops" if one.tier is Tier.SEMANTIC else "episodic: kept, and not told to other loops yet"
    yield _field("state", f"retired: {clean(one.retired)}" if one.retired else told)
    yield _field("confidence", f"{one.confidence:.2f}, averaged over {counted(one.observed, 'observation')}")
    yield _field("went well", f"{one.successes} of {counted(one.uses, 'use')} ({one.success_rate:.0%})")
    if one.failure:
        yield _field("failure", one.failure)
    yield from _many("tests", one.tests)
    yield _field("drawn by", one.by)
    yield from _many("seen in", [f"{loops[uid]} ({uid})" if loops.get(uid) else uid for uid in one.sources])
    yield _field("project", _project(one.project, here))
    yield _field("dates", _dates({"first seen": one.created_at, "seen last": one.updated_at, "told last": one.used_at}))


def guardrail_lines(one: Guardrail, here: str) -> Iterator[str]:
    yield _field("guardrail", clean(one.id))
    yield from _text("when", one.trigger)
    yield from _text("do", one.instruction)
    yield _field("state", f"retired: {clean(one.retired)}" if one.retired else "stands")
    if one.failure:
        yield _field("failure", one.failure)
    yield from _text("effect", effect_text(one))
    yield _field("made by", f"{one.by}{', reworded by a person' if one.edited and one.by != 'person' else ''}")
    yield from _text("made of", one.origin)
    yield _field("project", _project(one.project, here))
    yield _field("dates", _dates({"made": one.created_at, "told last": one.loaded_at, "retired": one.retired_at}))


def _project(project: str, here: str) -> str:
    return f"{clean(project)}{', this repository' if project == here else ''}"


def _dates(moments: Mapping[str, datetime | None]) -> str:
    return ", ".join(f"{what} {_utc(at):%Y-%m-%d %H:%M} UTC" for what, at in moments.items() if at)


# --- numbers ------------------------------------------------------------------------------------------------------


def stats_lines(stats: Stats, standing: Sequence[Guardrail], levels: Sequence[Effect], file: Path | None) -> Iterator[str]:
    """`file`: guardrails.md of the repository; None where there is none."""
    yield _field("place", f"{clean(stats.place)}, {size(stats.size)}, tables of version {stats.version}")
    yield _field("copies", ", ".join(map(clean, stats.backups)) or "none")
    yield from _many("damaged", stats.damaged)
    yield _field("lessons", f"{stats.lessons}: {stats.semantic} told to other loops, {stats.retired} retired")
    yield _field("kept", f"{counted(stats.episodes, 'iteration')}, {counted(stats.summaries, 'ended loop')}")
    yield _field("projects", str(stats.projects))
    yield _field("guardrails", f"{stats.guardrails}: {len(standing)} standing, {stats.guardrails - len(standing)} retired")
    yield from (_field("", f"{clean(one.id)}  {effect_text(one)}") for one in standing[:EFFECTS_SHOWN])
    if len(standing) > EFFECTS_SHOWN:
        yield _field("", f"and {len(standing) - EFFECTS_SHOWN} more")
    yield from map(clean, effect_lines(levels))
    if file:
        yield _field("to edit", f"{clean(str(file))}{'' if file.exists() else ' (not there yet)'}")


def import_lines(imported: Imported) -> Iterator[str]:
    sections: dict[str, Merged] = {name: getattr(imported, name) for name in asdict(imported)}
    for name, merged in sections.items():
        kept = f"{merged.kept} left as they were"
        yield _field(name, f"{merged.added} added, {merged.replaced} replaced by newer ones, {kept}")


def size(count: int) -> str:
    """Of a file: for people."""
    if count < _KIB:
        return f"{count} bytes"
    return f"{count / _KIB:,.1f} KiB" if count < _KIB**2 else f"{count / _KIB**2:,.1f} MiB"


# --- parts --------------------------------------------------------------------------------------------------------


def _field(name: str, value: str) -> str:
    return f"{name:<{WIDTH}}{value}"


def _text(name: str, text: str) -> Iterator[str]:
    """Nothing where it says nothing."""
    yield from _many(name, [line for line in clean_lines(text).splitlines() if line.strip()])


def _many(name: str, values: Iterable[str]) -> Iterator[str]:
    for position, value in enumerate(values):
        yield _field("" if position else name, clean(value))


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
