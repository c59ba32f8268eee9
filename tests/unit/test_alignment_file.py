"""ALIGNMENT.md both ways: what is written is read back, what a person writes is understood, what would be lost is told."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.orient.alignment import goal_text
from helmsman.parsers.alignment_file import LARGEST, NOTHING, read, render
from helmsman.records.alignment import Alignment, AlignmentQuestion, Origin, Stage
from tests.unit.test_alignment import GOAL

pytestmark = pytest.mark.feature("M1")

WORDS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("`>#-*+[]x (){}:.1\n\t\r\u2028\u202e")), min_size=1, max_size=60
)
WORD = WORDS.filter(lambda text: "".join(c if c.isprintable() else " " for c in text).strip() != "")
TRICKY = st.sampled_from(
    [
        "## Process",
        "- [x] yes",
        "[ ] open",
        "> quoted",
        NOTHING,
        "`a` and `b`",
        "``",
        "Answer: x",
        "Proof: x",
        "1. one",
        "<!-- x",
        "---",
    ]
)
LINES = st.lists(st.one_of(WORD, TRICKY), max_size=4)
TEXT = st.one_of(st.just(""), WORD, TRICKY, st.lists(st.one_of(WORD, TRICKY), max_size=4).map("\n".join))


def questions(answer: st.SearchStrategy[str | None]) -> st.SearchStrategy[tuple[AlignmentQuestion, ...]]:
    return st.lists(st.builds(AlignmentQuestion, question=st.one_of(WORD, TRICKY), answer=answer), max_size=4).map(tuple)


ANSWER = st.one_of(st.just(""), WORD, TRICKY)
ALIGNMENTS = st.builds(
    Alignment,
    goal=st.one_of(WORD, TRICKY, st.just(GOAL)),
    approach=TEXT,
    sequence=st.lists(st.builds(Stage, what=st.one_of(WORD, TRICKY), proof=ANSWER), max_size=4),
    **dict.fromkeys(("deliverables", "out_of_scope", "assumptions", "machine_checks", "behavioural_checks", "edge_cases"), LINES),
    **dict.fromkeys(("capability", "instruction", "intentionality"), LINES),
    questions=questions(st.one_of(st.none(), ANSWER)),
    answered=questions(ANSWER),
    made=st.builds(
        Origin,
        by=st.sampled_from(["model", "template", "person"]),
        model=WORDS,
        round=st.integers(0, 1000),
        commit=WORDS.map(lambda text: text[:40]),
        cost_usd=st.floats(0, 1e6),
        reason=st.one_of(WORDS, st.just("--> <!-- \n## Process")),
    ),
    more=st.one_of(st.just(""), WORDS.map(lambda words: f"## Handed over\n\n### Goal\n{words}".replace("\r\n", "\n"))),
)


@given(ALIGNMENTS)
def test_what_is_written_is_read_back_as_the_same(alignment: Alignment) -> None:
    assert read(render(alignment)) == alignment


@settings(max_examples=30)
@given(ALIGNMENTS)
def test_values_cannot_add_headings(alignment: Alignment) -> None:
    own, headings = alignment.model_copy(update={"more": ""}), ("#", "##", "###")
    found = [line for line in render(own).split("\n") if line.split(" ")[0] in headings]
    assert len(found) == 1 + 4 + 14


BY_HAND = """\
# alignment

## specification
### GOAL
Export the rows
as CSV
### Deliverables
A CSV export
that opens anywhere.

* `x export`, a command
  of one line
### Out of scope
## Process
### Approach
### Sequence
1) Write it
    * Proof: the tests
      of it pass
2) Document it
### Stack assumptions
## Evaluation
### Machine checks
- `pytest -q`
- make lint
### Behavioural checks
### Edge cases
## Gap check
### Capability
### Instruction
### Intentionality
### Blocking questions
- [ ] Which separator?
- [ ] Which columns?
      all of them?
  - name
    and age
- [X] Which encoding?
- Which order?
### Answered questions
## Notes
- [ ] not a question
"""


def test_a_file_that_a_person_wrote_in_another_manner_is_understood() -> None:
    found = read(BY_HAND.replace("\n", "\r\n"))
    assert isinstance(found, Alignment), found
    assert found.goal == "Export the rows\nas CSV"
    assert found.deliverables == ("A CSV export that opens anywhere.", "`x export`, a command of one line")
    assert found.sequence == (Stage(what="Write it", proof="the tests of it pass"), Stage(what="Document it"))
    assert found.machine_checks == ("pytest -q", "make lint")
    assert [(one.question, one.answer) for one in found.questions] == [
        ("Which separator?", None),
        ("Which columns? all of them?", "name and age"),
        ("Which encoding?", ""),
        ("Which order?", None),
    ]
    assert found.open == ("Which separator?", "Which order?")
    assert (found.made, found.more) == (Origin(), "## Notes\n- [ ] not a question")


def test_text_that_would_be_lost_is_an_error_with_its_line() -> None:
    for old, new, why in [
        ("# alignment", "# Something else", "its first line is not `# Alignment`"),
        ("## Gap check", "## Gap chek", "unknown heading 'Gap chek'; expected: Specification, Process, Evaluation, Gap check"),
        ("## Evaluation\n", "", "unknown heading 'Machine checks'"),
        ("### Out of scope", "### Deliverables", "line 13: the heading 'Deliverables' appears twice"),
        ("## Process", "## Process\nSome words.", "line 15: 'Some words.' is directly below a section;"),
        ("Export the rows\nas CSV\n", "", "goal: expected some words"),
        ("- Which order?", "- [ ]", "questions question"),
        ("- make lint", f"- {'x' * 1001}", "1000 characters"),
        ("- Which order?", "\n".join(f"- [ ] q{n}" for n in range(20)), "questions: Tuple should have at most 20 items"),
    ]:
        assert BY_HAND.count(old) == 1
        found = read(BY_HAND.replace(old, new))
        assert isinstance(found, str), found
        assert why in found


GULF = """\
# Alignment contract

