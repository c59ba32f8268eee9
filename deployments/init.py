"""`helmsman init`: find check commands, try them, ask if there is a terminal, write the first files."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path

from rich.console import Console

from deployments.dialogue import ask_text, confirm, exiting_cleanly, repo_option, require_utf8, say
from deployments.output import fields, print_result, show_on, write_file
from deployments.trust import may_ask, refuse_untrusted
from helmsman.config import CheckConfig
from helmsman.config.layers import display
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.parsers.project import Candidate, Detection, Kind, find_commands, without_covered
from helmsman.parsers.rubric import criteria_of, read_rubric
from helmsman.plain import clean, clean_lines, one_line
from helmsman.prompts import render
from helmsman.texts import format_duration, plural
from helmsman.toml_text import toml_line, toml_string
from helmsman.verify.commands import missing_name
from helmsman.verify.redundancy import kinds
from tasks.checks.project import Trial, TrialOutcome, read_project, try_all, try_one
from tasks.loop.configure import RUBRIC, read_layers
from tasks.repository.clean_checkout import CleanCheckout, clean_checkout_of
from tasks.repository.git import Repository, commit_and_tree, open_repository
from tasks.repository.setup import propose_setup
from tasks.repository.worktree import dirty_paths
from tasks.system.trust import trust_commands

TOML = "helmsman.toml"
TIMEOUT_FACTOR = 5  # a check's timeout as a multiple of its measured time: machines get busier and tests grow
SLOW_CHECK_SECONDS = 1800  # timeout in seconds of a check that is kept although its trial timed out
SHOW_OUTPUT = {
    TrialOutcome.FAILS,
    TrialOutcome.CANNOT_START,
    TrialOutcome.TOO_SLOW,
}  # fates for which the end of the output is shown
TAIL_LINES = 3
MAY_THEY_RUN = "Do you trust this repository, and may these commands run as you, now once in a clean checkout and later in loops?"
DEPENDENCIES = ("node_modules", ".venv", "venv", "vendor")  # folders of installed packages, missing in a fresh checkout
UNSEEN_SHOWN = 5
DEFAULT_TIMEOUT: float = CheckConfig.model_fields["timeout_seconds"].default


@dataclass(frozen=True)
class Page:
    """A file to write, and why it was not written."""

    name: str
    text: str
    obstacle: str = ""  # why it is left unchanged; empty if it is written


@dataclass(frozen=True)
class _Survey:
    found: Detection
    tried: tuple[Trial, ...]
    notes: tuple[str, ...]
    setup: tuple[str, ...]


def initialise(repo: Path, goal: str | None, *, yes: bool, force: bool, as_json: bool) -> int:
    """Write the first helmsman.toml and RUBRIC.md. Returns 0, or 2 if one of them was left unchanged."""
    repository = open_repository(repo)
    if repository.bare:
        what, remedy = "a bare repository cannot hold helmsman.toml", "run it in a clone, and push"
        raise OperatorError(what, found=str(repository.top), remedy=remedy)
    if goal is not None and not require_utf8(goal).strip():
        raise OperatorError(
            "--goal is empty", expected="some words", found=display(goal), remedy="describe what should be true at the end"
        )
    console = Console(stderr=as_json, highlight=False)
    can_ask = may_ask(repository, yes=yes, as_json=as_json)
    if yes:
        trust_commands(repository.consent_key)
    refuse_untrusted(repository, ask=can_ask)
    blocked = {} if force else find_obstacles(repository.top)
    with exiting_cleanly(), clean_checkout_of(repository, commit_and_tree(repository.top)[0]) as place:
        survey = _survey_project(repository, place, console, can_ask=can_ask)
        if not as_json:
            lines = (
                *tried_lines(survey.tried, recommended(survey.tried)),
                *(f"skipped: {skipped.where}, {skipped.cause}" for skipped in survey.found.skipped),
                *(f"note: {note}" for note in survey.notes),
                *(f"{name} will not be changed: {why}" for name, why in blocked.items()),
            )
            show_on(console, map(clean, lines))
        text, kept = goal or "", recommended(survey.tried)
        if can_ask:  # for what the project files do not contain
            text = goal if goal is not None else _ask("Goal: what should be true at the end? (leave empty to write it later)")
            kept = kept if kept and confirm("Use the commands that are marked as checks?", usually=True) else ()
            kept = (*kept, *_ask_for_commands(place, none_yet=not kept))
    written = file_pages(text, kept, blocked, survey)
    for page in written:
        if not page.obstacle:
            path, remedy = repository.top / page.name, "free disk space, or make the folder writable"
            write_file(path, page.text, str(path), remedy, force=force)
    _report(repo, survey, text, kept, written, as_json=as_json)
    return 2 if any(page.obstacle for page in written) else 0


def _survey_project(repository: Repository, place: CleanCheckout, console: Console, *, can_ask: bool) -> _Survey:
    """Read the project files and try their commands; with a terminal, only after the user agrees."""
    folders = read_project(repository)
    detected, tried = find_commands(folders), tuple[Trial, ...]()
    if can_ask and detected.candidates:  # commands of the repository, which the user may not have read yet
        command_lines = (f"  {clean(candidate.command)}   ({clean(candidate.where)})" for candidate in detected.candidates)
        say("Found in the project's files:", *command_lines)
    if detected.candidates and (not can_ask or confirm(MAY_THEY_RUN, usually=True)):
        trust_commands(repository.consent_key)
        tried = tuple(
            try_all(place, detected.candidates, lambda candidate: show_on(console, [f"trying {clean(candidate.command)}"]))
        )
    tried = tried or tuple(Trial(candidate, TrialOutcome.UNTRIED) for candidate in detected.candidates)
    used = {folder: folders[folder].names for folder in ("", *(candidate.folder for candidate in detected.candidates))}
    setup = tuple(command for folder, names in used.items() for command in propose_setup(names, folder))
    return _Survey(detected, tried, tuple(_notes(repository, used, tried)), setup)


def _notes(repository: Repository, folders: Mapping[str, frozenset[str]], tried: Sequence[Trial]) -> Iterator[str]:
    """Notes on why the results may differ from those in the user's own checkout."""
    if not tried:
        yield "no command was found that could prove anything"
    unsaved = [path for path in dirty_paths(repository.top) if path not in {TOML, RUBRIC}]
    if unsaved:
        more = ", …" if len(unsaved) > UNSEEN_SHOWN else ""
        yield f"examined the last commit, as a loop does, without uncommitted changes: {', '.join(unsaved[:UNSEEN_SHOWN])}{more}"
    pairs = ((Path(folder, name), name in names) for folder, names in folders.items() for name in DEPENDENCIES)
    missing = [str(path) for path, is_committed in pairs if (repository.top / path).is_dir() and not is_committed]
    if missing and any(trial.fate in {TrialOutcome.FAILS, TrialOutcome.CANNOT_START} for trial in tried):
        installed = "what they need is installed by `setup` below [workspace] in helmsman.toml"
        yield f"checks run in a fresh checkout, without {' and '.join(missing)}: {installed}"
    for trial in recommended(tried):
        if trial.is_red:
            name = missing_name(trial.tail)
            doubt = (
                f", unless {name} only has to be installed: then by `setup` below [workspace] in helmsman.toml" if name else ""
            )
            yield f"{trial.candidate.command} {outcome_text(trial)}; that is what the loop will work on{doubt}"
    if any(trial.tests == 0 for trial in tried):
        yield "a command that runs no test passes whatever the agent does, so it is not used by default"


