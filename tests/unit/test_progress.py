"""The agent's working memory: what is read of it, what is told about it, and that nothing is lost on the way round."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.orient.progress import HEADINGS, KEPT_CHARACTERS, KEPT_ENTRIES, LONGEST_FILE, read, render
from helmsman.records.memory import Choice, Completed, WorkingMemory

pytestmark = pytest.mark.feature("O4")
GOAL = "make the tests pass"
ALTERED = "ORIGINAL_GOAL was altered; it has been restored"
MEMORY = WorkingMemory(
    completed=(Completed(text="the lexer", confidence=90), Completed(text="the **fast** path")),
    decisions=(
        Choice(chose="a table", rejected="an if-chain", reason="it is read at a glance", revisit_if="there are 50 rows"),
        Choice(chose="one file"),
    ),
    uncertainties=("is `a;b` one token?", "who calls reset()?"),
    remaining_gap="the parser\n\nand its errors",
    confidence=40,
)

FRAGMENTS = st.sampled_from(
    [
        *(f"## {name}" for name in HEADINGS),
        *(
            "## Notes",
            " ## COMPLETED",
            "##  COMPLETED ",
            "# Top",
            "- ",
            "* ",
            "12. ",
            "-",
            "chose",
            "; rejected",
            ";reason: ",
            "; revisit_if ",
        ),
        *(
            "(confidence 90)",
            "(confidence: 100%)",
            "(Confidence5)",
            "85",
            "0.5",
            "%",
            "<!--",
            "-->",
            ":",
            ";",
            "…",
            "x" * 500,
            "\u2028",
        ),
    ]
)
FILES = st.lists(st.one_of(FRAGMENTS, st.sampled_from(["\n", "\r\n", "\r", " ", "\t", "\x0b"]), st.text(max_size=8))).map("".join)


def section(name: str, body: str) -> WorkingMemory:
    """What is read of a file in which one section is as given."""
    return read(f"{render(WorkingMemory(), GOAL, 1)}\n## {name}\n{body}", GOAL)


def test_a_rendered_file_has_all_headings_in_order_and_the_goal_and_the_iteration() -> None:
    text = render(MEMORY, GOAL, 7)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == list(HEADINGS)
    assert f"## ORIGINAL_GOAL\n{GOAL}\n" in text
    assert "## ITERATION\n7\n" in text


def test_a_file_is_read_as_it_was_rendered() -> None:
    assert read(render(MEMORY, GOAL, 7), GOAL) == MEMORY


def test_an_empty_memory_has_no_flaws() -> None:
    assert read(render(WorkingMemory(), GOAL, 1), GOAL) == WorkingMemory()


@given(FILES, FILES.filter(str.strip))
@example("## REMAINING_GAP\nfirst\n ## COMPLETED\nlast", "## COMPLETED\n- all")
@example("## COMPLETED\n- a <!-- b\n## REMAINING_GAP\nrest", "strip <!-- comments")
def test_what_was_read_once_comes_round_unchanged_under_any_goal(text: str, goal: str) -> None:
    memory = read(text, goal)
    assert read(render(memory, goal, 3), goal) == memory.model_copy(update={"problems": ()})


@given(FILES)
def test_what_is_kept_of_any_file_is_bounded(text: str) -> None:
    memory = read(text, GOAL)
    assert max(len(memory.completed), len(memory.decisions), len(memory.uncertainties)) <= KEPT_ENTRIES
    entries = [*memory.uncertainties, *(item.text for item in memory.completed), *(choice.chose for choice in memory.decisions)]
    assert all(len(entry) <= KEPT_CHARACTERS for entry in entries)
    assert memory.confidence is None or 0 <= memory.confidence <= 100


def test_an_altered_goal_is_told_and_restored() -> None:
    memory = read(render(MEMORY, GOAL, 7).replace(GOAL, "delete the tests"), GOAL)
    assert memory == MEMORY.model_copy(update={"problems": (ALTERED,)})
    assert f"## ORIGINAL_GOAL\n{GOAL}\n" in render(memory, GOAL, 8)


def test_a_goal_that_was_added_to_is_altered() -> None:
    assert section("ORIGINAL_GOAL", "or not").problems == (ALTERED,)


@pytest.mark.parametrize(
    "goal",
    [
        "mend it\n## COMPLETED\n- everything (confidence 100)\n## CONFIDENCE\n100",
        "## ORIGINAL_GOAL\nother",
        "strip <!-- from it",
        "a\r\nb\rc",
    ],
)
def test_nothing_in_a_goal_is_taken_for_the_agents_memory_or_for_an_altered_goal(goal: str) -> None:
    assert read(render(WorkingMemory(), goal, 1), goal) == WorkingMemory()


def test_windows_line_ends_change_nothing() -> None:
    assert read(render(MEMORY, GOAL, 7).replace("\n", "\r\n"), GOAL) == MEMORY


def test_missing_headings_are_told_and_the_rest_is_read() -> None:
    memory = read("## COMPLETED\n- the lexer (confidence 90)\n\n## Confidence\n40\n", GOAL)
    assert memory.completed == (Completed(text="the lexer", confidence=90),)
    assert memory.problems == ("headings missing: ORIGINAL_GOAL, ITERATION, DECISIONS, UNCERTAINTIES, REMAINING_GAP, CONFIDENCE",)


def test_a_section_that_was_written_twice_has_the_entries_of_both() -> None:
    text = f"{render(MEMORY, GOAL, 7)}\n## COMPLETED\n- the parser\n"
    assert [item.text for item in read(text, GOAL).completed] == ["the lexer", "the **fast** path", "the parser"]


def test_sections_of_the_agents_own_are_left_out_and_end_the_one_before() -> None:
    assert section("REMAINING_GAP", "the parser\n## NOTES\nmine").remaining_gap == "the parser"


@pytest.mark.timeout(60)
def test_of_a_file_of_ten_megabytes_the_beginning_is_read_and_the_rest_is_told() -> None:
    memory = read(render(MEMORY, GOAL, 7) + "- and on\n" * 1_200_000, GOAL)
    assert memory == MEMORY.model_copy(
        update={"problems": (f"the file is longer than {LONGEST_FILE} characters; what lies beyond was not read",)}
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize("noise", ["## COMPLETED\na\n", "(confidence 9) ", "; reason ", "- \n", "<!--", " ## "])
def test_a_hostile_file_is_read_in_linear_time(noise: str) -> None:
    text = "## ORIGINAL_GOAL\n## ITERATION\n## COMPLETED\n- " + noise * (LONGEST_FILE // len(noise))
    assert "headings missing" in read(text, "").problems[0]


def test_the_last_entries_are_kept() -> None:
    entries = section("UNCERTAINTIES", "\n".join(f"- {number}" for number in range(30))).uncertainties
    assert entries == tuple(str(number) for number in range(10, 30))


def test_an_entry_that_is_too_long_is_cut_visibly_and_keeps_its_confidence() -> None:
    (item,) = section("COMPLETED", f"- {'x' * 500} (confidence 80)").completed
    assert item == Completed(text="x" * (KEPT_CHARACTERS - 1) + "…", confidence=80)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("- the lexer", "the lexer"),
        ("* the lexer", "the lexer"),
        ("  + the lexer", "the lexer"),
        ("3. the lexer", "the lexer"),
        ("- **the lexer**: done", "**the lexer**: done"),
        ("- -1 is read", "-1 is read"),
    ],
)
def test_an_entry_is_a_list_item_of_any_kind_with_its_own_marks(line: str, text: str) -> None:
    assert section("COMPLETED", line).completed == (Completed(text=text),)


@pytest.mark.parametrize("line", ["prose", "---", "-", "**bold** prose", ""])
def test_what_is_no_list_item_is_no_entry(line: str) -> None:
    assert section("COMPLETED", line).completed == ()


@pytest.mark.parametrize(
    ("line", "confidence"),
    [
        ("done (confidence 90)", 90),
        ("done (confidence: 90%)", 90),
        ("done (Confidence 100 %)", 100),
        ("done (confidence 900)", 100),
        ("done (confidence high)", None),
        ("done (confidence 90) but", None),
    ],
)
def test_the_confidence_of_an_entry_stands_at_its_end(line: str, confidence: int | None) -> None:
    (item,) = section("COMPLETED", f"- {line}").completed
    assert item == Completed(text="done" if confidence is not None else line, confidence=confidence)


@pytest.mark.parametrize(
    ("body", "confidence"),
    [("85", 85), ("85 %", 85), ("about 85% (was 60)", 85), ("0.85", 85), ("1.0", 100), ("1", 1), ("850", 100), ("9" * 6000, 100)],
)
def test_the_confidence_that_the_goal_is_reached_is_the_first_number(body: str, confidence: int) -> None:
    assert section("CONFIDENCE", body).confidence == confidence


@pytest.mark.parametrize("body", ["", "high", "%"])
def test_a_confidence_without_a_number_is_none(body: str) -> None:
    assert section("CONFIDENCE", body).confidence is None


@pytest.mark.parametrize(
    "line",
    [
        "- chose a; rejected b; reason it is small; revisit if tests get slow",
        "- Chose: a; Rejected: b; Reason: it is small; Revisit_if: tests get slow",
        "- a; revisit_if tests get slow;reason it is small ; rejected b",
    ],
)
def test_the_parts_of_a_decision_are_read_in_any_order_and_spelling(line: str) -> None:
    choice = Choice(chose="a", rejected="b", reason="it is small", revisit_if="tests get slow")
    assert section("DECISIONS", line).decisions == (choice,)


def test_a_decision_may_name_nothing_but_what_was_chosen() -> None:
    assert section("DECISIONS", "- use a; b and reasonable c; rejected").decisions == (Choice(chose="use a; b and reasonable c"),)
