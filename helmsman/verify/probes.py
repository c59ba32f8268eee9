"""Probes: requests to a model that has not seen the new source, questions about failing probes, and parsing of the answers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from posixpath import splitext
from shlex import quote
from typing import Literal, NamedTuple

from pydantic import Field

from helmsman.config import LoopConfig
from helmsman.parsers.answers import StrictAnswer, read_answer, schema_of
from helmsman.parsers.source import Source, query_matches
from helmsman.plain import short_line
from helmsman.prompts import render
from helmsman.records.checks import Probe
from helmsman.records.iteration import Question
from helmsman.tokens import tokens, trim
from helmsman.verify.call_cases import Language
from helmsman.verify.called_languages import CALLED
from helmsman.verify.findings import join_some
from helmsman.verify.judge.request import SOURCE_TOKENS
from helmsman.verify.judge.view import fence

Reading = Literal["right", "wrong", "unclear"]
UNCLEAR: Reading = "unclear"
GOAL_TOKENS, INTERFACE_TOKENS, TESTS_TOKENS = 5_000, 4_000, 8_000
CODE_TOKENS, RESULT_TOKENS = 2_000, 1_000  # for each failing case
LONGEST_CODE = 20_000
_IMPORTS = re.compile(r"^\s*import\b(?!\s*\()", re.MULTILINE)


class Runner(NamedTuple):
    """How to write and run probes in one language."""

    name: str
    language: Language
    files: tuple[str, str]  # file name, and the one for code with `import` statements, if that matters
    command: str  # with placeholders for interpreter and file
    manner: str = ""

    def file(self, code: str) -> str:
        return self.files[bool(_IMPORTS.search(code))]


_PYTHON, _JAVASCRIPT, *_ = CALLED
_MANNER = " Use `node:test` and `node:assert`, and import what you test by its relative path."
RUNNERS = (
    Runner(
        "pytest",
        _PYTHON,
        ("test_helmsman_probe.py", "test_helmsman_probe.py"),
        "{program} -m pytest -q -p no:cacheprovider -o addopts= {file}",
    ),
    Runner("node:test", _JAVASCRIPT, ("helmsman-probe.test.cjs", "helmsman-probe.test.mjs"), "{program} --test {file}", _MANNER),
)


class _Case(StrictAnswer):
    code: str = Field(min_length=1, max_length=LONGEST_CODE)
    says: str = Field(min_length=1)


class _Cases(StrictAnswer):
    cases: list[_Case] = Field(max_length=100)


class _CaseRead(StrictAnswer):
    case: int
    reason: str
    verdict: Reading


class _Readings(StrictAnswer):
    readings: list[_CaseRead] = Field(max_length=100)


def runner_for(changed: Iterable[str]) -> Runner | str:
    """Return the runner for the language of most changed sources, or why there is none."""
    paths = list(changed)
    runner = max(RUNNERS, key=lambda candidate: sum(map(candidate.language.is_source, paths)))
    if any(map(runner.language.is_source, paths)):
        return runner
    endings = sorted({f"*{splitext(path)[1] or path}" for path in paths})
    return f"no probes for {join_some(endings) or 'this change'}: they need {' or '.join(one.name for one in RUNNERS)}"


def command_of(runner: Runner, checks: Sequence[str], path: str) -> str:
    """Return the command for a probe at a path, with the interpreter of the checks."""
    return runner.command.format(program=runner.language.interpreter(checks), file=quote(path))


def interface(path: str, text: str) -> str:
    """Return the signatures of functions and classes, without bodies, and exports."""
    heads: dict[int, str] = {}
    for match in query_matches(path, text, f"{Source(path, text).language}_interface"):
        part, body = match["part"][0], match.get("body")
        inside = part.parent
        while inside is not None and not inside.type.endswith(("function_definition", "function", "function_declaration")):
            inside = inside.parent
        if inside is None:
            head = text.encode(errors="replace")[part.start_byte : body[0].start_byte if body else part.end_byte]
            heads[part.start_byte] = " " * part.start_point.column + head.decode(errors="replace").rstrip()
    return "\n".join(head for _, head in sorted(heads.items()))


def probe_request(
    config: LoopConfig, runner: Runner, folder: str, changed: Mapping[str, str], tests: Mapping[str, str]
) -> Question:
    """Build the request for probes. `changed`: new sources, of which only the interface is shown; `tests`: the start's tests."""
    heads = {path: interface(path, text) for path, text in changed.items()}
    most, where = config.proof.probes, f"the folder `{folder}`" if folder else "the root of the repository"
    return Question(
        rules=render("probe_system"),
        task=_render_task(config),
        facts=render("probe_facts", interface=_render_files(heads, INTERFACE_TOKENS), tests=_render_files(tests, TESTS_TOKENS)),
        closing=render("probe_form", most=most, runner=runner.name, folder=where, manner=runner.manner),
        form=schema_of(_Cases),
    )


def read_probes(text: str, config: LoopConfig) -> tuple[Probe, ...] | str:
    """Parse the probes in an answer; return a message if it is invalid."""
    read = read_answer(text, "cases", _Cases)
    if isinstance(read, str):
        return read
    requested = f"{config.goal}\n{config.judge.envisioning}"
    probes: list[Probe] = []
    for case in read.cases[: config.proof.probes]:
        # mask literals of its code in the description, unless the goal names them
        description, values = (
            case.says,
            {place.text for path in ("a.py", "a.js") for place in Source(path, case.code).places("literal")},
        )
        for value in sorted({value.strip("\"'`") for value in values} - {""}, key=len, reverse=True):
            if value not in requested:
                description = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "…", description)
        probes.append(Probe(says=short_line(description), code=case.code))
    return tuple(probes)


def reading_request(config: LoopConfig, failing: Sequence[tuple[Probe, str]], sources: Mapping[str, str]) -> Question:
    """Build the question about failing probes, each with its output."""
    cases = [
        {
            "code": fence("the case", trim(probe.code, CODE_TOKENS)),
            "result": fence("what its run printed", trim(output, RESULT_TOKENS) or "nothing"),
        }
        for probe, output in failing
    ]
    return Question(
        rules=render("probe_read_system"),
        task=_render_task(config),
        facts=render("probe_read_facts", source=_render_files(sources, SOURCE_TOKENS), cases=cases),
        closing=render("probe_read_form", number=len(cases)),
        form=schema_of(_Readings),
    )


def read_readings(text: str, number: int) -> tuple[Reading, ...] | str:
    """Parse the verdict on each case, in order; return a message if the answer is invalid."""
    read = read_answer(text, "readings", _Readings)
    if isinstance(read, str):
        return read
    verdicts: dict[int, Reading] = {reading.case: reading.verdict for reading in read.readings}
    if len(read.readings) != number or set(verdicts) != set(range(1, number + 1)):
        return f"the answer does not name each of {number} cases exactly once"
    return (*[verdicts[case] for case in sorted(verdicts)],)


def _render_task(config: LoopConfig) -> str:
    picture = config.judge.envisioning.strip()
    return render(
        "probe_task",
        goal=fence("the goal", trim(config.goal.strip(), GOAL_TOKENS)),
        picture=fence("the finished work, as it is pictured", trim(picture, GOAL_TOKENS)) if picture else "",
    )


def _render_files(texts: Mapping[str, str], allowance: int) -> str:
    """Render as many files as fit, the first ones in full."""
    blocks = list[str]()
    for path, text in texts.items():
        room = allowance - sum(map(tokens, blocks))
        if room > 0 and text.strip():
            blocks.append(fence(path, trim(text, room)))
    return "\n\n".join(blocks)