def _report(repo: Path, survey: _Survey, goal: str, kept: Sequence[Trial], written: Sequence[Page], *, as_json: bool) -> None:
    lines, where, criteria = list[str](), repo_option(repo), criteria_of(goal)
    for page in written:
        if page.obstacle:
            lines.append(f"\n{page.name} was not changed: {page.obstacle}. With --force it would be:\n")
            lines += [f"    {line}" for line in clean_lines(page.text).splitlines()]
        else:
            lines.append(f"wrote      {page.name}")
    next_steps = [
        *([f"helmsman init --force{where}   # overwrites existing files"] if any(page.obstacle for page in written) else ()),
        *([f"helmsman rubric check{where}"] if criteria else ()),
        f"helmsman run{'' if goal else ' GOAL'}{'' if kept else ' --check COMMAND'}{where}",
    ]
    tried = [
        {
            **{name: getattr(trial.candidate, name) for name in ("command", "kind", "where")},
            **{name: getattr(trial, name) for name in ("exit_code", "seconds", "tests", "tail")},
            "outcome": trial.fate,
            "said": outcome_text(trial),
            "kept": trial in kept,
        }
        for trial in survey.tried
    ]
    data = {
        "goal": goal,
        "checks": [trial.candidate.command for trial in kept],
        "criteria": list(criteria),
        "tried": tried,
        "passed_over": [asdict(one) for one in survey.found.skipped],
        "notes": list(survey.notes),
        "files": [
            {"file": page.name, "written": not page.obstacle, "why_not": page.obstacle, "text": page.text} for page in written
        ],
        "next": next_steps,
    }
    print_result(data, [*lines, "", *fields(("next", line) for line in next_steps)], as_json=as_json)


