"""A session that gets nowhere is told so: after failures in a row, the same failure, turns that are taken, edits taken back."""

from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.guardrails import Advise, Rule, ToolCall
from helmsman.orient.guardrails.trouble import (
    GUTTER,
    KEPT_CONTENTS,
    KEPT_FILES,
    REMEDIES,
    Trouble,
    failed,
    gutter,
    succeeded,
    wrote,
)  # fmt: skip
from helmsman.records.session import ErrorVector, FailureClass

pytestmark = pytest.mark.feature("A3")

LIMIT = 5
EDIT = ToolCall("Edit", {"file_path": "app.py"})
READ = ToolCall("Read", {"file_path": "app.py"})


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


def error(where: str = "tests/test_app.py::test_one", kind: FailureClass = FailureClass.TEST) -> ErrorVector:
    return ErrorVector(kind=kind, where=where, message="assert 1 == 2")


Step = ToolCall | tuple[ToolCall, ErrorVector]


def live(*steps: Step) -> tuple[Trouble, list[Rule]]:
    """Calls that succeed, and calls with the error that they fail with."""
    trouble, told = Trouble(), list[Rule]()
    for step in steps:
        if isinstance(step, ToolCall):
            trouble = succeeded(trouble, step)
        else:
            trouble, said = failed(trouble, *step, LIMIT)
            told += [one.rule for one in said]
    return trouble, told


def different(number: int) -> tuple[ToolCall, ErrorVector]:
    return bash(f"make part-{number}"), error(f"part-{number}", FailureClass.BUILD)


def test_five_commands_that_fail_one_after_the_other_bring_guidance_and_four_do_not() -> None:
    assert live(*[different(number) for number in range(4)])[1] == []
    assert live(*[different(number) for number in range(5)])[1] == [Rule.FAILURES]


def test_guidance_comes_again_after_as_many_failures_more() -> None:
    assert live(*[different(number) for number in range(11)])[1] == [Rule.FAILURES, Rule.FAILURES]


def test_a_command_that_succeeds_sets_the_count_back() -> None:
    steps = [*[different(number) for number in range(4)], bash("pytest"), *[different(number) for number in range(4)]]
    trouble, told = live(*steps)
    assert (told, trouble.in_row, trouble.longest) == ([], 4, 4)


@pytest.mark.parametrize("look", [READ, bash("ls"), bash("git status"), bash("cat app.py")])
def test_a_look_that_succeeds_does_not_hide_that_everything_else_fails(look: ToolCall) -> None:
    steps = [step for number in range(5) for step in (different(number), look)]
    assert live(*steps)[1] == [Rule.FAILURES]


def test_failures_that_a_change_gets_past_are_progress() -> None:
    """The nearest legitimate look-alike: a long refactoring with red tests in between, each time another one."""
    steps = [step for number in range(20) for step in ((bash("pytest -q"), error(f"test_{number}")), EDIT)]
    trouble, told = live(*steps)
    assert (told, trouble.in_row) == ([], 1)


def test_the_same_failure_five_times_over_changes_brings_guidance() -> None:
    steps = [step for _ in range(5) for step in ((bash("pytest -q"), error()), EDIT)]
    assert live(*steps)[1] == [Rule.SAME_FAILURE]


def test_looks_for_files_that_are_not_there_count_and_searches_without_a_find_do_not() -> None:
    missing = [(bash(f"cat part{number}.py"), error(kind=FailureClass.MISSING_FILE)) for number in range(5)]
    assert live(*missing)[1] == [Rule.FAILURES]
    nothing = [(bash(f"grep -rn word{number} ."), error(kind=FailureClass.OTHER)) for number in range(20)]
    assert live(*nothing)[1] == []


def test_edits_that_do_not_apply_count() -> None:
    assert live(*[(EDIT, error(kind=FailureClass.EDIT))] * 5)[1] == [Rule.FAILURES]


def test_two_failing_commands_in_turns_without_a_change_are_noticed_at_the_fourth() -> None:
    a, b = (bash("make"), error("a")), (bash("pytest"), error("b"))
    assert live(a, b, a)[1] == []
    assert live(a, b, a, b)[1] == [Rule.ALTERNATING]


