"""`helmsman init`: find the commands that prove something, try them, ask where somebody is there, write the first files."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from deployments.dialogue import readable, repo_option
from deployments.ending import ending_tidily
from deployments.init.pages import TOML, Page, Plan, obstacles, outcome, pages, put
from deployments.init.questions import may_try, plan_with, recommended, without_asking
from deployments.init.table import show_tried, trying
from deployments.trust import consenting, may_ask, refuse_programs, refuse_untrusted
from helmsman.errors import OperatorError
from helmsman.first_files import FirstSetUp
from helmsman.layers import shown
from helmsman.orient.commands import Found, find_commands
from helmsman.plain import clean, clean_lines
from tasks.checking.detecting import Fate, Scratch, Tried, read_project, scratch, try_all
from tasks.loops.config_files import RUBRIC
from tasks.repository.git import Repository, open_repository
from tasks.repository.setup import proposed
from tasks.system.trust import trust_commands
from tasks.worktrees.worktree import dirty_paths

DEPENDENCIES = ("node_modules", ".venv", "venv", "vendor")
"""Folders of installed packages, which no fresh checkout has."""
UNSEEN_SHOWN = 5


@dataclass(frozen=True)
class _Seen:
    """What is known of the project."""

    found: Found
    tried: tuple[Tried, ...]
    notes: tuple[str, ...]
    setup: FirstSetUp


def initialise(repo: Path, goal: str | None, *, yes: bool, force: bool, as_json: bool) -> int:
    """Write the first helmsman.toml and RUBRIC.md. Returns 0, or 2 where one of them had to be left as it is."""
    repository = _with_checkout(open_repository(repo))
    said = _usable(goal)
    console = Console(stderr=as_json, highlight=False)
    asks = may_ask(yes=yes, as_json=as_json)
    consenting(repository, lambda: refuse_programs(repository), ask=asks)
    if yes:
        trust_commands(repository.common)
    refuse_untrusted(repository, ask=asks)
    against = obstacles(repository.top, force=force)
    with ending_tidily(), scratch(repository) as place:
        seen = _look(repository, place, console, asks=asks)
        if not as_json:
            _show(console, seen, against)
        plan = plan_with(place, seen.tried, said) if asks else without_asking(seen.tried, said)
    made = pages(plan, against, seen.setup)
    for page in made:
        if not page.obstacle:
            put(repository.top, page, force=force)
    following = list(_following(repo, plan, made))
    if as_json:
        print(json.dumps(_plain(seen, plan, made, following)))
    else:
        console.print("\n".join(_result_lines(made, following)), markup=False, soft_wrap=True)
    return 2 if any(page.obstacle for page in made) else 0


def _with_checkout(repository: Repository) -> Repository:
    if repository.bare:
        raise OperatorError(
            "a bare repository has no place for helmsman.toml", found=str(repository.top), remedy="run it in a clone, and push"
        )
    return repository


def _usable(goal: str | None) -> str | None:
    if goal is None:
        return None
    if not goal.strip():
        raise OperatorError("--goal says nothing", expected="some words", found=shown(goal), remedy="say what shall be true")
    return readable(goal)


# --- looking ------------------------------------------------------------------------------------------------------


def _look(repository: Repository, place: Scratch, console: Console, *, asks: bool) -> _Seen:
    """Read the files and try what they name; where somebody can be asked, only once they agree."""
    folders = read_project(repository)
    found = find_commands(folders)
    if found.candidates and (not asks or may_try(found.candidates)):
        trust_commands(repository.common)
        with trying(console) as told:
            tried = tuple(try_all(place, found.candidates, told))
    else:
        tried = tuple(Tried(candidate, Fate.UNTRIED) for candidate in found.candidates)
    names = folders[""].names
    failed = any(one.fate in {Fate.FAILS, Fate.CANNOT_START} for one in tried)
    return _Seen(found, tried, tuple(_notes(repository, place, names, tried)), FirstSetUp(tuple(proposed(names)), failed))


def _notes(repository: Repository, place: Scratch, names: frozenset[str], tried: Sequence[Tried]) -> Iterator[str]:
    """Why what was seen may differ from what somebody sees in their own checkout."""
    if not tried:
        yield "no command was found that could prove anything"
    if place.flaw:
        yield place.flaw
    unseen = [path for path in dirty_paths(repository.top) if path not in {TOML, RUBRIC}]
    if unseen:
        more = ", …" if len(unseen) > UNSEEN_SHOWN else ""
        yield f"looked at the last commit, as a loop does; not at uncommitted work: {', '.join(unseen[:UNSEEN_SHOWN])}{more}"
    missing = [name for name in DEPENDENCIES if (repository.top / name).is_dir() and name not in names]
    if missing and any(one.fate in {Fate.FAILS, Fate.CANNOT_START} for one in tried):
        yield (
            f"checks run in a fresh checkout, without {' and '.join(missing)}: what they need is installed by `setup` below"
            " [workspace] in helmsman.toml"
        )
    for one in recommended(tried):
        if one.is_red:
            yield f"{one.candidate.command} {outcome(one)}; that is what the loop will work on"
    if any(one.tests == 0 for one in tried):
        yield "a command that runs no test passes whatever the agent does, so it is not taken unasked"


# --- for people ---------------------------------------------------------------------------------------------------


def _show(console: Console, seen: _Seen, against: dict[str, str]) -> None:
    if seen.tried:
        show_tried(console, seen.tried, recommended(seen.tried))
    lines = [
        *(f"passed over: {one.where}, {one.cause}" for one in seen.found.passed),
        *(f"note: {note}" for note in seen.notes),
        *(f"{name} will stay as it is: {why}" for name, why in against.items()),
    ]
    for line in lines:
        console.print(clean(line), markup=False, soft_wrap=True)


def _result_lines(made: Sequence[Page], following: Sequence[str]) -> Iterator[str]:
    for page in made:
        if page.obstacle:
            yield f"\n{page.name} was left as it is: {page.obstacle}. With --force it would be:\n"
            yield from (f"    {line}" for line in clean_lines(page.text).splitlines())
        else:
            yield f"wrote      {page.name}"
    yield ""
    yield from (f"next       {line}" for line in following)


def _following(repo: Path, plan: Plan, made: Sequence[Page]) -> Iterator[str]:
    """The commands that come next."""
    where = repo_option(repo)
    if any(page.obstacle for page in made):
        yield f"helmsman init --force{where}   # replaces what is there"
    if plan.criteria:
        yield f"helmsman rubric check{where}"
    goal = "" if plan.goal else " GOAL"
    checks = "" if plan.kept else " --check COMMAND"
    yield f"helmsman run{goal}{checks}{where}"


# --- for scripts --------------------------------------------------------------------------------------------------


def _plain(seen: _Seen, plan: Plan, made: Sequence[Page], following: Sequence[str]) -> dict[str, Any]:
    return {
        "goal": plan.goal,
        "checks": [one.candidate.command for one in plan.kept],
        "criteria": list(plan.criteria),
        "tried": [_plain_try(one, kept=one in plan.kept) for one in seen.tried],
        "passed_over": [asdict(one) for one in seen.found.passed],
        "notes": list(seen.notes),
        "files": [
            {"file": page.name, "written": not page.obstacle, "why_not": page.obstacle, "text": page.text} for page in made
        ],
        "next": list(following),
    }


def _plain_try(one: Tried, *, kept: bool) -> dict[str, Any]:
    found = {"command": one.candidate.command, "kind": one.candidate.kind, "where": one.candidate.where}
    numbers = {"exit_code": one.exit_code, "seconds": one.seconds, "tests": one.tests}
    return {**found, "outcome": one.fate, "said": outcome(one), **numbers, "tail": one.tail, "kept": kept}
