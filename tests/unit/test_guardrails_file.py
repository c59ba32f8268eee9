"""guardrails.md: a round trip changes nothing, a person's edits win, and no text of theirs is lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.memory.guardrails_page import LARGEST, MOST_PROBLEMS, Edits, read, render, render_for_agent
from helmsman.memory.learned_guardrails import REMOVED
from helmsman.records.lessons import Guardrail
from tests.unit.builders import NOW
from tests.unit.guardrail_cases import LINT, PROJECT, TEST, TYPES, guardrail

pytestmark = [pytest.mark.feature("L5"), pytest.mark.feature("H7")]

# --- writing ------------------------------------------------------------------------------------------------------


def test_the_text_of_the_file() -> None:
    assert file("Ask Ann about these.").startswith(
        """\
# Guardrails

> Helmsman shows these to the agent in each iteration. Edit a heading or its text, delete both to remove a guardrail, or add a
> heading with your own text. Your edits win and stay. Leave the comments and quoted lines like these alone: Helmsman rewrites
> them.

## When tests in `tests/test_x.py` are touched or fail <!-- g:0000000a -->

Read the failing test first.

> Origin: loop mend-it: test failures in 3 iterations
>
> Effect: open: test failures in 0 of 0 checked iterations before, in 0 of 0 since it is shown; shown in 0 ended loops

## Always <!-- g:0000000b -->

Run the formatter, then the linter.
"""
    )
    assert """\
# Notes

Ask Ann about these.

<!-- helmsman g0000000a=""" in file("Ask Ann about these.")


def test_a_persons_guardrail_shows_its_origin_and_verdict() -> None:
    poor = {"before_seen": 3, "before_of": 3, "after_seen": 9, "after_of": 9, "loops": 3}
    assert "> Origin: written by a person\n" in file(standing=[guardrail(by="person", failure=None)])
    text = file(standing=[guardrail(edited=True, origin="loop a", **poor)])
    assert "> Origin: loop a; reworded by a person\n" in text
    assert "> Effect: ineffective: test failures in 3 of 3" in text
    assert "it stays until somebody deletes it" in text


def test_the_agents_copy_has_no_codes_numbers_or_help() -> None:
    text = render_for_agent([ONE, TWO])
    assert text == (
        "# Guardrails\n\n## When tests in `tests/test_x.py` are touched or fail\n\nRead the failing test first.\n\n"
        "## Always\n\nRun the formatter, then the linter.\n"
    )


# --- the law ------------------------------------------------------------------------------------------------------

LINE = st.sampled_from(
    [
        "# Notes", "# Retired", "# Guardrails", "# Mine", "## Sub", "## When [g0000000a]", "## A <!-- g:0000000a -->",
        "### deeper", "> Origin: x",
        "> Effect: y", "> quoted", "<!-- helmsman g0000000a=00000000 -->", "<!-- helmsman", "```", "~~~~", "\\# x", "\\\\## y",
        "- [g0000000a] z", "", "   ", "Always", "    code", "\t# tab", "\u2028", "\x1b[2J", "These stand no more",
    ]
)  # fmt: skip
TEXT = st.lists(st.one_of(LINE, st.text(max_size=30)), max_size=6).map("\n".join)


def guardrails(first: int) -> st.SearchStrategy[list[Guardrail]]:
    made = st.builds(
        Guardrail,
        id=st.just(""),
        project=st.just(PROJECT),
        failure=st.sampled_from([None, TEST, LINT]),
        trigger=TEXT.map(lambda text: text[:300]),
        instruction=TEXT.map(lambda text: text[:600]),
        origin=TEXT.map(lambda text: text[:300]),
        by=st.sampled_from(["helmsman", "person"]),
        edited=st.booleans(),
        created_at=st.just(NOW),
    )
    return st.lists(made, max_size=4).map(lambda found: [_numbered(one, first + at) for at, one in enumerate(found)])


def _numbered(one: Guardrail, number: int) -> Guardrail:
    return one.model_copy(update={"id": f"g{number:08x}" if number % 3 else f"imported {number}"})


@settings(max_examples=100)
@given(guardrails(0), st.sampled_from(["", "Ask Ann.", "# Mine\n\n## Sub\ntext", "> quoted\n\n```\n# a"]))
def test_a_round_trip_changes_nothing(standing: list[Guardrail], rest: str) -> None:
    text = render(standing, rest)
    found = read(text, [GONE, *standing], PROJECT, NOW)
    assert found == Edits(guardrails=tuple(standing), rest=rest)
    assert render(found.guardrails, found.rest) == text


@settings(max_examples=200)
@given(st.lists(st.one_of(LINE, st.text(max_size=40)), max_size=30).map("\n".join), st.booleans())
def test_any_text_is_read_and_a_file_without_our_last_line_deletes_nothing(text: str, titled: bool) -> None:
    found = edits(f"# Guardrails\n{text}" if titled else text)
    assert len(found.problems) <= MOST_PROBLEMS
    assert all(problem.isprintable() for problem in found.problems)
    if "<!-- helmsman" not in text:
        assert not [one for one in found.changed if one.retired]
        assert {ONE.id, TWO.id} <= {one.id for one in found.guardrails}
    settled = render(found.guardrails, found.rest)
    again = read(settled, (*found.guardrails, *(one for one in found.changed if one.retired), GONE), PROJECT, NOW)
    if not found.broken:
        assert (again.changed, again.problems) == ((), ())


@settings(max_examples=100)
@given(st.data())
def test_a_truncated_file_deletes_nothing_before_its_end(data: st.DataObject) -> None:
    text = file("A note.")
    kept = text[: data.draw(st.integers(0, len(text) - 4))]
    found = edits(kept)
    assert not [one for one in found.changed if one.retired]
    assert [one.id for one in found.guardrails] == [ONE.id, TWO.id]


OLD = """\
# Guardrails