def test_two_failures_in_turns_over_changes_are_noticed_at_the_fourth() -> None:
    a, b = (bash("pytest"), error("a")), (bash("pytest"), error("b"))
    assert live(a, EDIT, b, EDIT, a, EDIT)[1] == []
    assert live(a, EDIT, b, EDIT, a, EDIT, b)[1] == [Rule.ALTERNATING]


def test_a_check_and_a_build_in_turns_that_get_further_each_time_are_no_alternation() -> None:
    steps = [(bash(f"{name}"), error(f"{name}-{number}")) for number in range(2) for name in ("make", "pytest")]
    assert live(steps[0], EDIT, steps[1], EDIT, steps[2], EDIT, steps[3])[1] == []


def contents(*digests: str) -> list[Advise]:
    trouble, told = Trouble(), list[Advise]()
    for before, after in pairwise(digests):
        trouble, said = wrote(trouble, "app.py", before, after)
        told += said
    return told


def test_an_edit_that_is_taken_back_once_is_an_undo_and_twice_two_approaches_in_turns() -> None:
    assert contents("a", "b", "a") == []
    (said,) = contents("a", "b", "a", "b")
    assert said.rule is Rule.REVERTED
    assert "app.py" in said.text
    assert "a third one" in said.text


def test_what_a_command_put_back_between_two_edits_counts_as_well() -> None:
    trouble, said = wrote(Trouble(), "app.py", "a", "b")
    trouble, said = wrote(trouble, "app.py", "a", "b")  # `git checkout app.py` in between
    assert said == ()
    trouble, said = wrote(trouble, "app.py", "a", "b")
    assert [one.rule for one in said] == [Rule.REVERTED]


def test_a_file_that_only_grows_is_never_reverted() -> None:
    assert contents(*map(str, range(50))) == []


def test_the_gutter_is_reached_after_three_times_the_failures_and_says_the_numbers() -> None:
    trouble, _ = live(*[different(number) for number in range(GUTTER * LIMIT - 1)])
    assert gutter(trouble, LIMIT) == ""
    trouble, _ = live(*[different(number) for number in range(GUTTER * LIMIT)])
    assert gutter(trouble, LIMIT).startswith("15 tool calls failed one after the other (15 are allowed)")


def test_a_broken_build_is_known_until_a_command_succeeds() -> None:
    assert live((bash("make"), error(kind=FailureClass.BUILD)), EDIT)[0].broken
    assert live((bash("make"), error(kind=FailureClass.BUILD)), EDIT, bash("make"))[0].broken is None
    assert live((bash("pytest"), error(kind=FailureClass.TEST)))[0].broken is None


@pytest.mark.parametrize("kind", FailureClass)
def test_every_class_has_a_remedy_that_guidance_ends_with(kind: FailureClass) -> None:
    _, said = reduce(lambda so_far, number: failed(so_far[0], *different(number), LIMIT), range(4), (Trouble(), ()))
    assert said == ()
    trouble = live(*[different(number) for number in range(4)])[0]
    (advice,) = failed(trouble, bash("x"), error(kind=kind), LIMIT)[1]
    assert advice.text.endswith(REMEDIES[kind])


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=3), st.text(max_size=3))))
def test_what_is_remembered_stays_bounded(writes: list[tuple[str, str, str]]) -> None:
    trouble = Trouble()
    for path, before, after in writes * 20:
        trouble, _ = wrote(trouble, path, before, after)
    assert len(trouble.versions) <= KEPT_FILES
    assert all(len(one.contents) <= KEPT_CONTENTS for one in trouble.versions)


def test_foreign_text_in_guidance_is_printable_and_short() -> None:
    ugly = ErrorVector(kind=FailureClass.OTHER, where="\x1b[2J\n" * 1000, message="\0" * 5000)
    trouble = live(*[different(number) for number in range(4)])[0]
    (advice,) = failed(trouble, bash("x"), ugly, LIMIT)[1]
    assert advice.text.isprintable()
    assert len(advice.text) < 1000