def recommended(tried: Sequence[Trial]) -> tuple[Trial, ...]:
    """Commands that work. If no test command does, put the first failing one in front: a loop can fix it."""
    by_candidate = {one.candidate: one for one in tried}
    working = tuple(by_candidate[one] for one in without_covered({one.candidate: one.proves for one in tried}))
    failing = [] if any(one.candidate.kind is Kind.TESTS for one in working) else [one for one in tried if one.is_red]
    return (*failing[:1], *working)


def _ask(question: str) -> str:
    """Typed answer. Raises OperatorError at the end of input."""
    text = ask_text(question)
    if text is None:
        raise OperatorError(
            "the questions were not answered; nothing was written", remedy="pass --yes to accept every command that works"
        )
    return text


def _ask_for_commands(place: CleanCheckout, *, none_yet: bool) -> Iterator[Trial]:
    """Ask for further commands, and try each one."""
    question = "A command that proves the goal" if none_yet else "Another command that proves it"
    while command := _ask(f"{question} (empty: none)"):
        kind = next((kind for kind in Kind if kind in kinds(command)), Kind.TESTS)  # the kind that the command names
        trial = try_one(place, Candidate(command, kind, "given at `helmsman init`"))
        say(f"  {outcome_text(trial)}", *(f"    {clean(line)}" for line in trial.tail.splitlines()[-3:] if not trial.proves))
        if trial.proves or confirm("  Keep it anyway? A failing check may be the goal itself."):
            yield trial
            question = "Another command that proves it"


def tried_lines(tried: Sequence[Trial], kept: Sequence[Trial]) -> Iterator[str]:
    """One line per command, and the end of the output of failed ones."""
    for number, trial in enumerate(tried, 1):
        label = f"{trial.candidate.kind:<6} {clean(trial.candidate.command)} ({clean(trial.candidate.where)})"
        yield f"{number}  {label}: {outcome_text(trial)}{', used as a check' if trial in kept else ''}"
        output = [line for line in trial.tail.splitlines() if line.strip()] if trial.fate in SHOW_OUTPUT else []
        yield from (f"   {clean(line.expandtabs())[:160]}" for line in output[-TAIL_LINES:])


