"""Documents with generated parts: tutorial, diagrams, agents and presets match what the code does."""

import re
import shlex
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import typer

from deployments.cli import app
from helmsman.config import LadderConfig
from helmsman.config.layers import Layer, resolve
from helmsman.oversee.ladder import STEPS
from helmsman.parsers.definitions import read_hat, read_kind, read_sheet, template_kind
from helmsman.records.agent import AgentOutcome, FailureClass
from helmsman.records.hats import Condition
from tests.fakes.tutorial import PAGES, Step, agree
from tools import agents, presets
from tools.diagrams import DOCUMENT, diagrams, ladder_diagram
from tools.generated_parts import replace_parts

TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def step_output(step: Step) -> str | None:
    return step.shown.text if step.shown else None


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("one\ntwo\n", True),
        ("\none \ntwo\n\n", True),
        ("one\n", False),
        ("one\ntwo\nthree\n", False),
    ],
)
def test_the_documented_output_equals_the_printed_output(printed: str, told: bool) -> None:
    assert agree("one\ntwo\n", printed) == told


def test_hashes_durations_dates_money_and_columns_may_differ_and_nothing_else() -> None:
    one = "#1  took 1.2 s, $0.10, 960 tokens, at 72f55d7 on 2026-11-23   yes"
    other = "#1  took 0:01:05, $3, 1,960 tokens, at 1c51048aa1c5 on 2027-01-02 yes"
    assert agree(one, other.replace(" yes", "  yes"))
    assert not agree(one, one.replace("#1", "#2"))
    assert not agree("    indented", "  indented")


def test_a_link_leads_somewhere() -> None:
    for name in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (PAGES[0].parent / name).is_file()


def test_a_command_in_passing_has_the_arguments_that_it_is_shown_with() -> None:
    for command in dict.fromkeys(re.findall(r"`helmsman ([^`]+)`", TEXT)):
        parser: Any = typer.main.get_command(app)
        words = shlex.split(command)
        while hasattr(parser, "commands"):
            parser = parser.commands[words.pop(0)]
        assert parser.make_context("helmsman", words).command is parser


PLACE = "before\n<!-- diagram: one -->\n{}<!-- end of diagram -->\nafter\n"


@pytest.mark.feature("S8")
def test_the_diagram_shows_every_step_of_the_ladder_with_its_condition() -> None:
    lines = ladder_diagram(LadderConfig(patience=4)).splitlines()
    assert sum(" --> " in line for line in lines) == len(STEPS) + 1
    assert "    refactor --> redesign : trouble, after 4 iterations here" in lines
    assert "    redesign --> refactor : 2 clean here" in lines


@pytest.mark.parametrize("old", ["", "```mermaid\nold\n```\n"], ids=["empty", "stale"])
def test_a_part_between_markers_is_regenerated_and_the_rest_is_kept(old: str) -> None:
    once = replace_parts(PLACE.format(old), {"one": "new \\1"})
    assert once == PLACE.format("new \\1\n")
    assert replace_parts(once, {"one": "new \\1"}) == once


@pytest.mark.parametrize("made", [{"one": "", "two": ""}, {}], ids=["a part", "a place"])
def test_a_part_without_markers_and_markers_without_a_part_are_errors(made: dict[str, str]) -> None:
    with pytest.raises(KeyError, match="two" if made else "one"):
        replace_parts(PLACE.format(""), made)


def test_the_document_shows_what_runs() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert replace_parts(text, diagrams()) == text, "run python tools/diagrams.py"


AGENTS, PRESETS = (tool.DOCUMENT.read_text(encoding="utf-8") for tool in (agents, presets))


@pytest.mark.feature("A5", "M10")
@pytest.mark.parametrize("name", ["agents", "presets"])
def test_the_document_is_up_to_date_and_the_tool_says_so(name: str) -> None:
    tool = [sys.executable, "-P", str(agents.ROOT / "tools" / f"{name}.py"), "--check"]
    ended = subprocess.run(tool, cwd=agents.ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"docs/{name}.md is up to date\n"), ended.stderr


@pytest.mark.feature("A5")
def test_the_examples_of_agents_can_be_read() -> None:
    settings, described, file, stream = re.findall(r"^```toml\n(.*?)^```$", AGENTS, re.DOTALL | re.MULTILINE)
    assert resolve([Layer("it", {"goal": "g", **tomllib.loads(settings)})]).config.agent.kind == "codex"
    assert template_kind(resolve([Layer("it", {"goal": "g", **tomllib.loads(described)})]).config.agent).prompt == "file"
    assert read_kind(file, "it").exits == {"75": AgentOutcome.RATE_LIMITED}
    output, _, rest = stream.partition("\n")
    assert read_kind(file.replace('output = "text"\n', f"{output}\n") + rest, "it").stream is not None


@pytest.mark.feature("M10")
def test_the_examples_of_presets_can_be_read_and_every_condition_and_class_of_failure_is_explained() -> None:
    sheet, hat = re.findall(r"^```\n(\+\+\+\n.*?)^```$", PRESETS, re.DOTALL | re.MULTILINE)
    assert read_sheet(sheet, "example").name
    assert read_hat(hat, "example").name
    assert set(Condition.model_fields) <= {line.split("`")[1] for line in PRESETS.splitlines() if line.startswith("| `")}
    assert not [kind for kind in FailureClass if f"`{kind}`" not in PRESETS]