## Specification Alignment
- **Goal**: Export the rows as CSV
- **Deliverables**: [a CSV export]
- **Out of scope**:
  - XLSX
  - the web page

## Process Alignment
- **Approach**: The csv module
  of the library
- **Sequence**: write it, then document it
- **Stack assumptions**: Python

## Evaluation Alignment
- **Machine checks**: [`pytest -q`, `make lint`]
- **Behavioral checks**: it opens anywhere
- **Edge cases**: none

## Gulf of Envisioning — Gap Check
- **Capability gaps**: None.
- **Instruction gaps**: []
- **Blocking questions**:
  - [x] Which separator? The comma.
  - Which encoding?

## Loop completed — 2026-02-28 14:22:11 | iteration 23
COMPLETED: the writer
"""


def test_an_alignment_of_gulf_loop_is_read_as_it_is() -> None:
    found = read(GULF)
    assert isinstance(found, Alignment), found
    assert (found.goal, found.deliverables) == ("Export the rows as CSV", ("a CSV export",))
    assert found.out_of_scope == ("XLSX", "the web page")
    assert found.approach == "The csv module\nof the library"
    assert found.sequence == (Stage(what="write it, then document it"),)
    assert found.machine_checks == ("pytest -q", "make lint")
    assert found.edge_cases == ()
    assert [(one.question, one.answer) for one in found.questions] == [
        ("Which separator?", "The comma."),
        ("Which encoding?", None),
    ]
    assert found.more == "## Loop completed — 2026-02-28 14:22:11 | iteration 23\nCOMPLETED: the writer"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("- **Sequence**", "- **Steps**", "unknown heading 'Steps'; expected: Approach, Sequence"),
        ("- **Approach**: The", "By the", "'By the csv module' is directly below a section;"),
        ("## Evaluation Alignment\n", "", "unknown heading 'Machine checks'"),
    ],
)
def test_what_would_be_lost_of_an_alignment_of_gulf_loop_is_reported(old: str, new: str, why: str) -> None:
    found = read(GULF.replace(old, new))
    assert isinstance(found, str), found
    assert found.startswith(why) or why in found


@pytest.mark.parametrize(
    "answered",
    [
        "- [x] Which word? The first one.",
        "- [x] Which word?\n  - The first one.",
    ],
)
def test_text_after_or_below_a_ticked_question_is_its_answer(answered: str) -> None:
    found = read(BY_HAND.replace("- Which order?", answered))
    assert isinstance(found, Alignment), found
    last = found.questions[-1]
    assert (last.question, last.answer) == ("Which word?", "The first one.")


def test_a_file_beyond_the_bound_is_not_read() -> None:
    assert read(BY_HAND + "x" * LARGEST) == f"it is longer than {LARGEST:,} characters"


def test_the_file_that_the_documentation_shows_is_an_alignment() -> None:
    shown = (
        (Path(__file__).parents[2] / "docs" / "align.md")
        .read_text(encoding="utf-8")
        .partition("```markdown\n")[2]
        .partition("```")[0]
    )
    found = read(shown)
    assert isinstance(found, Alignment), found
    assert found.open == ("Which separator?",)


@pytest.mark.parametrize("noted", ["{}", "[]", '{"round": -1}', '{"cost_usd": Infinity}', "{" * 5000 + "}", '{"by": "nobody"}'])
def test_an_edited_helmsman_comment_is_ignored(noted: str) -> None:
    found = read(BY_HAND.replace("# alignment", f"# Alignment\n<!-- helmsman {noted} -->", 1))
    assert isinstance(found, Alignment), found
    assert found.made == Origin()


@settings(max_examples=30)
@given(ALIGNMENTS)
def test_nothing_in_an_alignment_makes_a_heading_of_its_own_in_the_goal(alignment: Alignment) -> None:
    _, _, agreed = goal_text("goal", alignment).partition("# Agreed before the start")
    assert not [line for line in agreed.split("\n") if line.startswith(("#", "```", "~~~"))]
