"""`helmsman rubric` and `helmsman presets`: what loops go by.

What was understood of RUBRIC.md, what is wrong with it, and what the checks were worth so far; and presets, yours as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deployments.output import answer, fields
from deployments.settings import configuration, from_here, repository_if_any, unfit_name
from helmsman.config import CheckConfig, CriterionConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.orient.hats import hat_rows, setting_rows
from helmsman.parsers.problem import Problem
from helmsman.parsers.rubric import Rubric
from helmsman.parsers.rubric_items import RubricItem
from helmsman.plain import clean, clean_lines
from helmsman.records.checks import CheckReport
from helmsman.records.hats import LONGEST_NAME, is_name
from helmsman.texts import plural
from helmsman.verify.redundancy import Audit, audit
from tasks.hats.finding import BUILT_IN, Known, add_preset, find_preset, known_presets, preset_text, read_known
from tasks.loop.files import RUBRIC, RubricFile, read_rubric_file
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import loop_names, read_records
from tasks.system.files import BrokenFile

MOST_RECORDS = 200
"""Records of past iterations that are read, those of the latest loops first: one process of git's each."""
WIDTH = 12


@dataclass(frozen=True)
class _Findings:
    file: str
    rubric: Rubric
    flaws: Sequence[Problem]
    audit: Audit
    checks_from: str
    """The source of the checks that were audited: those that a loop would get."""


def check_rubric(repo: Path, file: Path | None, *, as_json: bool) -> int:
    """Print what a rubric says, its flaws and the audit. Returns 0, or 2 when it has a flaw."""
    repository = None
    with suppress(HelmsmanError):  # a rubric can be looked at before there is a repository
        repository = open_repository(repo)
    path = file or (repository.top if repository else repo) / RUBRIC
    try:
        read = read_rubric_file(path)
    except BrokenFile as error:  # nothing else is known of it
        read = RubricFile({}, Rubric(), (Problem(error.line, error.cause, error.remedy),), ours=True)
    checks, source = _checks(path, read.rubric, repository)
    reports = list(_reports(repository)) if repository else []
    found = _Findings(path.name, read.rubric, read.flaws, audit(read.rubric.criteria, checks, reports), source)
    answer(_plain(found), _lines(found), as_json=as_json)
    return 2 if found.flaws else 0


def _checks(path: Path, rubric: Rubric, repository: Repository | None) -> tuple[Sequence[CheckConfig], str]:
    """The checks that a loop would get, and their source; none where the configuration is broken, by this rubric or otherwise.

    A file that is not the repository's own is taken at its word.
    """
    configured, source = (), RUBRIC
    with suppress(HelmsmanError):
        if repository:
            resolved = configuration(repository, {}, goal_later=True)
            configured, source = resolved.config.checks, resolved.origins["checks"]
    own = [check.config for check in rubric.checks]
    its_own = repository is not None and path.resolve() == (repository.top / RUBRIC).resolve()
    return (own, path.name) if own and not (its_own and configured) else (configured, source)


def _reports(repository: Repository) -> Iterator[CheckReport]:
    """Reports of the checks in past iterations."""
    records = (record for loop in loop_names(repository) for record in read_records(repository, loop))
    with suppress(HelmsmanError, ValidationError):  # what another version wrote ends the looking back, not the command
        yield from (record.checks for record in islice(records, MOST_RECORDS) if record.checks)


# --- for people ---------------------------------------------------------------------------------------------------


def _lines(found: _Findings) -> Iterator[str]:
    numbers = f"{plural(len(found.rubric.checks), 'check')}, {len(found.rubric.criteria)} criteria"
    seen = ", envisioning" if found.rubric.envisioning else ""
    yield f"{clean(found.file)}: {numbers}{seen}; {plural(len(found.flaws), 'flaw') if found.flaws else 'valid'}"
    yield from _part("checks", map(_check_line, found.rubric.checks))
    yield from _part("criteria", (line for criterion in found.rubric.criteria for line in _criterion_lines(criterion)))
    yield from _part(f"audit, with {plural(found.audit.reports, 'past report')}", _audit_lines(found))
    if found.flaws:
        yield ""
        yield from (clean(f"{found.file}:{flaw.line}: {flaw.cause}; {flaw.remedy}") for flaw in found.flaws)


def _part(title: str, lines: Iterator[str]) -> Iterator[str]:
    held = list(lines)
    if held:
        yield from ("", title, *(f"  {line}" for line in held))