def file_pages(goal: str, kept: Sequence[Trial], obstacles: Mapping[str, str], survey: _Survey) -> tuple[Page, Page]:
    """Contents of both files."""
    rejected = [trial for trial in survey.tried if trial.candidate.command not in {check.candidate.command for check in kept}]
    reasons = [(trial.candidate.command, f"{trial.candidate.where}: {outcome_text(trial)}") for trial in rejected]
    setup_needed = any(trial.fate in {TrialOutcome.FAILS, TrialOutcome.CANNOT_START} for trial in survey.tried)
    # the first check of a kind is named after it; others of that kind are named by their command
    firsts, checks = {trial.candidate.kind: trial for trial in reversed(kept)}, list[tuple[CheckConfig, str]]()
    for trial in kept:
        name = str(trial.candidate.kind) if firsts[trial.candidate.kind] is trial else ""
        slow = SLOW_CHECK_SECONDS if trial.fate is TrialOutcome.TOO_SLOW else 0
        timeout = max(DEFAULT_TIMEOUT, slow, ceil(trial.seconds * TIMEOUT_FACTOR))
        config = CheckConfig(command=trial.candidate.command, name=name, timeout_seconds=timeout)
        checks.append((config, f"{trial.candidate.where}: {outcome_text(trial)}"))
    toml = helmsman_toml(goal, checks, reasons, survey.setup, setup_needed=setup_needed)
    rubric = rubric_md(criteria_of(goal))
    return Page(TOML, toml, obstacles.get(TOML, "")), Page(RUBRIC, rubric, obstacles.get(RUBRIC, ""))


def outcome_text(tried: Trial) -> str:
    if tried.fate is TrialOutcome.WORKS:
        ran = "" if tried.tests is None else f", {plural(tried.tests, 'test') if tried.tests else 'no tests'}"
        return f"works, {format_duration(tried.seconds)}{ran}"
    if tried.fate is TrialOutcome.TOO_SLOW:
        return f"too slow, ended after {format_duration(tried.seconds)}"
    if tried.fate is TrialOutcome.FAILS and tried.failed:
        return f"fails now: {tried.failed} of {plural(tried.tests or 0, 'test')}"
    return str(tried.fate) + (f", exit {tried.exit_code}" if tried.exit_code is not None else "")


def find_obstacles(top: Path) -> dict[str, str]:
    """Reasons by file name why a file is not written. Anything with that name counts, even a dangling link."""
    reasons = {name: "it already exists" for name in (TOML, RUBRIC) if os.path.lexists(top / name)}
    with suppress(HelmsmanError):  # every other command reports an unreadable file
        if TOML not in reasons and any(layer.source.startswith("pyproject.toml") for layer in read_layers(top)):
            reasons[TOML] = "pyproject.toml has [tool.helmsman], which helmsman.toml would replace completely"
    return reasons


def helmsman_toml(
    goal: str,
    checks: Sequence[tuple[CheckConfig, str]],
    left_out: Sequence[tuple[str, str]] = (),
    setup: Sequence[str] = (),
    *,
    setup_needed: bool = False,
) -> str:
    """The text of helmsman.toml, which reads as the same values. An empty goal is left to the command line.

    Checks and omitted commands have the reason next to them. `setup_needed`: a check failed without setup.
    """

    def check_lines(check: CheckConfig) -> list[str]:
        name = [f"name = {toml_line(check.name)}"] if check.name else []
        timeout = [f"timeout_seconds = {check.timeout_seconds:g}"] if check.timeout_seconds != DEFAULT_TIMEOUT else []
        return [*name, f"command = {toml_line(check.command)}", *timeout]

    check_rows = [(check_lines(check), why) for check, why in checks]
    goal_string, setup_lines = toml_string(goal) if goal else "", [toml_line(command) for command in setup]
    text = render(
        "init_toml", goal=goal_string, checks=check_rows, left_out=left_out, setup=setup_lines, setup_needed=setup_needed
    )
    return f"{text}\n"


def rubric_md(criteria: Sequence[str]) -> str:
    """The text of RUBRIC.md. Without criteria it only explains how to write them."""
    lines = [f"- [c{number}] {one_line(text)}" for number, text in enumerate(criteria, 1)]
    # what would be read as options or as a tick alone is made part of the sentence
    criteria_lines = [f"{line} ." if read_rubric(f"## Judge criteria\n{line}").problems else line for line in lines]
    text = render("init_rubric", criteria=criteria_lines)
    return f"{text}\n"
