"""Foreign text in Markdown, whatever it is: a table keeps its rows, a fence its end, and nothing becomes what it is not."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.plain import short_line
from helmsman.render.markdown_page import code, fence, prose, stacked, table, wrapped
from tests.unit.rendered import JOINER, read

EVIL = (
    "| a \\| b `x|y` ``` <img src=x onerror=alert(1)> </td><script>alert(1)</script> [l](javascript:alert(1)) ![i](http://e.example)"
    " <https://e.example> **b** _i_ ~~s~~ # h &amp; &#124; <br> \\"
)
PIECES = [
    "|",
    "\\",
    "`",
    "```",
    "~~~",
    "\n",
    "\r\n",
    "\t",
    "<br>",
    "<script>",
    "</td>",
    "&lt;",
    "&#124;",
    "](x)",
    "![",
    "**",
    "__",
]
FOREIGN = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES, "- ", "1. ", "# ", "a", " ", "https://e.example/x", "www.e.example", "a@e.example"])).map(
        "".join
    ),
)


def in_words(text: str) -> str:
    """What is left to read of a text, wherever its lines are broken."""
    return re.sub(r"\s", "", text)


@pytest.mark.feature("X3")
@given(st.lists(st.tuples(FOREIGN, FOREIGN), min_size=1, max_size=4))
@example([(EVIL, EVIL)])
@example([("\\|", "a\\"), ("`|`", "`<br>`")])
def test_a_table_keeps_its_rows_and_cells_and_each_cell_its_words(rows: list[tuple[str, str]]) -> None:
    for widths in ((), (10, 20)):
        page = stacked([table(("First", "Second"), ((prose(one), code(other)) for one, other in rows), widths), "the end"])
        found = read(page)
        assert found.strangers == []
        assert found.headings == found.fences == []
        assert found.paragraphs == ["the end"]
        assert len(found.tables) == 1
        expected = [["First", "Second"], *([short_line(one), short_line(other)] for one, other in rows)]
        assert [[in_words(cell) for cell in row] for row in found.tables[0]] == [
            [in_words(cell) for cell in row] for row in expected
        ]


@pytest.mark.feature("X3")
@given(FOREIGN)
@example(EVIL)
@example("- a list")
@example("1. a list")
@example("= a heading\n===")
def test_a_sentence_says_its_words_and_nothing_else(text: str) -> None:
    for page in (prose(text), f"So: {prose(text)}", f"- {code(text)}"):
        found = read(f"{page}\n\nthe end")
        assert found.strangers == found.headings == found.fences == found.tables == []
        assert found.paragraphs[-1] == "the end"
        assert in_words("".join(found.paragraphs[:-1])) in {in_words(short_line(text)), in_words(f"So: {short_line(text)}")}


@pytest.mark.feature("X3")
@given(FOREIGN)
@example("```\n# out\n```")
@example("~~~\nout\n~~~\n````")
@example(EVIL)
def test_a_fence_encloses_all_of_its_text(text: str) -> None:
    found = read(stacked([fence(text), "the end"]))
    assert found.paragraphs == ["the end"]
    assert found.strangers == found.headings == found.tables == []
    assert len(found.fences) == 1


@given(st.text(alphabet="ab \n", min_size=50, max_size=300))
def test_of_a_long_output_the_end_is_shown_and_the_cut_is_told(text: str) -> None:
    shown = fence(f"{text}\nthe outcome", most=30)
    assert "the outcome" in shown
    assert "characters are left out" in shown


@pytest.mark.feature("X3")
@pytest.mark.parametrize("address", ["https://e.example/x", "HTTP://E.EXAMPLE", "www.e.example", "anna@e.example"])
def test_an_address_is_no_address_any_more(address: str) -> None:
    told = prose(f"see {address} there")
    assert JOINER in told
    assert address not in told.replace("\\", "")


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=12), min_size=1, max_size=40), st.integers(12, 40))
def test_a_cell_is_broken_between_words_into_lines_that_fit(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width).split("<br>")
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)