def _check_line(check: RubricItem[CheckConfig]) -> str:
    config = check.config
    options = [
        f"{config.timeout_seconds:g} s",
        "parallel" if config.parallel else "",
        f"report {config.report}" if config.report else "",
        f"environment {', '.join(config.environment)}" if config.environment else "",
        "flaky is tolerated" if config.tolerate_flaky else "",
    ]
    return clean(f"{config.name or '-':<{WIDTH}} {config.command}   ({', '.join(filter(None, options))})")


def _criterion_lines(criterion: RubricItem[CriterionConfig]) -> Iterator[str]:
    config = criterion.config
    first, *more = clean_lines(config.text).splitlines() or [""]
    yield f"{config.id:<{WIDTH}} {first}"
    yield from (f"{'':<{WIDTH}} {line}" for line in more)
    numbers = f"weight {config.weight:g}, {config.needed} of {plural(config.votes, 'vote')}"
    proofs = [f"{what} {', '.join(names)}" for what, names in (("tests", config.tests), ("checks", config.checks)) if names]
    yield f"{'':<{WIDTH}} {numbers}, proven by {clean(' and '.join(proofs) or 'the judge alone')}"


def _audit_lines(found: _Findings) -> Iterator[str]:
    held = found.audit
    if found.rubric.checks and not found.checks_from.startswith(found.file):
        yield f"the checks of this file are not used: {clean(found.checks_from)} gives others"
    if held.unproven:
        yield clean(f"proven by the judge alone, name a check or a test: {', '.join(held.unproven)}")
    for pair in held.agreeing:
        one, other = map(clean, pair.checks)
        yield f"always the same verdict: {one} and {other}, in {pair.reports} reports, {pair.failures} of them failures"
    doubt = f" (what these do is not known: {clean(', '.join(held.opaque))})" if held.opaque else ""
    for gap in held.uncovered:
        past = f"; one that did failed in {plural(gap.failures, 'report')}" if gap.failures else ""
        yield f"no command names {gap.kind}{past}{doubt}"


# --- for scripts --------------------------------------------------------------------------------------------------


def _plain(found: _Findings) -> Mapping[str, Any]:
    rubric = found.rubric
    checks = [{"line": check.line, **check.config.model_dump(mode="json")} for check in rubric.checks]
    criteria = [{"line": one.line, **one.config.model_dump(mode="json")} for one in rubric.criteria]
    return {
        "file": found.file,
        "valid": not found.flaws,
        "envisioning": rubric.envisioning,
        "checks": checks,
        "criteria": criteria,
        "flaws": [asdict(flaw) for flaw in found.flaws],
        "audit": asdict(found.audit) | {"checks_from": found.checks_from},
    }


# --- presets -------------------------------------------------------------------------------------------------------------

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
    sheet = preset.sheet
    lines = (
        *fields([("preset", f"{sheet.name}: {sheet.title} ({preset.source})"), ("about", sheet.about)]),
        *fields(("hat", f"{name:<20} {when}") for name, when in hat_rows(preset)),
        *fields(("check", hint) for hint in sheet.checks),
        *fields(("setting", f"{key} = {value}") for key, value in setting_rows(sheet)),
        *(("", clean_lines(sheet.guidance)) if sheet.guidance else ()),
    )
    answer(preset, lines, as_json=as_json)


def new_preset(repo: Path, name: str, copied: str, *, as_json: bool) -> None:
    """Write a new preset: a copy, or a first one to begin with."""
    repository = open_repository(repo)
    if repository.bare:
        raise OperatorError("a bare repository has no place for a preset", found=str(repository.top), remedy="use a clone")
    if not is_name(name):
        raise unfit_name("a preset", LONGEST_NAME, name, "give another one")
    replaces = any(known.name == name and known.source == BUILT_IN for known in known_presets(repository.top))
    top = repository.top
    title = name.replace("-", " ").capitalize()
    path = add_preset(top, name, preset_text(top, from_here(copied), name) if copied else _FIRST.format(name=name, title=title))
    rows = (
        ("written", str(path)),
        ("note", f"in this repository it takes the place of the preset {name} that comes with Helmsman" if replaces else ""),
        ("next", f"edit it; helmsman presets show {name}; helmsman run GOAL --preset {name}"),
    )
    answer({"name": name, "file": str(path), "replaces": BUILT_IN if replaces else None}, fields(rows), as_json=as_json)


_FIRST = """\
+++
name = "{name}"
title = "{title}"
about = "What this kind of work is, in a sentence."
hats = ["planner", "build-engineer", "debugger", "reviewer"]
checks = ["what a command should show at the end"]

[settings.limits]
iterations = 20
cost_usd = 20
+++

- What every iteration should know of this kind of work.
"""


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
