"""Which sentences of a document order something, how strongly, and on which line."""

import pytest

from helmsman.oversee.imperatives import LONGEST_TEXT, MOST_IMPERATIVES, read_imperatives

pytestmark = pytest.mark.feature("S11")


def read(text: str) -> list[tuple[int, str, str]]:
    return [(order.line, order.modality, order.text) for order in read_imperatives("AGENTS.md", text)]


@pytest.mark.parametrize(
    ("modality", "sentences"),
    [
        ("must", ["You must run the tests.", "Always run the tests.", "A review is required.", "The parser has to be fast."]),
        ("must", ["- Run the tests.", "- [ ] Run the tests.", "3. **Tests:** run them all. ", "- Please add tests."]),
        ("must", ["Use mocks in tests.", "Do not forget to run the tests.", "You must not only test but also document."]),
        ("must", ["Add a function that must not raise.", "Explain why you never push."]),
        ("must_not", ["You must not push.", "Never push.", "Do not push.", "Don\u2019t push.", "You may not push."]),
        ("must_not", ["Pushing is forbidden.", "- No new dependencies.", "If the build fails, do not push."]),
        ("must_not", ["Leave `src/` as it is.", "Leave the tests unchanged.", "`src/` is read-only."]),
        ("should", ["You should add tests.", "Prefer small functions."]),
        ("should_not", ["You should not use mocks.", "Avoid mocks."]),
    ],
)
def test_a_sentence_orders_or_forbids(modality: str, sentences: list[str]) -> None:
    assert [[how for _, how, _ in read(text)] for text in sentences] == [[modality]] * len(sentences)


def test_what_orders_nothing_is_left_out() -> None:
    cases = {
        "statements": ["The parser is fast.", "Should we add tests?", "Test files are in `tests/`.", ""],
        "permissions": ["You don't have to add tests.", "There is no need to push.", "Do not hesitate to ask."],
        "headings and quotations": ["# You must push", "You must push\n=============", "> You must push.", "| You must | push |"],
        "comments": ["<!-- You must push. -->", "<!--\nYou must push.\n-->", "---\nrule: must push\n---"],
        "code": ["```\nYou must push.\n```", "~~~md\nNever push.\n```\nNever push.\n~~~", "    rm -rf must not"],
        "quoted words": ["The button says `you must push` and “never push here”."],
    }
    for case, texts in cases.items():
        assert [read(text) for text in texts] == [[]] * len(texts), case


def test_items_under_a_heading_that_forbids_are_forbidden_until_the_next_heading() -> None:
    text = "## Do not\n- add mocks\n- Never sleep\n- You must say why\n### More\n- rename files\n## Do\n- add tests\n"
    assert read(text) == [
        (2, "must_not", "Do not: add mocks"),
        (3, "must_not", "Never sleep"),
        (4, "must", "You must say why"),
        (6, "must_not", "Do not: rename files"),
        (8, "must", "add tests"),
    ]


def test_a_sentence_with_two_orders_is_two() -> None:
    assert read("Never edit `dist/`; change `src/`.") == [(1, "must_not", "Never edit `dist/`"), (1, "must", "change `src/`.")]
    assert read("Use fixtures and never use mocks.") == [(1, "must", "Use fixtures"), (1, "must_not", "never use mocks.")]


def test_a_sentence_with_a_condition_or_an_exception_is_whole() -> None:
    whole = "Never edit `dist/`; change it except in tests."
    assert read(whole) == [(1, "must_not", whole)]
    assert read("Fix the bug without changing the API.") == [(1, "must", "Fix the bug without changing the API.")]


@pytest.mark.parametrize(
    "piece", ["leave ", "Never a. ", "- Never x\n", "**", "keep a as ", "if , ", "Do not:\n", "# a\n", "X. `", "<!--"]
)
def test_a_long_hostile_text_is_read_to_its_bounds(piece: str) -> None:
    found = read_imperatives("x", piece * 50_000)
    assert len(found) <= MOST_IMPERATIVES
    assert all(len(order.text) <= LONGEST_TEXT for order in found)
