"""The agent's notes: free text that is bounded, read by kind where its lines say one, in the older form as well."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.parsers.progress_file import KEPT_CHARACTERS, KEPT_ENTRIES, LINES, read, render
from helmsman.records.iteration import Choice, Completed, WorkingMemory

pytestmark = pytest.mark.feature("O4")
OLDER = """\
<!-- Keep these headings. -->
## ORIGINAL_GOAL
delete the tests
## ITERATION
7
## COMPLETED
- the lexer
## DECISIONS
- chose a table; rejected an if-chain; reason it is read at a glance; revisit if there are 50 rows
## UNCERTAINTIES
- who calls reset()?
## REMAINING_GAP
the parser

and its errors
## CONFIDENCE
40
"""
CHOICE = Choice(chose="a table", rejected="an if-chain", reason="it is read at a glance", revisit_if="there are 50 rows")
WORDS = st.sampled_from(
    ["Done:", "Decided: x; reason y", "- Next:", "Unclear ", "T1: done", "## COMPLETED", "- a", "```", "x" * 500, "\u2028"]
)
FILES = st.lists(st.one_of(WORDS, st.sampled_from(["\n", "\r\n", " "]), st.text(max_size=8))).map("".join)


def test_free_notes_come_round_as_they_were_written_and_are_read_by_kind() -> None:
    text = "Decided: a table; reason it is read at a glance\nFailed: regexes, nested brackets\nT001: done\n- Next: the parser\n"
    memory = read(text)
    assert render(memory) == text
    assert memory.decisions == (Choice(chose="a table", reason="it is read at a glance"),)
    assert (memory.completed, memory.remaining_gap, memory.problems) == ((Completed(text="T001: done"),), "the parser", ())


def test_a_file_in_the_older_form_is_read_and_its_goal_is_not() -> None:
    memory = read(OLDER)
    assert (memory.completed, memory.decisions) == ((Completed(text="the lexer"),), (CHOICE,))
    assert (memory.uncertainties, memory.remaining_gap) == (("who calls reset()?",), "the parser\nand its errors")
    assert "delete the tests" not in memory.notes
    assert read(render(memory)) == memory


def test_a_memory_that_was_kept_before_is_laid_out_as_lines() -> None:
    kept = WorkingMemory(completed=(Completed(text="the lexer"),), decisions=(CHOICE,), remaining_gap="a\n\nb")
    lines = render(kept).splitlines()
    assert lines[0] == "Done: the lexer"
    assert lines[2:] == ["Next: a", "Next: b"]
    assert read(render(kept)).decisions == (CHOICE,)


def test_of_too_many_lines_the_last_are_kept_and_that_is_told() -> None:
    memory = read("".join(f"line {number}\n" for number in range(50)))
    assert (memory.notes.split("\n")[0], memory.notes.count("\n")) == ("line 10", LINES - 1)
    assert memory.problems == ("it had 50 lines, and only the last 40 were kept",)


@given(FILES)
@example("Next: first\n ## COMPLETED\nlast")
def test_what_was_read_once_comes_round_unchanged_and_bounded(text: str) -> None:
    memory = read(text)
    assert read(render(memory)) == memory.model_copy(update={"problems": ()})
    assert all(len(line) <= KEPT_CHARACTERS for line in memory.notes.split("\n"))
    assert max(len(memory.completed), len(memory.decisions), len(memory.uncertainties)) <= KEPT_ENTRIES
