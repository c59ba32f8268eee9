"""The state diagrams are drawn from the tables that run, and docs/control.md shows them as they are now."""

import pytest

from helmsman.config import LadderConfig
from helmsman.oversee.ladder import STEPS
from tools.diagrams import DOCUMENT, diagrams, ladder_diagram
from tools.parts import drawn

PLACE = "before\n<!-- diagram: one -->\n{}<!-- end of diagram -->\nafter\n"


@pytest.mark.feature("S8")
def test_every_step_of_the_ladder_is_drawn_with_what_it_needs() -> None:
    lines = ladder_diagram(LadderConfig(patience=4)).splitlines()
    assert sum(" --> " in line for line in lines) == len(STEPS) + 1
    assert "    refactor --> redesign : trouble, after 4 iterations here" in lines
    assert "    redesign --> refactor : 2 clean here" in lines


@pytest.mark.parametrize("old", ["", "```mermaid\nold\n```\n"], ids=["empty", "stale"])
def test_a_part_between_markers_is_drawn_anew_and_the_rest_stays(old: str) -> None:
    once = drawn(PLACE.format(old), {"one": "new \\1"})
    assert once == PLACE.format("new \\1\n")
    assert drawn(once, {"one": "new \\1"}) == once


@pytest.mark.parametrize("made", [{"one": "", "two": ""}, {}], ids=["a part", "a place"])
def test_a_part_without_a_place_and_a_place_without_a_part_are_told(made: dict[str, str]) -> None:
    with pytest.raises(KeyError, match="two" if made else "one"):
        drawn(PLACE.format(""), made)


def test_the_document_shows_what_runs() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert drawn(text, diagrams()) == text, "run python tools/diagrams.py"
