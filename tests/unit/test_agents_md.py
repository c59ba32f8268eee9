"""Proposals for AGENTS.md: certain, new, without contradictions, in a short section of their own."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.agents_md import LONGEST_LINE, MOST_LINES, SECTION, add_lines, propose_lines
from helmsman.memory.learned_guardrails import failure_advice
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, TaskType, Tier
from tests.unit.builders import NOW, check, report, state

pytestmark = pytest.mark.feature("L9")
DONE = state(checks=report(check(passed=True, command="make test")))
QUIET = state()
SUBJECTS = (
    "Keep SQL in the repositories package.",
    "Name migrations by their date.",
    "Write dates in UTC.",
    "Log through structlog.",
    "Raise ShopError for wrong input.",
    "Start the browser tests with xvfb.",
    "Regenerate the client after editing openapi.yaml.",
    "Store money as integers of cents.",
    "Close sockets in a finally block.",
    "Mark slow cases with the slow marker.",
    "Translate headings through gettext.",
    "Build images with buildkit.",
)


def convention(text: str, **fields: object) -> Lesson:
    known = {"kind": LessonKind.CONVENTION, "tier": Tier.SEMANTIC, "project": "p", "task_type": TaskType.FEATURE}
    numbers = {"confidence": 0.8, "uses": 4, "successes": 4, "created_at": NOW, "updated_at": NOW}
    return Lesson.model_validate({"id": text[:20], "text": text, **known, **numbers, **fields})


def guardrail(instruction: str, **fields: object) -> Guardrail:
    effective = {"before_seen": 30, "before_of": 40, "after_seen": 1, "after_of": 40, "loops": 5}
    known = {"id": instruction[:20], "project": "p", "failure": FailureClass.TEST, "created_at": NOW}
    return Guardrail.model_validate({"instruction": instruction, **known, **effective, **fields})


def proposed(present: str = "", lessons: Sequence[Lesson] = (), guardrails: Sequence[Guardrail] = ()) -> tuple[str, ...]:
    return propose_lines(QUIET, lessons, guardrails, present)


# --- what is proposed ---------------------------------------------------------------------------------------------


def test_checks_effective_guardrails_and_certain_conventions_are_proposed_in_this_order() -> None:
    guardrails = [guardrail("Run the formatter before a commit.")]
    found = propose_lines(DONE, [convention(SUBJECTS[0])], guardrails, "", commands={"make test"})
    assert found == ("Check your work with `make test`.", "Run the formatter before a commit.", SUBJECTS[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": LessonKind.STRATEGY},
        {"kind": LessonKind.ANTIPATTERN},
        {"tier": Tier.EPISODIC},
        {"retired": "it failed"},
        {"confidence": 0.6},
        {"successes": 2},
    ],
)
def test_an_uncertain_lesson_is_not_proposed(fields: dict[str, object]) -> None:
    assert proposed(lessons=[convention(SUBJECTS[0], **fields)]) == ()


@pytest.mark.parametrize(
    "fields", [{"retired": "useless"}, {"after_of": 2}, {"after_seen": 30}, {"before_of": 0, "before_seen": 0}]
)
def test_a_guardrail_without_proven_effect_is_not_proposed(fields: dict[str, object]) -> None:
    assert proposed(guardrails=[guardrail("Run the formatter before a commit.", **fields)]) == ()


@pytest.mark.parametrize("kind", FailureClass)
def test_all_advice_of_ours_fits_a_line(kind: FailureClass) -> None:
    trigger, instruction = failure_advice()[kind]["when"], failure_advice()[kind]["do"]
    (line,) = proposed(guardrails=[guardrail(instruction, trigger=trigger, failure=kind)])
    assert line == f"{trigger}: {instruction}"


@given(st.integers(0, 300), st.integers(1, 600))
def test_a_text_longer_than_a_line_is_omitted(trigger: int, instruction: int) -> None:
    long = guardrail("y" * instruction, trigger="x" * trigger)
    whole = f"{long.trigger}: {long.instruction}" if trigger else long.instruction
    assert proposed(guardrails=[long]) == ((whole,) if len(whole) <= LONGEST_LINE else ())


@pytest.mark.parametrize(
    "present",
    [
        "Keep SQL in the repositories package.\n",
        "# Rules\n\n1. All SQL is kept in the `repositories` package.\n",
        "Be brief. Keep SQL in the repositories package! And be kind.\n",
        f"{SECTION}\n\n- Keep SQL in the repositories package.\n",
    ],
)
def test_a_line_that_the_file_has_is_not_proposed(present: str) -> None:
    assert proposed(present, [convention(SUBJECTS[0])]) == ()
    assert proposed(present, [convention(SUBJECTS[1])]) == (SUBJECTS[1],)


def test_a_failed_or_goal_specific_or_known_command_is_not_proposed() -> None:
    assert propose_lines(DONE, (), (), "Run `make test`.\n", commands={"make test"}) == ()
    assert propose_lines(DONE, (), (), "", commands={"make lint"}) == ()
    assert propose_lines(state(checks=report(check(passed=False))), (), (), "", commands={"pytest"}) == ()


def test_a_contradiction_of_the_file_is_not_proposed() -> None:
    edits = [convention("Edit the files in vendor/ directly.")]
    assert proposed(lessons=edits) == (edits[0].text,)
    assert proposed("Never edit files in vendor/.\n", edits) == ()


def test_the_limit_of_the_section_includes_existing_lines() -> None:
    lessons = [convention(text) for text in SUBJECTS]
    assert len(proposed(lessons=lessons)) == MOST_LINES
    full = add_lines("", SUBJECTS[:8])
    assert len(proposed(full, lessons)) == MOST_LINES - 8
    assert proposed(add_lines("", SUBJECTS[:MOST_LINES]), lessons) == ()


@given(st.text(min_size=1, max_size=400).filter(str.strip))
def test_any_lesson_is_one_bounded_line_without_markup(text: str) -> None:
    for line in proposed(lessons=[convention(f"Use <!-- ``` {text}"[:600])]):
        assert line.isprintable()
        assert len(line) <= LONGEST_LINE
        assert not line.endswith("…") or text.endswith("…")
        assert not any(mark in line for mark in ("<!--", "```"))


# --- the file -----------------------------------------------------------------------------------------------------


def test_a_project_without_the_file_gets_one() -> None:
    assert add_lines("", ("one", "two")) == f"# AGENTS.md\n\n{SECTION}\n\n- one\n- two\n"


def test_our_section_is_last_and_grows_at_its_end() -> None:
    first = add_lines("# Mine\n\nBe brief.\n", ("one",))
    assert first == f"# Mine\n\nBe brief.\n\n{SECTION}\n\n- one\n"
    between = first + "\n## After\n\ntext"
    assert add_lines(between, ("two",)) == f"# Mine\n\nBe brief.\n\n{SECTION}\n\n- one\n- two\n\n## After\n\ntext"
    assert add_lines(f"{SECTION}\n", ("one",)) == f"{SECTION}\n\n- one\n"
    assert add_lines(SECTION, ("one",)) == f"{SECTION}\n\n- one\n"


@given(
    st.lists(st.sampled_from(["# A", "## B", SECTION, "- one", "text", "", "```", "   ", "\u2028"]), max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_every_line_of_the_file_stays_in_order(lines: list[str], newline: str, ends: bool) -> None:
    present = newline.join(lines) + (newline if ends else "")
    after = add_lines(present, ("a new line",))
    assert after.count("- a new line") == 1
    left = [line.rstrip("\r") for line in after.split("\n") if line.strip()]
    before = [line.rstrip("\r") for line in present.split("\n") if line.strip()]
    added = iter(left)
    assert all(line in added for line in before)
    assert len(left) - len(before) <= len(["# AGENTS.md", SECTION, "- a new line"])
