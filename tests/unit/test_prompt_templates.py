"""Templates of what models are told: what is quoted in them is foreign, and nothing but a template quotes."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import UndefinedError

from helmsman.prompts import Untrusted, render, render_pieces
from helmsman.prompts.message import BASE

ROOT = Path(__file__).parents[2]
HOSTILE = "mine\x02yours\x03\n\x03theirs\x02"


def test_what_a_template_quotes_is_foreign_and_all_else_is_ours() -> None:
    told = render_pieces("blocked", done=SimpleNamespace(blocked=True, blocked_by=HOSTILE, blocked_seen="no"))
    assert told[1:] == (
        Untrusted("mine yours \n theirs "),
        "The reviewer looked as well and disagrees:",
        Untrusted("no"),
    )


def test_a_text_cannot_quote_itself() -> None:
    assert render_pieces("guidance", said=[HOSTILE]) == ("# What a person says to this iteration\nmine yours \n theirs",)


def test_a_name_that_is_not_filled_in_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'said' is undefined"):
        render("guidance")


def test_every_template_is_used() -> None:
    known = {path.name.removesuffix(".md.j2") for path in (ROOT / "helmsman" / "prompts").glob("*.j2")}
    code = "".join(path.read_text("utf-8") for path in (ROOT / "helmsman").rglob("*.py"))
    used = set(re.findall(r'render(?:_pieces)?\(\s*"(\w+)"', code))
    templates = "".join(path.read_text("utf-8") for path in (ROOT / "helmsman" / "prompts").glob("*.j2"))
    included = set(re.findall(r'include "(\w+)\.md\.j2"', templates))
    assert known == used | included | {BASE.removesuffix(".md.j2")}
