"""`helmsman presets`: look at them, and make your own."""

from collections.abc import Iterator
from pathlib import Path

from deployments.output import answer, fields
from deployments.settings import from_here, repository_if_any, unfit_name
from helmsman.errors import OperatorError
from helmsman.orient.hats import hat_rows, setting_rows
from helmsman.plain import clean_lines
from helmsman.records.hats import LONGEST_NAME, Preset, Sheet, is_name
from tasks.hats.finding import BUILT_IN, Known, add_preset, find_preset, known_presets, read_known
from tasks.repository.git import open_repository

NAME_WIDTH = 15


def list_presets(repo: Path, *, as_json: bool) -> None:
    top = _top(repo)
    listed = [(known, _about(top, known)) for known in known_presets(top)]
    plain = [{"name": known.name, "source": known.source, **about} for known, about in listed]
    rows = [
        (
            known.name,
            [about.get("about") or f"cannot be used: {about['problem']}", f"in {known.source}" * known.source.endswith(".md")],
        )
        for known, about in listed
    ]
    answer({"presets": plain}, fields(rows, NAME_WIDTH), as_json=as_json)


def show_preset(repo: Path, name: str, *, as_json: bool) -> None:
    preset = find_preset(_top(repo), from_here(name))
    answer(preset, _lines(preset), as_json=as_json)


def new_preset(repo: Path, name: str, copied: str, *, as_json: bool) -> None:
    """Write a new preset: a copy, or a first one to begin with."""
    repository = open_repository(repo)
    if repository.bare:
        raise OperatorError("a bare repository has no place for a preset", found=str(repository.top), remedy="use a clone")
    if not is_name(name):
        raise unfit_name("a preset", LONGEST_NAME, name, "give another one")
    replaces = any(known.name == name and known.source == BUILT_IN for known in known_presets(repository.top))
    top = repository.top
    sheet = find_preset(top, from_here(copied)).sheet.model_copy(update={"name": name}) if copied else _first(name)
    path = add_preset(top, sheet)
    rows = (
        ("written", str(path)),
        ("note", f"in this repository it takes the place of the preset {name} that comes with Helmsman" if replaces else ""),
        ("next", f"edit it; helmsman presets show {name}; helmsman run GOAL --preset {name}"),
    )
    answer({"name": name, "file": str(path), "replaces": BUILT_IN if replaces else None}, fields(rows), as_json=as_json)


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
    """A folder without a repository has no presets of its own."""
    repository = repository_if_any(repo)
    return repository.top if repository else repo


def _about(top: Path, known: Known) -> dict[str, str]:
    """What it is for, or why its file is no preset."""
    try:
        sheet = read_known(top, known).sheet
    except OperatorError as error:
        return {"problem": error.problem.partition("\n")[0]}
    return {"title": sheet.title, "about": sheet.about}


def _lines(preset: Preset) -> Iterator[str]:
    sheet = preset.sheet
    yield from fields([("preset", f"{sheet.name}: {sheet.title} ({preset.source})"), ("about", sheet.about)])
    yield from fields(("hat", f"{name:<20} {when}") for name, when in hat_rows(preset))
    yield from fields(("check", hint) for hint in sheet.checks)
    yield from fields(("setting", f"{key} = {value}") for key, value in setting_rows(sheet))
    yield from ("", clean_lines(sheet.guidance)) if sheet.guidance else ()
