"""`helmsman rubric` and `helmsman presets`: definitions that loops use.

The parsed RUBRIC.md with its problems and an audit of its checks; and built-in and custom presets.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from deployments.output import fields, print_result
from deployments.settings import configuration, invalid_name, repository_if_any, resolve_preset
from helmsman.config import CheckConfig
from helmsman.config.layers import Layer, dotted_pairs, resolve
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.orient.hats import hat_rows
from helmsman.parsers.rubric import Problem, Rubric, RubricItem
from helmsman.plain import clean, clean_lines
from helmsman.records.checks import CheckReport
from helmsman.records.hats import LONGEST_NAME, is_name
from helmsman.texts import plural
from helmsman.verify.redundancy import Audit, audit
from tasks.hats.finding import BUILT_IN, add_preset, find_preset, known_presets, preset_text
from tasks.loop.configure import RUBRIC, RubricFile, read_rubric_file, rubric_layers
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import loop_names, read_records
from tasks.system.files import BrokenFile

MOST_RECORDS = 200  # past iteration records to read, latest loops first: each takes one git process
WIDTH = 12
LINE_OF_FRONT_MATTER = 1  # YAML's values have no line: that of the opening mark
REMEDY = "correct it in the front matter; `helmsman config` explains every key"


def check_rubric(repo: Path, file: Path | None, *, as_json: bool) -> int:
    """Print a rubric, its problems and the audit. Returns 0, or 2 if it has problems."""
    repository, reports = None, list[CheckReport]()
    with suppress(HelmsmanError):  # a rubric can be checked outside of a repository
        repository = open_repository(repo)
    path = file or (repository.top if repository else repo) / RUBRIC
    if not file and not path.exists():
        raise OperatorError(
            f"there is no {RUBRIC}", found=clean(str(path.parent)), remedy="`helmsman init` writes one; or name a file"
        )
    try:
        read = read_rubric_file(path)
    except BrokenFile as error:  # nothing else could be parsed
        read = RubricFile({}, Rubric(), (Problem(error.line, error.cause, error.remedy),), is_ours=True)
    read = _with_front_matter(read)
    rubric, (checks, source) = read.rubric, _checks_of(path, read.rubric, repository)
    with suppress(HelmsmanError, ValidationError):  # a record of another version ends the audit, not the command
        past = (record for loop in loop_names(repository) for record in read_records(repository, loop)) if repository else ()
        reports += (record.checks for record in islice(past, MOST_RECORDS) if record.checks)
    audited = audit(rubric.criteria, checks, reports)
    plain = {
        "file": path.name,
        "valid": not read.flaws,
        "envisioning": rubric.envisioning,
        "checks": [{"line": check.line, **check.config.model_dump(mode="json")} for check in rubric.checks],
        "criteria": [{"line": criterion.line, **criterion.config.model_dump(mode="json")} for criterion in rubric.criteria],
        "flaws": [asdict(flaw) for flaw in read.flaws],
        "audit": asdict(audited) | {"checks_from": source},
    }
    print_result(plain, _rubric_lines(path.name, read, audited, source), as_json=as_json)
    return 2 if read.flaws else 0


def _with_front_matter(read: RubricFile) -> RubricFile:
    """The rubric with the checks and criteria of its front matter, and with the problems of all values in it."""
    layers, line = rubric_layers(read), LINE_OF_FRONT_MATTER
    own = [Layer(layer.source, {key: layer.values[key] for key in layer.values if key != "goal_file"}) for layer in layers]
    try:
        config = resolve([*own, Layer("not given yet", {"goal": "…"})]).config
    except OperatorError as error:
        causes = error.problem.replace(f" ({RUBRIC} front matter)", "").split("\n  ")[1:]
        return replace(read, flaws=(*(Problem(line, cause, REMEDY) for cause in causes), *read.flaws))
    checks = read.rubric.checks or tuple(RubricItem(line, check) for check in config.checks)
    criteria = read.rubric.criteria or tuple(RubricItem(line, criterion) for criterion in config.judge.criteria)
    return replace(read, rubric=replace(read.rubric, checks=checks, criteria=criteria))


def _checks_of(path: Path, rubric: Rubric, repository: Repository | None) -> tuple[Sequence[CheckConfig], str]:
    """Checks that a loop would get, and their source. Of a file outside of the repository: its own checks."""
    with suppress(HelmsmanError):  # the configuration may be invalid, because of this rubric or something else
        if repository and path.resolve() == (repository.top / RUBRIC).resolve():
            resolved = configuration(repository, {}, goal_later=True)
            return resolved.config.checks, resolved.origins["checks"]
    return [check.config for check in rubric.checks], path.name


def _rubric_lines(file: str, read: RubricFile, audited: Audit, source: str) -> Iterator[str]:
    rubric, flaws = read.rubric, read.flaws
    numbers = f"{plural(len(rubric.checks), 'check')}, {len(rubric.criteria)} criteria"
    seen = ", envisioning" if rubric.envisioning else ""
    yield f"{clean(file)}: {numbers}{seen}; {plural(len(flaws), 'flaw') if flaws else 'valid'}"
    unused = rubric.checks and not source.startswith(file)
    note = [f"the checks of this file are not used: {clean(source)} sets others"] if unused else []
    parts = {
        "checks": list(_check_lines(rubric)),
        "criteria": list(_criterion_lines(rubric)),
        f"audit, with {plural(audited.reports, 'past report')}": [*note, *_audit_lines(audited)],
    }
    for title, lines in parts.items():
        yield from ("", title, *(f"  {line}" for line in lines)) if lines else ()
    yield from ["", *(clean(f"{file}:{flaw.line}: {flaw.cause}; {flaw.remedy}") for flaw in flaws)] if flaws else ()


def _check_lines(rubric: Rubric) -> Iterator[str]:
    for config in (check.config for check in rubric.checks):
        options = [
            f"{config.timeout_seconds:g} s",
            "parallel" if config.parallel else "",
            f"report {config.report}" if config.report else "",
            f"environment {', '.join(config.environment)}" if config.environment else "",
            "flaky tests are tolerated" if config.tolerate_flaky else "",
        ]
        yield clean(f"{config.name or '-':<{WIDTH}} {config.command}   ({', '.join(filter(None, options))})")


def _criterion_lines(rubric: Rubric) -> Iterator[str]:
    for config in (criterion.config for criterion in rubric.criteria):
        proofs = [f"{kind} {', '.join(names)}" for kind, names in (("tests", config.tests), ("checks", config.checks)) if names]
        numbers = f"weight {config.weight:g}, {config.needed} of {plural(config.votes, 'vote')}"
        proven = f"{numbers}, proven by {clean(' and '.join(proofs) or 'the judge alone')}"
        yield from fields([(f"{config.id} ", [*clean_lines(config.text).splitlines(), proven])], WIDTH + 1)


def _audit_lines(audited: Audit) -> Iterator[str]:
    if audited.unproven:
        yield clean(f"proven by the judge alone; name a check or a test: {', '.join(audited.unproven)}")
    for pair in audited.agreeing:
        first, second = map(clean, pair.checks)
        yield f"always the same verdict: {first} and {second}, in {pair.reports} reports, {pair.failures} of them failures"
    doubt = f" (unknown commands: {clean(', '.join(audited.opaque))})" if audited.opaque else ""
    for gap in audited.uncovered:
        past = f"; one that did failed in {plural(gap.failures, 'report')}" if gap.failures else ""
        yield f"no command names {gap.kind}{past}{doubt}"


NAME_WIDTH = 15
FIRST = Path(__file__).with_name("first_preset.md")  # template of a new preset


def _project_folder(repo: Path) -> Path:
    """Top of the repository, or the folder itself outside of one."""
    repository = repository_if_any(repo)
    return repository.top if repository else repo


def list_presets(repo: Path, *, as_json: bool) -> None:
    top, plain, rows = _project_folder(repo), list[dict[str, str]](), list[tuple[str, list[str]]]()
    for name, source in known_presets(top).items():
        try:
            sheet = find_preset(top, name).sheet
            about, text = {"title": sheet.title, "about": sheet.about}, sheet.about
        except OperatorError as error:
            about = {"problem": error.problem.partition("\n")[0]}
            text = f"cannot be used: {about['problem']}"
        plain.append({"name": name, "source": source, **about})
        rows.append((name, [text, f"in {source}" * source.endswith(".md")]))
    print_result({"presets": plain}, fields(rows, NAME_WIDTH), as_json=as_json)


def show_preset(repo: Path, name: str, *, as_json: bool) -> None:
    preset = find_preset(_project_folder(repo), resolve_preset(name))
    sheet = preset.sheet
    lines = (
        *fields([("preset", f"{sheet.name}: {sheet.title} ({preset.source})"), ("about", sheet.about)]),
        *fields(("hat", f"{name:<20} {when}") for name, when in hat_rows(preset)),
        *fields(("check", hint) for hint in sheet.checks),
        *fields(("setting", f"{key} = {json.dumps(value, ensure_ascii=False)}") for key, value in dotted_pairs(sheet.settings)),
        *(("", clean_lines(sheet.guidance)) if sheet.guidance else ()),
    )
    print_result(preset, lines, as_json=as_json)


def new_preset(repo: Path, name: str, copied: str, *, as_json: bool) -> None:
    """Write a new preset: a copy of another one, or the template."""
    repository = open_repository(repo, unborn=True)
    if repository.bare:
        raise OperatorError("a bare repository cannot hold a preset", found=str(repository.top), remedy="use a clone")
    if not is_name(name):
        raise invalid_name("a preset", LONGEST_NAME, name, "give another one")
    replaces = known_presets(repository.top).get(name) == BUILT_IN
    top = repository.top
    title = name.replace("-", " ").capitalize()
    first = FIRST.read_text(encoding="utf-8").format(name=name, title=title)
    path = add_preset(top, name, preset_text(top, resolve_preset(copied), name) if copied else first)
    rows = (
        ("written", str(path)),
        ("note", f"in this repository it replaces the preset {name} that comes with Helmsman" if replaces else ""),
        ("next", f"edit it; helmsman presets show {name}; helmsman run GOAL --preset {name}"),
    )
    print_result({"name": name, "file": str(path), "replaces": BUILT_IN if replaces else None}, fields(rows), as_json=as_json)