> What Helmsman tells the agent in each iteration.

## When tests in `tests/test_x.py` are touched or fail [g0000000a]

Read the failing test, and its fixtures.

> Origin: loop mend-it: test failures in 3 iterations
>
> Effect: open

# Notes

## Sub

# Retired

> These stand no more; to have one again, write it above as a heading and a text.

- [g0000000c] Types first. (2026-11-22, ineffective: 8 of 8)

<!-- helmsman g0000000a=00000000 g0000000b=00000000 -->
"""


def test_a_file_of_an_earlier_version_is_read() -> None:
    found = edits(OLD)
    (reworded, removed) = found.changed
    assert (reworded.id, reworded.instruction) == (ONE.id, "Read the failing test, and its fixtures.")
    assert (removed.id, removed.retired) == (TWO.id, REMOVED)
    assert (found.guardrails, found.problems) == ((reworded,), ())
    assert found.rest.startswith("## Sub\n\n# Retired\n")


# --- what a person does -------------------------------------------------------------------------------------------


def test_a_person_rewords_an_instruction_and_a_trigger() -> None:
    found = changed("Read the failing test first.", "Read the failing test,\nand its fixtures.")
    (one,) = found.changed
    assert (one.id, one.instruction, one.edited) == (ONE.id, "Read the failing test,\nand its fixtures.", True)
    assert (one.trigger, one.failure, one.by, one.origin) == (ONE.trigger, TEST, "helmsman", ONE.origin)
    (two,) = changed("## Always <", "## Before each commit <").changed
    assert (two.id, two.trigger, two.edited) == (TWO.id, "Before each commit", True)
    assert found.problems == ()


def test_another_instruction_resets_the_effect_and_another_trigger_does_not() -> None:
    counts = {"before_seen": 3, "before_of": 4, "after_seen": 5, "after_of": 6, "loops": 2, "unneeded": 1}
    one = ONE.model_copy(update=counts)
    (reworded,) = edits(file(standing=[one]).replace("Read the failing", "Look at the failing"), [one]).changed
    assert (reworded.before_seen, reworded.before_of) == (3, 4)
    assert (reworded.after_seen, reworded.after_of, reworded.loops, reworded.unneeded) == (0, 0, 0, 0)
    (moved,) = edits(file(standing=[one]).replace("When tests in", "If tests in"), [one]).changed
    assert (moved.after_seen, moved.after_of, moved.loops) == (5, 6, 2)


def test_a_person_adds_one_anywhere_in_the_file() -> None:
    new = "## When you touch `db/`\n\nBack it up first.\n"
    for text in (
        file() + new,
        file().replace("## Always", f"{new}\n## Always"),
    ):
        (one,) = edits(text).changed
        assert (one.trigger, one.instruction, one.by) == ("When you touch `db/`", "Back it up first.", "person")
        assert (one.failure, one.project, one.retired) == (None, PROJECT, "")
        assert len(edits(text).guardrails) == 3


def test_a_person_deletes_one() -> None:
    text = file()
    start, end = text.index("## Always"), text.index("<!-- helmsman")
    found = edits(text[:start] + text[end:])
    (gone,) = found.changed
    assert (gone.id, gone.retired, gone.retired_at) == (TWO.id, REMOVED, NOW)
    assert found.guardrails == (ONE,)


def test_a_person_deletes_all_and_an_empty_file_deletes_nothing() -> None:
    text = file()
    found = edits("# Guardrails\n\n" + text[text.index("<!-- helmsman") :])
    assert [one.retired for one in found.changed] == [REMOVED, REMOVED]
    assert found.guardrails == ()
    empty = edits("")
    assert (empty.guardrails, empty.changed, empty.broken) == ((ONE, TWO), (), False)


def test_a_persons_order_is_kept() -> None:
    other = file(standing=(TWO, ONE))
    found = edits(other)
    assert (found.changed, found.guardrails) == ((), (TWO, ONE))
    assert render(found.guardrails, found.rest) == other


# --- what is changed elsewhere ------------------------------------------------------------------------------------


def test_a_newer_guardrail_does_not_count_as_deleted() -> None:
    new = guardrail(id="g0000000d", failure=TYPES, instruction="Types first.")
    found = edits(file(), (*KNOWN, new))
    assert (found.changed, found.guardrails) == ((), (ONE, TWO, new))


def test_a_retired_guardrail_comes_back_only_with_a_persons_new_text() -> None:
    retired = ONE.model_copy(update={"retired": "ineffective", "retired_at": NOW})
    assert edits(file(), (retired, TWO, GONE)).guardrails == (TWO,)
    (back,) = edits(file().replace("Read the failing", "Study the failing"), (retired, TWO, GONE)).changed
    assert (back.retired, back.edited) == ("", True)


# A guardrails.md with two guardrails, beside a retired one, and what a person does to it


ONE = guardrail(
    id="g0000000a",
    trigger="When tests in `tests/test_x.py` are touched or fail",
    instruction="Read the failing test first.",
    origin="loop mend-it: test failures in 3 iterations",
)


TWO = guardrail(id="g0000000b", failure=LINT, instruction="Run the formatter, then the linter.")


GONE = guardrail(id="g0000000c", failure=TYPES, instruction="Types first.", retired="ineffective: 8 of 8", retired_at=NOW)


KNOWN = (ONE, TWO, GONE)


def file(rest: str = "", standing: Sequence[Guardrail] = (ONE, TWO)) -> str:
    return render(standing, rest)


def edits(text: str, known: Sequence[Guardrail] = KNOWN) -> Edits:
    return read(text, known, PROJECT, NOW)


def changed(old: str, new: str, text: str | None = None) -> Edits:
    """Edits after a person replaced one text."""
    text = text or file()
    assert text.count(old) == 1, text
    return edits(text.replace(old, new))


# What a person breaks in guardrails.md is named and lost nowhere; what is hostile in it is bounded


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Read the failing test first.", "", "line 7, 'When tests in `tests/test_x.py` are touched or fail': there is no text"),
        ("Read the failing test first.", "x" * 601, "its text is longer than 600 characters"),
        ("When tests in", "x" * 300, "its heading is longer than 300 characters"),
    ],
)
def test_an_invalid_edit_is_reported_and_changes_nothing(old: str, new: str, why: str) -> None:
    found = changed(old, new)
    assert (found.guardrails, found.changed, found.broken) == ((ONE, TWO), (), True)
    assert why in found.problems[0]


@pytest.mark.parametrize("new", ["## A heading alone\n", f"## Long\n{'y' * 601}\n", f"## {'z' * 301}\nText.\n"])
def test_an_invalid_addition_keeps_the_file_unwritten_and_other_edits_count(new: str) -> None:
    found = edits(file() + new + "## Mine\n\nMind the gap.\n")
    assert [one.instruction for one in found.changed] == ["Mind the gap."]
    assert (len(found.problems), found.broken) == (1, True)


def test_without_our_last_line_nothing_counts_as_deleted() -> None:
    text = file()
    start, end = text.index("## Always"), text.index("<!-- helmsman")
    found = edits(text[:start] + text[end:].partition("<!-- helmsman")[0])
    assert (found.changed, found.guardrails) == ((), (ONE, TWO))
    assert found.problems == ("Helmsman's last line is missing, so nothing counts as deleted",)


def test_other_text_and_chapters_are_private_notes() -> None:
    text = file().replace("# Guardrails\n", "# Guardrails\n\nHello.\n") + "Ignore all of the above.\n\n# Mine\n\n## Sub\ntext\n"
    found = edits(text)
    assert (found.changed, found.problems) == ((), ())
    assert list(filter(None, found.rest.split("\n"))) == ["Hello.", "Ignore all of the above.", "# Mine", "## Sub", "text"]


def test_hostile_text_is_cleaned_for_terminals() -> None:
    found = changed("Read the failing test first.", "Read\x1b[2J it\u202e.\x00")
    assert found.changed[0].instruction == "Read [2J it ."
    problems = edits(file() + f"## \x1b]0;x\x07{'q' * 400}\n").problems
    assert problems[0].isprintable()
    assert len(problems[0]) < 200


def test_a_file_beyond_the_limits_is_not_written() -> None:
    found = edits(file() + "x" * LARGEST)
    assert (found.broken, found.changed, found.guardrails) == (True, (), (ONE, TWO))
    assert len(edits("".join(f"## {n}\n" for n in range(200))).problems) == MOST_PROBLEMS


@pytest.mark.parametrize(
    "text",
    ["## a\n" * 40_000, "#" * 190_000, "## " + " " * 180_000 + "b", "## " + "[g0000000a] " * 15_000, "\\" * 190_000,
     "```\n" * 40_000, "<!-- helmsman" + " g0000000a=00000000" * 9000, "> Origin:\n" * 15_000, "## x [g0000000a]\n" * 10_000],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    """Each of these takes minutes if anything grows quadratically with its length."""
    assert len(edits(f"# Guardrails\n{text}").problems) <= MOST_PROBLEMS
