"""A session that gets nowhere is told so: after failures in a row, the same failure, turns that are taken, edits taken back."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails import Rule, ToolCall
from helmsman.guardrails.failure_patterns import (
    GUTTER,
    KEPT_CONTENTS,
    KEPT_FILES,
    Trouble,
    failed,
    gutter,
    saw,
    succeeded,
)  # fmt: skip
from helmsman.records.session import ErrorVector, FailureClass

pytestmark = pytest.mark.feature("A3")

LIMIT = 5
EDIT = ToolCall("Edit", {"file_path": "app.py"})
READ = ToolCall("Read", {"file_path": "app.py"})


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


def error(where: str = "tests/test_app.py::test_one", kind: FailureClass = FailureClass.TEST, extent: int = 1) -> ErrorVector:
    return ErrorVector(kind=kind, where=where, message="assert 1 == 2", extent=extent)


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


def test_a_failing_set_that_shrinks_is_progress_though_its_first_test_stays_red() -> None:
    steps = [step for left in range(20, 0, -1) for step in ((bash("pytest -q"), error(extent=left)), EDIT)]
    trouble, told = live(*steps)
    assert (told, trouble.in_row) == ([], 1)


def test_changes_by_the_failing_command_itself_get_past_failures_as_well() -> None:
    steps = [
        (bash(f"sed -i s/a/b{number}/ a.go && go build ./..."), error(f"thing{number}", FailureClass.BUILD))
        for number in range(20)
    ]
    trouble, told = live(*steps)
    assert (told, trouble.in_row) == ([], 1)


def test_edits_that_miss_now_and_then_are_nothing_in_a_row() -> None:
    steps = [step for _ in range(20) for step in ((EDIT, error(kind=FailureClass.EDIT)), READ, EDIT)]
    trouble, told = live(*steps)
    assert (told, trouble.longest) == ([], 1)


def test_looking_at_one_failure_from_several_sides_is_not_its_coming_back() -> None:
    over_changes = [step for _ in range(4) for step in ((bash("pytest -q"), error()), EDIT)]
    sides = [(bash(f"pytest -q {flag}"), error()) for flag in ("-x", "-vv", "--lf", "-s")]
    assert live(*over_changes, *sides)[1].count(Rule.SAME_FAILURE) == 1


def test_two_checks_in_turns_whose_failures_shrink_are_no_alternation() -> None:
    steps = [
        step
        for left in range(12, 0, -1)
        for name in ("tsc", "pytest")
        for step in ((bash(name), error(f"last of {name}", extent=left)), EDIT)
    ]
    assert live(*steps)[1] == []


def test_an_alternation_is_said_once() -> None:
    a, b = (bash("pytest"), error("a")), (bash("pytest"), error("b"))
    assert live(a, EDIT, b, EDIT, a, EDIT, b, EDIT, a)[1] == [Rule.ALTERNATING]


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


def seen(*contents: str) -> list[Rule]:
    """Contents that a file is found with before one edit after the other."""
    trouble, told = Trouble(), list[Rule]()
    for content in contents:
        trouble, said = saw(trouble, "app.py", content)
        told += [one.rule for one in said]
    return told


def test_a_file_that_goes_back_and_forth_between_two_contents_shows_two_approaches_in_turns() -> None:
    assert seen("a", "b", "a") == []
    assert seen("a", "b", "a", "b") == [Rule.REVERTED]


def test_the_file_is_named_and_a_third_approach_asked_for() -> None:
    trouble = Trouble()
    for content in "aba":
        trouble, _ = saw(trouble, "app.py", content)
    (said,) = saw(trouble, "app.py", "b")[1]
    assert "app.py" in said.text
    assert "a third one" in said.text


def test_prints_that_are_put_in_and_taken_out_again_are_no_approaches() -> None:
    """The nearest legitimate look-alike: debugging, and trying whether a test notices a change."""
    assert seen("a", "print 1", "a", "print 2", "a", "print 3", "a") == []


def test_edits_that_are_heard_of_late_show_a_content_twice() -> None:
    assert seen("a", "a", "b", "b", "c") == []


def test_a_file_that_only_grows_is_never_reverted() -> None:
    assert seen(*map(str, range(50))) == []


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
    assert advice.text.rpartition("tests this. ")[2].endswith(".")


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=3))))
def test_what_is_remembered_stays_bounded(edits: list[tuple[str, str]]) -> None:
    trouble = Trouble()
    for path, content in edits * 20:
        trouble, _ = saw(trouble, path, content)
    assert len(trouble.versions) <= KEPT_FILES
    assert all(len(one.contents) <= KEPT_CONTENTS for one in trouble.versions)


def test_foreign_text_in_guidance_is_printable_and_short() -> None:
    ugly = ErrorVector(kind=FailureClass.OTHER, where="\x1b[2J\n" * 1000, message="\0" * 5000)
    trouble = live(*[different(number) for number in range(4)])[0]
    (advice,) = failed(trouble, bash("x"), ugly, LIMIT)[1]
    assert advice.text.isprintable()
    assert len(advice.text) < 1000
