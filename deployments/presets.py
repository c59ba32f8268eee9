"""`helmsman presets`: look at them, and make your own."""

import json
from collections.abc import Iterator
from pathlib import Path

from deployments.settings import from_here
from deployments.start_directory import start_directory
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.hats.telling import hat_rows, setting_rows
from helmsman.layers import shown
from helmsman.plain import clean, clean_lines
from helmsman.records.hats import LONGEST_NAME, Preset, Sheet, is_name
from tasks.hats.finding import BUILT_IN, Known, add_preset, find_preset, known_presets, read_known
from tasks.repository.git import open_repository


def list_presets(repo: Path, *, as_json: bool) -> None:
    top = _top(repo)
    listed = [(known, _about(top, known)) for known in known_presets(top)]
    if as_json:
        print(json.dumps({"presets": [{"name": known.name, "source": known.source, **about} for known, about in listed]}))
        return
    for known, about in listed:
        print(clean(f"{known.name:<14} {about['about'] if 'about' in about else 'cannot be used: ' + about['problem']}"))
        if known.source.endswith(".md"):
            print(f"{'':<14} in {clean(known.source)}")


def show_preset(repo: Path, name: str, *, as_json: bool) -> None:
    preset = find_preset(_top(repo), from_here(name))
    print(preset.model_dump_json() if as_json else "\n".join(_lines(preset)))


def new_preset(repo: Path, name: str, copied: str, *, as_json: bool) -> None:
    """Write a new preset: a copy, or a first one to begin with."""
    repository = open_repository(repo)
    if repository.bare:
        raise OperatorError("a bare repository has no place for a preset", found=str(repository.top), remedy="use a clone")
    if not is_name(name):
        expected = f"small letters, digits and single dashes between them, {LONGEST_NAME} characters at most"
        raise OperatorError("that is no name for a preset", expected=expected, found=shown(name), remedy="give another one")
    replaces = any(known.name == name and known.source == BUILT_IN for known in known_presets(repository.top))
    top = repository.top
    sheet = find_preset(top, from_here(copied)).sheet.model_copy(update={"name": name}) if copied else _first(name)
    path = add_preset(top, sheet)
    if as_json:
        print(json.dumps({"name": name, "file": str(path), "replaces": BUILT_IN if replaces else None}))
        return
    print(f"written    {clean(str(path))}")
    if replaces:
        print(f"note       in this repository it takes the place of the preset {name} that comes with Helmsman")
    print(f"next       edit it; helmsman presets show {name}; helmsman run GOAL --preset {name}")


def _first(name: str) -> Sheet:
    return Sheet(
        name=name,
        title=name.replace("-", " ").capitalize(),
        about="What this kind of work is, in a sentence.",
        hats=("planner", "build-engineer", "debugger", "reviewer"),
        checks=("what a command should show at the end",),
        settings={"limits": {"iterations": 20, "cost_usd": 20}},
        guidance="- What every iteration should know of this kind of work.",
    )


def _top(repo: Path) -> Path:
    """A folder without a repository has no presets of its own; one that was named has to be a repository."""
    try:
        return open_repository(repo).top
    except HelmsmanError:
        if repo != start_directory():
            raise
        return repo


def _about(top: Path, known: Known) -> dict[str, str]:
    """What it is for, or why its file is no preset."""
    try:
        sheet = read_known(top, known).sheet
    except OperatorError as error:
        return {"problem": error.problem.partition("\n")[0]}
    return {"title": sheet.title, "about": sheet.about}


def _lines(preset: Preset) -> Iterator[str]:
    sheet = preset.sheet
    yield f"preset     {clean(sheet.name)}: {clean(sheet.title)} ({clean(preset.source)})"
    yield f"about      {clean(sheet.about)}"
    yield from (f"hat        {clean(name):<20} {clean(when)}" for name, when in hat_rows(preset))
    yield from (f"check      {clean(hint)}" for hint in sheet.checks)
    yield from (f"setting    {clean(key)} = {clean(value)}" for key, value in setting_rows(sheet))
    yield from ("", clean_lines(sheet.guidance)) if sheet.guidance else ()
