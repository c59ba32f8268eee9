"""What holds for every text that is read as a rubric."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.parsers.rubric import read_rubric, settings
from helmsman.parsers.rubric_items import MOST_PROBLEMS

pytestmark = pytest.mark.feature("V1")

MARKS = st.sampled_from(
    ["## Checks", "## Judge criteria", "## Envisioning", "- ", "`", "```", "~~~", "(", ")", "[", "]", "<!--", "-->", "weight 2",
     "2 of 3", "tests: ", "name: ", ",", ";", '"', "\n", "\n", "\n  ", " ", "a", "#", "\\", "\0", "\t", "é"]
)  # fmt: skip
DOCUMENTS = st.lists(MARKS, max_size=60).map("".join) | st.text(max_size=300)


@given(DOCUMENTS, st.integers(1, 50))
def test_any_text_is_read_and_every_flaw_lies_in_it(text: str, first: int) -> None:
    rubric = read_rubric(text, first)
    lines = [one.line for one in rubric.problems]
    assert lines == sorted(lines)
    assert all(first <= line <= first + text.count("\n") for line in lines)


@given(DOCUMENTS)
def test_whatever_is_without_flaw_is_valid_configuration(text: str) -> None:
    rubric = read_rubric(text)
    if not rubric.problems:
        config = LoopConfig.model_validate({"goal": "g", **settings(rubric)}, strict=True)
        assert len(config.checks) == len(rubric.checks)


WORDS = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,3}", fullmatch=True)


@given(st.lists(WORDS, min_size=1, max_size=5, unique=True), st.lists(WORDS, min_size=1, max_size=5))
def test_what_is_written_down_is_read_back(commands: list[str], sentences: list[str]) -> None:
    text = "\n".join(["## Checks", *(f"- `{one}`" for one in commands), "## Judge criteria", *(f"- {one}" for one in sentences)])
    rubric = read_rubric(text)
    assert [check.config.command for check in rubric.checks] == commands
    assert [criterion.config.text for criterion in rubric.criteria] == sentences
    assert rubric.problems == ()


HOSTILE = [
    "`" * 100_000,
    "` " * 50_000,
    "- `a` (" * 20_000,
    "(" * 100_000,
    ")" * 100_000,
    "a (" + "[" * 1_900 + ")",
    f"- a ({'[' * 1_900})\n" * 100,
    '- "' * 50_000,
    "* _" * 50_000,
    "a:" + " " * 100_000,
    "".join("`" * length + "\n" for length in range(400, 2, -1)),
    "<!--\n" * 20_000,
    "a\n" * 50_000,
    "a\n- b\n  c\n" * 10_000,
    "## chek\n" * 10_000,
]


@pytest.mark.feature("X3")
@pytest.mark.parametrize("heading", ["## Checks\n- ", "## Judge criteria\n- "])
def test_text_made_to_exhaust_the_reader_is_read_soon(heading: str) -> None:
    for text in HOSTILE:
        assert len(read_rubric(heading + text).problems) <= MOST_PROBLEMS
