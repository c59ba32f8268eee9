"""An open question in a terminal: question, effect of each answer, and the command to type."""

import shlex
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.plain import short_line
from helmsman.records.gates import GATES, Choice, Gate, GateKind
from helmsman.render.gate import EVIDENCE_LINES, EVIDENCE_WIDTH, answer_command, evidence, form_text, gate_lines
from helmsman.render.markdown_page import prose
from tests.unit.builders import NOW, state
from tests.unit.rendered import Reading, read

pytestmark = pytest.mark.feature("H1", "H4")

LATER = NOW + timedelta(hours=72)
EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews; rm -rf ~ `id` $(id)"


def gate(kind: GateKind = GateKind.MERGE, **fields: object) -> Gate:
    return Gate.model_validate({"key": "merge-3", "kind": kind, "question": "May it be merged?", "asked_at": NOW, **fields})


def test_every_part_of_a_question_is_shown() -> None:
    merge_gate = gate(evidence="All **4** tests pass.\n\nThe judge approves.", deadline=LATER)
    assert gate_lines(merge_gate, "mend-it") == [
        "asked      Verified: merge it? (merge-3), 2026-11-22 12:00 UTC",
        "question   May it be merged?",
        "evidence   All **4** tests pass.",
        "           The judge approves.",
        "approve    The loop ends as completed, approved for merging.",
        "           helmsman approve mend-it",
        "revise     The loop continues, under your guidance.",
        "           helmsman reject mend-it --guidance TEXT",
        "take-over  You commit on the branch yourself; the loop waits until you hand it back.",
        "           helmsman answer mend-it take-over",
        "stop       The loop ends; its work and its state are kept.",
        "           helmsman answer mend-it stop",
        "with       --guidance TEXT: for the next iteration; approve also accepts --set KEY=VALUE",
        "deadline   2026-11-25 12:00 UTC; without an answer by then: stop (The loop ends; its work and its state are kept.)",
    ]


def test_each_choice_of_each_kind_has_a_command_of_its_own() -> None:
    for kind in GateKind:
        lines = gate_lines(gate(kind), "mend-it")
        commands = [line.strip() for line in lines if line.strip().startswith("helmsman ")]
        assert commands == [answer_command(gate(kind), choice, "mend-it") for choice in GATES[kind].choices]
        assert len(set(commands)) == len(commands)
        assert all(any(line.endswith(effect) for line in lines) for effect in GATES[kind].choices.values())


@pytest.mark.parametrize(
    ("kind", "choice", "command"),
    [
        (GateKind.BUDGET, Choice.APPROVE, "helmsman approve mend-it --set limits.KEY=VALUE"),
        (GateKind.MILESTONE, Choice.STOP, "helmsman reject mend-it"),
        (GateKind.MERGE, Choice.REVISE, "helmsman reject mend-it --guidance TEXT"),
        (GateKind.MERGE, Choice.STOP, "helmsman answer mend-it stop"),
        (GateKind.REJECTIONS, Choice.ACCEPT, "helmsman answer mend-it accept"),
    ],
)
def test_reject_revises_if_offered_and_stops_otherwise(kind: GateKind, choice: Choice, command: str) -> None:
    assert answer_command(gate(kind), choice, "mend-it") == command


@pytest.mark.parametrize(("lines", "more"), [(EVIDENCE_LINES, ""), (EVIDENCE_LINES + 1, "… 1 more line"), (999, "more lines")])
def test_long_evidence_is_shortened_and_says_by_how_much(lines: int, more: str) -> None:
    told = gate_lines(gate(evidence="x" * 10_000 + "\n" + "line\n\n" * (lines - 1)), "mend-it")
    shown = told[2 : told.index("approve    The loop ends as completed, approved for merging.")]
    assert len(shown) == EVIDENCE_LINES + bool(more)
    assert shown[0] == f"evidence   {'x' * (EVIDENCE_WIDTH - 1)}…"
    assert more in shown[-1]


def test_what_was_escaped_for_a_page_is_shown_as_it_was_said_and_moves_no_cursor() -> None:
    said = "Done (all of it). <promise>COMPLETE</promise> \\d+"
    assert f"evidence   {said}" in gate_lines(gate(evidence=prose(said)), "mend-it")
    hidden = gate_lines(gate(evidence="&#27;[2J&#10;news&#x9b;31m"), "mend-it")
    assert all(line.isprintable() for line in hidden)


@given(st.text() | st.just(EVIL), st.sampled_from(GateKind))
def test_nothing_that_others_wrote_moves_a_cursor_or_breaks_a_line(text: str, kind: GateKind) -> None:
    lines = gate_lines(gate(kind, question=text, evidence=text, questions=(text,)), text)
    assert all(line.isprintable() for line in lines)


@given(st.text(min_size=1) | st.just(EVIL), st.sampled_from(GateKind))
def test_a_loop_s_name_is_never_more_than_one_word_to_a_shell(name: str, kind: GateKind) -> None:
    for choice in GATES[kind].choices:
        words = shlex.split(answer_command(gate(kind), choice, name))
        assert len(words) == len(shlex.split(answer_command(gate(kind), choice, "mend-it")))


# What a person reads who is asked: names from outside are shown as they are, and are nothing but words


BASE = "b" * 40


PIECES = [*"`|<>$();&'\"#!_-.{}%=,/", "``", "```", "</code>", "<script>", "<br>", "&lt;", "](x)", "**", "--", "$(id)", "ab", "é"]


BRANCHES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
"""Whatever git allows in a name, and somewhat more."""


def read_merge_form(branch: str, worktree: str = "/srv/tree") -> Reading:
    """The form of a gate of a loop on that branch, as it is read."""
    seen = evidence(state(branch=branch), worktree)
    return read(form_text(Gate(key="merge-1", kind=GateKind.MERGE, question="Now?", asked_at=NOW), seen))


def look(found: Reading) -> str:
    (line,) = [one for one in found.paragraphs if one.startswith("Look: ")]
    return line


@pytest.mark.feature("H1", "X3")
@given(BRANCHES)
@example("`touch${IFS}pwned`")
@example("``` # no heading")
@example("a|b|c")
@example("x<img/src=x/onerror=alert(1)>")
@example("</code><script>alert(1)</script>")
@example("$(id);'&\"")
@example("`|`<br>``")
def test_a_branch_of_any_name_is_shown_in_full_and_is_no_markup(branch: str) -> None:
    found, plain = read_merge_form(branch), read_merge_form("helmsman/mend-it")
    assert found.strangers == found.tables == []
    assert found.headings == plain.headings
    assert len(found.paragraphs) == len(plain.paragraphs)
    assert look(found) == f"Look: git log {shlex.quote(f'{BASE[:10]}..{short_line(branch)}')}, worktree /srv/tree"


@pytest.mark.feature("H1", "X3")
@given(BRANCHES)
@example("a;touch pwned")
@example("`touch${IFS}pwned`")
@example("a|touch${IFS}pwned")
@example("it's$(id)")
def test_what_is_shown_can_be_copied_into_a_shell(branch: str) -> None:
    command = look(read_merge_form(branch)).removeprefix("Look: ").removesuffix(", worktree /srv/tree")
    assert shlex.split(command) == ["git", "log", f"{BASE[:10]}..{short_line(branch)}"]
