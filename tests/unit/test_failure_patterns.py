"""A session that gets nowhere is told so: after failures in a row, the same failure, turns that are taken, edits taken back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails import Rule, ToolCall
from helmsman.guardrails.failure_patterns import FailureState, fold_edit, fold_failure, fold_success, stuck_reason
from helmsman.records.agent import ErrorVector, FailureClass

pytestmark = pytest.mark.feature("A3")

Step = ToolCall | tuple[ToolCall, ErrorVector]
EDIT = ToolCall("Edit", {"file_path": "app.py"})
READ = ToolCall("Read", {"file_path": "app.py"})
TEST, BUILD, EDITING = FailureClass.TEST, FailureClass.BUILD, FailureClass.EDIT


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


def fails(command: str = "pytest -q", where: str = "test_one", kind: FailureClass = TEST, extent: int = 1) -> Step:
    call = EDIT if kind is EDITING else bash(command)
    return call, ErrorVector(kind=kind, where=where, message="assert 1 == 2", extent=extent)


def run_session(*steps: Step) -> tuple[FailureState, list[str]]:
    """Calls that succeed, and calls with the error that they fail with."""
    trouble, told = FailureState(), list[str]()
    for step in steps:
        if isinstance(step, ToolCall):
            trouble = fold_success(trouble, step)
        else:
            trouble, said = fold_failure(trouble, *step)
            told += [one.rule for one in said]
    return trouble, told


def different(times: int, *between: Step) -> list[Step]:
    return [step for number in range(times) for step in (fails(f"make {number}", f"part-{number}", BUILD), *between)]


A, B = fails("pytest", "a"), fails("pytest", "b")
LOOKED_AT = [step for _ in range(4) for step in (fails(), EDIT)] + [
    fails(f"pytest -q {flag}") for flag in ("-x", "-vv", "--lf", "-s")
]
MISSED = [fails(f"cat part{number}.py", kind=FailureClass.MISSING_FILE) for number in range(5)]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (different(4), []),
        (different(5), ["failures"]),
        (different(11), ["failures"] * 2),
        ([*different(4), bash("pytest"), *different(4)], []),
        ([step for _ in range(5) for step in (fails(), EDIT)], ["same_failure"]),
        (LOOKED_AT, ["same_failure"]),
        (MISSED, ["failures"]),
        ([fails(kind=EDITING)] * 5, ["failures"]),
        ([A, EDIT, B, EDIT, A, EDIT], []),
        ([A, EDIT, B, EDIT, A, EDIT, B, EDIT, A], ["alternating"]),
    ],
)
def test_a_stuck_session_gets_each_advice_once_per_occasion(steps: list[Step], told: list[Rule]) -> None:
    assert run_session(*steps)[1] == told


TURNS = [(left, name) for left in range(12, 0, -1) for name in ("tsc", "pytest")]


@pytest.mark.parametrize(
    ("steps", "in_row"),
    [
        ([step for number in range(20) for step in (fails(where=f"test_{number}"), EDIT)], 1),
        ([step for left in range(20, 0, -1) for step in (fails(extent=left), EDIT)], 1),
        ([fails(f"sed -i s/a/b{number}/ a.go && go build ./...", f"{number}", BUILD) for number in range(20)], 1),
        ([step for _ in range(20) for step in (fails(kind=EDITING), READ, EDIT)], 0),
        ([step for left, name in TURNS for step in (fails(name, f"last of {name}", extent=left), EDIT)], 1),
        ([fails(f"grep -rn word{number} .", kind=FailureClass.OTHER) for number in range(20)], 0),
        ([step for n in range(2) for name in ("make", "pytest") for step in (fails(name, f"{name}-{n}"), EDIT)], 1),
    ],
    ids=["refactoring", "fewer fail", "changed by the command", "edits that miss", "two checks", "searches", "further each time"],
)
def test_slow_progress_gets_no_advice(steps: list[Step], in_row: int) -> None:
    trouble, told = run_session(*steps)
    assert (told, trouble.in_row) == ([], in_row)


def advice_on_edits(contents: str) -> list[str]:
    """Contents that a file is found with before one edit after the other."""
    trouble, told = FailureState(), list[str]()
    for content in contents:
        trouble, said = fold_edit(trouble, "app.py", content)
        told += [one.rule for one in said if "app.py" in one.text and "a third one" in one.text]
    return told


def test_a_file_that_alternates_between_two_contents_gets_advice() -> None:
    """Prints that are put in and taken out again do not, nor edits that are heard of late."""
    quiet = ("aba", "a1a2a3a", "aabbc", "abcdefghijklmnopqrstuvwxyz0123456789")
    assert [advice_on_edits(contents) for contents in quiet] == [[]] * 4
    assert advice_on_edits("abab") == ["reverted"]


def test_a_session_counts_as_stuck_after_three_times_the_limit() -> None:
    assert stuck_reason(run_session(*different(14))[0]) == ""
    assert stuck_reason(run_session(*different(15))[0]) == "15 tool calls failed one after the other (15 are allowed)"


@pytest.mark.parametrize("kind", FailureClass)
def test_advice_ends_with_a_remedy_and_quotes_only_bounded_printable_text(kind: FailureClass) -> None:
    ugly = ErrorVector(kind=kind, where="\x1b[2J\n" * 1000, message="\0" * 5000)
    (advice,) = fold_failure(run_session(*different(4))[0], bash("x"), ugly)[1]
    assert len(advice.text.partition("that tests it. ")[2]) > 20
    assert (advice.text.isprintable(), len(advice.text) < 1000) == (True, True)


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=3))))
def test_the_failure_state_is_bounded(edits: list[tuple[str, str]]) -> None:
    trouble = FailureState()
    for path, content in edits * 20:
        trouble, _ = fold_edit(trouble, path, content)
    assert len(trouble.versions) <= 100
    assert all(len(one) <= 20 for one in trouble.versions.values())
