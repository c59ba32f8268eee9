"""Which sentences of a document order something, how strongly, and on which line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.double_bind.imperatives import LONGEST_TEXT, MOST_IMPERATIVES, imperatives

pytestmark = pytest.mark.feature("S11")


def read(text: str) -> list[tuple[int, str, str]]:
    return [(order.line, order.modality, order.text) for order in imperatives("AGENTS.md", text)]


def how(text: str) -> list[str]:
    return [order.modality for order in imperatives("AGENTS.md", text)]


@pytest.mark.parametrize(
    ("text", "modality"),
    [
        ("You must run the tests.", "must"),
        ("Always run the tests.", "must"),
        ("A review is required.", "must"),
        ("The parser has to be fast.", "must"),
        ("- Run the tests.", "must"),
        ("- [ ] Run the tests.", "must"),
        ("3. **Tests:** run them all. ", "must"),
        ("- Please add tests.", "must"),
        ("You must not push.", "must_not"),
        ("Never push.", "must_not"),
        ("Do not push.", "must_not"),
        ("Don't push.", "must_not"),
        ("Don\u2019t push.", "must_not"),
        ("You may not push.", "must_not"),
        ("Pushing is forbidden.", "must_not"),
        ("Leave `src/` as it is.", "must_not"),
        ("Leave the tests unchanged.", "must_not"),
        ("- No new dependencies.", "must_not"),
        ("If the build fails, do not push.", "must_not"),
        ("You should add tests.", "should"),
        ("Prefer small functions.", "should"),
        ("You should not use mocks.", "should_not"),
        ("Avoid mocks.", "should_not"),
        ("Do not forget to run the tests.", "must"),
        ("Never forget to run the tests.", "must"),
        ("You must not only test but also document.", "must"),
        ("Add a function that must not raise.", "must"),
        ("Explain why you never push.", "must"),
    ],
)
def test_a_sentence_orders(text: str, modality: str) -> None:
    assert how(text) == [modality]


@pytest.mark.parametrize(
    "text",
    [
        "The parser is fast.",
        "Should we add tests?",
        "You don't have to add tests.",
        "There is no need to push.",
        "Do not hesitate to ask.",
        "Test files are in `tests/`.",
        "# You must push",
        "You must push\n=============",
        "> You must push.",
        "| You must | push |",
        "<!-- You must push. -->",
        "<!--\nYou must push.\n-->",
        "```\nYou must push.\n```",
        "~~~md\nNever push.\n```\nNever push.\n~~~",
        "    rm -rf must not",
        "---\nrule: must push\n---",
        "The button says `you must push` and “never push here”.",
        "",
    ],
)
def test_what_orders_nothing_is_left_out(text: str) -> None:
    assert read(text) == []


def test_lines_are_those_of_the_sentence_also_inside_of_a_paragraph() -> None:
    text = "# Rules\n\nThis is a house.\nYou must knock. Never\nshout at night.\n\n- Add a bell\n  to the door\n- Do not ring\n"
    assert read(text) == [
        (4, "must", "You must knock."),
        (4, "must_not", "Never shout at night."),
        (7, "must", "Add a bell to the door"),
        (9, "must_not", "Do not ring"),
    ]


def test_items_under_a_heading_that_forbids_are_forbidden_until_the_next_heading() -> None:
    text = "## Do not\n- add mocks\n- Never sleep\n- You must say why\n### More\n- rename files\n## Do\n- add tests\n"
    assert read(text) == [
        (2, "must_not", "Do not: add mocks"),
        (3, "must_not", "Never sleep"),
        (4, "must", "You must say why"),
        (6, "must_not", "Do not: rename files"),
        (8, "must", "add tests"),
    ]


def test_a_line_that_ends_with_a_colon_speaks_for_the_items_below() -> None:
    text = "You must never:\n\n- push\n- force\n\nPlease:\n- add tests\n"
    assert [(line, modality) for line, modality, _ in read(text)] == [(3, "must_not"), (4, "must_not"), (7, "must")]


def test_a_sentence_with_two_orders_is_two_and_one_with_an_exception_is_whole() -> None:
    assert read("Never edit `dist/`; change `src/`.") == [(1, "must_not", "Never edit `dist/`"), (1, "must", "change `src/`.")]
    assert read("Fix the bug without changing the API.") == [
        (1, "must", "Fix the bug"),
        (1, "must_not", "without changing the API."),
    ]
    assert read("Never edit `dist/`; change it except in tests.") == [
        (1, "must_not", "Never edit `dist/`; change it except in tests."),
    ]


def test_an_open_fence_hides_the_rest() -> None:
    assert read("Never push.\n```\nNever pull.\n# Never\n- a\n") == [(1, "must_not", "Never push.")]


@given(st.text(alphabet="ab `*_#-.>|~\n\"'<!:;,1)[] Nneverdot", max_size=400))
def test_no_text_is_too_strange(text: str) -> None:
    lines = max(1, len(text.splitlines()))
    for order in imperatives("x", text):
        assert 1 <= order.line <= lines
        assert 0 < len(order.text) <= LONGEST_TEXT


@pytest.mark.parametrize(
    "piece",
    [
        "leave ",
        "Never a. ",
        "- Never x\n",
        "`",
        "(",
        "**",
        "keep a as ",
        "must not that ",
        "if , ",
        "; ",
        "Do not:\n",
        "# a\n",
        "X. `",
    ],
)
def test_a_long_hostile_text_is_read_to_its_bounds(piece: str) -> None:
    found = imperatives("x", piece * 50_000)
    assert len(found) <= MOST_IMPERATIVES
    assert all(len(order.text) <= LONGEST_TEXT for order in found)
