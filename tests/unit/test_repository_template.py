"""The repository's own template adds to the message, omits nothing, and can do nothing else."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateSyntaxError, UndefinedError

from helmsman.orient.brief import brief
from helmsman.prompts import render
from helmsman.prompts.message import BASE, LONGEST, check_template, render_message
from tests.unit.builders import config, orientation, state
from tests.unit.prompt_situations import JUDGED, after

pytestmark = pytest.mark.feature("D12")

EXTENDS = f'{{% extends "{BASE}" %}}\n'
RULES = f"""{EXTENDS}
{{% block rules %}}
Run `make fmt` before each commit.
{{% if iteration == 1 %}}
Read docs/architecture.md first.
{{% endif %}}
{{% endblock %}}
{{% block criteria %}}
{{{{ super() }}}}
{{% for one in criteria if one.id != "c9" %}}
{{{{ loop.index }}}}: {{{{ one.text | upper }}}}
{{% endfor %}}
{{% endblock %}}
"""


def block(name: str, text: str) -> str:
    return f"{EXTENDS}{{% block {name} %}}\n{text}\n{{% endblock %}}\n"


def test_it_adds_to_the_blocks_that_it_names_and_all_others_stay() -> None:
    check_template(RULES)
    usual = brief(after("test_mx", of=JUDGED), orientation())
    own = brief(after("test_mx", of=JUDGED), orientation(template=RULES))
    added = "1: EVERY FUNCTION IN CALC.PY HAS A DOCSTRING.\n\nRun `make fmt` before each commit.\n\nIteration 3 of 30"
    assert "</criteria>\n\n1: EVERY" in own.prompt
    assert added in own.prompt
    assert [line for line in usual.prompt.splitlines() if line not in own.prompt.splitlines()] == []
    assert own.system == usual.system
    assert "Read docs/architecture.md first." in brief(state(JUDGED), orientation(template=RULES)).prompt
    assert [name for name, _ in own.sections] == [name for name, _ in usual.sections]
    assert dict(own.sections)["task"] > dict(usual.sections)["task"]


PROBLEMS = {
    "nothing": ("", 1, "expected {% extends"),
    "no extends": ("Do it.\n", 1, "expected {% extends"),
    "other base": ('\n{% extends "system.md.j2" %}', 2, "expected {% extends"),
    "syntax": (f"{EXTENDS}{{% block rules %}}\n{{{{ }}", 3, ""),
    "undefined": (block("rules", "a\n{{ secret }}"), 4, "secret is undefined; expected one of branch, checks"),
    "in a branch": (block("rules", "{% if picture == 'never' %}{{ nothing }}{% endif %}"), 3, "nothing is undefined"),
    "attribute": (block("rules", "{{ goal.__class__ }}"), 3, "goal.__class__ is undefined"),
    "unknown block": (block("rule", "x"), 2, "there is no block rule"),
    "left out": (block("facts", "Never mind."), 2, "{{ facts }} is no longer printed"),
    "outside": (f"{EXTENDS}\n\nDo it.\n", 2, "text outside of a block"),
    "may fail": (block("rules", "{% if iteration > 9 %}\n{{ goal > 3 }}{% endif %}"), 4, "Compare is not allowed here"),
    "too long": (block("rules", "x" * LONGEST), 1, f"{LONGEST:,} at most"),
}


def test_what_is_wrong_with_it_is_found_beforehand_with_its_line() -> None:
    for text, line, cause in PROBLEMS.values():
        with pytest.raises(TemplateSyntaxError) as raised:
            check_template(text)
        assert raised.value.lineno == line
        assert cause in (raised.value.message or "")


def test_it_can_only_print_and_choose() -> None:
    for text in [
        "{% include 'system.md.j2' %}",
        "{% for a in criteria %}{% for b in criteria %}x{% endfor %}{% endfor %}",
        "{% for a in goal %}x{% endfor %}",
        "{% for iteration in criteria %}{{ iteration > 3 }}{% endfor %}",
        "{{ 'x' * 1000000000 }}",
        "{{ goal | replace('a', 'b') }}",
        "{{ goal | trim(3) }}",
        '{{ "\\ud800" }}',
        "{{ 'x' if picture }}",
        "{% macro m() %}{{ m() }}{% endmacro %}",
        "{{ self.rules() }}",
        "{{ [goal, goal] }}",
        "{{ " + "9" * 5_000 + " }}",
        "{{ " + "(" * 2_000 + "1" + ")" * 2_000 + " }}",
    ]:
        with pytest.raises(TemplateSyntaxError):
            check_template(block("rules", text))


@given(st.text(alphabet="{}%|. \n\x1e\x02abgoalif()'\"~", max_size=60))
def test_one_that_is_found_well_makes_every_message(text: str) -> None:
    own = block("rules", text)
    try:
        check_template(own)
    except TemplateSyntaxError:
        return
    values = {"goal": "g", "checks": "", "picture": "", "criteria": (), "work": "", "facts": "f", "memory": ""}
    made = render_message({**values, "iteration": 2, "branch": "b"}, own)
    assert "f" in made


def test_without_one_the_message_is_ours() -> None:
    assert brief(state(config()), orientation()).prompt.startswith(
        "<goal>\nmake the tests pass\n</goal>\n\n<checks>\npytest\n</checks>\n\nIt"
    )


# Templates of what models are told: what is quoted in them is foreign, and nothing but a template quotes


ROOT = Path(__file__).parents[2]


def test_what_a_template_quotes_is_fenced_and_all_else_is_ours() -> None:
    blocked = render(
        "blocked", done=SimpleNamespace(blocked=True, blocked_by="mine\n```\ntheirs", blocked_seen="no"), green=False
    )
    assert blocked.endswith("\n````\nmine\n```\ntheirs\n````\nThe reviewer looked as well and disagrees:\n```\nno\n```")


def test_a_name_that_is_not_filled_in_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'said' is undefined"):
        render("guidance")


def test_every_template_is_used() -> None:
    known = {path.name.removesuffix(".md.j2") for path in (ROOT / "helmsman" / "prompts").glob("*.j2")}
    code = "".join(path.read_text("utf-8") for top in ("helmsman", "deployments") for path in (ROOT / top).rglob("*.py"))
    used = set(re.findall(r'render\(\s*"(\w+)"', code))
    templates = "".join(path.read_text("utf-8") for path in (ROOT / "helmsman" / "prompts").glob("*.j2"))
    included = set(re.findall(r'include "(\w+)\.md\.j2"', templates))
    assert known == used | included | {BASE.removesuffix(".md.j2")}
