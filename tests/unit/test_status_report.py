"""The RALPH_STATUS block in all the ways in which agents write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.claims import StatusReport
from helmsman.verify.claims.status_report import read_status

pytestmark = pytest.mark.feature("O9")

VALUES = {
    "STATUS": "IN_PROGRESS",
    "TASKS_COMPLETED_THIS_LOOP": 2,
    "FILES_MODIFIED": 3,
    "TESTS_STATUS": "PASSING",
    "WORK_TYPE": "IMPLEMENTATION",
    "EXIT_SIGNAL": "false",
    "RECOMMENDATION": "Go on with the parser: it lacks escapes",
}
REPORT = StatusReport(
    status="in_progress",
    tasks_completed=2,
    files_modified=3,
    tests_status="passing",
    work_type="implementation",
    exit_signal=False,
    recommendation="Go on with the parser: it lacks escapes",
)
LINES = "\n".join(f"{key}: {value}" for key, value in VALUES.items())
BLOCK = f"---RALPH_STATUS---\n{LINES}\n---END_RALPH_STATUS---"


def told(of: StatusReport | None) -> dict[str, Any]:
    assert of is not None
    return of.model_dump(exclude={"form"})


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        f"All is well.\n\n{BLOCK}\n",
        f"```\n{BLOCK}\n```",
        f"All is well. {BLOCK} Good bye.",
        BLOCK.replace("\n", "\r\n"),
        BLOCK.lower(),
        BLOCK.replace("---", "--- ", 1).replace("S---", "S ---"),
    ],
)
def test_a_whole_block_is_read(text: str) -> None:
    report = read_status(text)
    expected = told(REPORT) if "IN_PROGRESS" in text else {**told(REPORT), "recommendation": REPORT.recommendation.lower()}
    assert (told(report), report and report.form) == (expected, "block")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(VALUES),
        json.dumps(VALUES, indent=2),
        json.dumps({"RALPH_STATUS": VALUES}),
        json.dumps({"ralph_status": {key.lower(): value for key, value in VALUES.items()}}),
        f"```json\n{json.dumps(VALUES, indent=2)}\n```",
        f"Here {{it}} is: {json.dumps({**VALUES, 'EXIT_SIGNAL': False, 'details': {'a': [1]}})} and that is all.",
        f"---RALPH_STATUS---\n{json.dumps(VALUES)}\n---END_RALPH_STATUS---",
    ],
)
def test_json_is_read_fenced_or_not_and_under_its_name(text: str) -> None:
    report = read_status(text)
    assert (told(report), report and report.form) == (told(REPORT), "json")


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        f"```\n{LINES}\n```",
        f"## RALPH_STATUS\n\n{LINES}",
        "\n".join(f"- **{key}**: {value}" for key, value in VALUES.items()),
        "\n".join(f"* **{key}:** {value}" for key, value in VALUES.items()),
        "\n".join(f"> `{key}`: `{value}`" for key, value in VALUES.items()),
        "\n\n".join(f"{key.lower()} = {value}" for key, value in VALUES.items()),
        f"---RALPH_STATUS---\n{LINES}",
        json.dumps(VALUES, indent=2).replace("\n}", ",\n}"),
    ],
)
def test_loose_lines_are_read_however_they_are_decorated(text: str) -> None:
    report = read_status(f"I worked on it.\n\n{text}\n")
    assert (told(report), report and report.form) == (told(REPORT), "loose")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All done.",
        "Status: complete",
        "**Recommendation:** look at the parser",
        '{"status": "ok"}',
        '{"status": "COMPLETE", "recommendation": "none"}',
        "I shall report STATUS and EXIT_SIGNAL at the end",
        "---RALPH_STATUS---\n---END_RALPH_STATUS---",
        "Files modified: 3",
    ],
)
def test_words_that_stand_in_any_message_are_no_report(text: str) -> None:
    assert read_status(text) is None


def test_a_block_may_hold_one_common_word_and_so_may_json_under_its_name() -> None:
    assert read_status("---RALPH_STATUS---\nSTATUS: COMPLETE\n---END_RALPH_STATUS---") == StatusReport(status="complete")
    assert read_status('{"RALPH_STATUS": {"STATUS": "BLOCKED"}}') == StatusReport(status="blocked", form="json")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (BLOCK, '{"EXIT_SIGNAL": true}'),
        (BLOCK, "EXIT_SIGNAL: true"),
        (LINES, "EXIT_SIGNAL: true"),
        (BLOCK, "---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---"),
        (json.dumps(VALUES), '{"RALPH_STATUS": {"EXIT_SIGNAL": true}}'),
    ],
)
def test_the_last_report_wins(first: str, second: str) -> None:
    report = read_status(f"{first}\n\nLater:\n\n{second}")
    assert told(report) == told(StatusReport(exit_signal=True))


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("STATUS: COMPLETE", "status", "complete"),
        ("STATUS: done", "status", "complete"),
        ("STATUS: In Progress", "status", "in_progress"),
        ("STATUS: COMPLETE ✅", "status", "complete"),
        ("STATUS: IN_PROGRESS | COMPLETE | BLOCKED", "status", ""),
        ("STATUS: not complete", "status", ""),
        ("TESTS_STATUS: PASSING (12 passed)", "tests_status", "passing"),
        ("TESTS_STATUS: PASSING (2 known failures)", "tests_status", ""),
        ("TESTS_STATUS: PASSING (3/5)", "tests_status", ""),
        ("TESTS_STATUS: FAILING", "tests_status", "failing"),
        ("TESTS_STATUS: not run", "tests_status", "not_run"),
        ("TESTS_STATUS: mostly passing", "tests_status", ""),
        ("FILES_MODIFIED: 3 (a.py, b.py, c.py)", "files_modified", 3),
        ("FILES_MODIFIED: <number>", "files_modified", None),
        ("FILES_MODIFIED: a.py", "files_modified", None),
        ("FILES_MODIFIED: -4", "files_modified", None),
        ("FILES_MODIFIED: 99999999999999", "files_modified", None),
        ("TASKS_COMPLETED: 1", "tasks_completed", 1),
        ("EXIT_SIGNAL: yes", "exit_signal", True),
        ("EXIT_SIGNAL: false | true", "exit_signal", None),
        ('{"FILES_MODIFIED": ["a.py", "b.py"]}', "files_modified", 2),
        ('{"FILES_MODIFIED": true}', "files_modified", None),
        ('{"FILES_MODIFIED": 2.5}', "files_modified", None),
        ('{"STATUS": ["COMPLETE"], "EXIT_SIGNAL": null}', "status", ""),
        ('{"EXIT_SIGNAL": true, "RECOMMENDATION": "\\ud800 a\\n\\n b"}', "recommendation", "? a b"),
    ],
)
def test_a_field_is_read_or_left_empty(line: str, field: str, value: object) -> None:
    text = line if line.startswith("{") else f"---RALPH_STATUS---\nWORK_TYPE: TESTING\n{line}\n---END_RALPH_STATUS---"
    assert told(read_status(text))[field] == value


def test_a_recommendation_keeps_300_characters() -> None:
    report = read_status(f"EXIT_SIGNAL: false\nRECOMMENDATION: {'a' * 500}")
    assert told(report)["recommendation"] == "a" * 300


WORDS = st.sampled_from(
    [*VALUES, "---RALPH_STATUS---", "---END_RALPH_STATUS---", "{", "}", '"', ": ", "\n", "true", "3", "- **", "```", "\ud800"]
)


@given(st.lists(WORDS | st.text(max_size=5), max_size=40).map("".join))
def test_any_text_gives_a_valid_report_or_none(text: str) -> None:
    report = read_status(text)
    assert report is None or StatusReport.model_validate_json(report.model_dump_json()) == report


@given(
    st.fixed_dictionaries(
        {
            "STATUS": st.sampled_from(["IN_PROGRESS", "COMPLETE", "BLOCKED"]),
            "TASKS_COMPLETED_THIS_LOOP": st.integers(0, 999),
            "FILES_MODIFIED": st.integers(0, 999),
            "TESTS_STATUS": st.sampled_from(["PASSING", "FAILING", "NOT_RUN"]),
            "WORK_TYPE": st.sampled_from(["TESTING", "REFACTORING"]),
            "EXIT_SIGNAL": st.booleans(),
            "RECOMMENDATION": st.text("abc .,", max_size=40).map(str.strip),
        }
    )
)
def test_json_block_and_lines_say_the_same(values: dict[str, Any]) -> None:
    lines = "\n".join(f"{key}: {value}" for key, value in values.items())
    block = f"---RALPH_STATUS---\n{lines}\n---END_RALPH_STATUS---"
    read = [told(read_status(text)) for text in (json.dumps(values), block, lines)]
    trimmed = [{**one, "recommendation": one["recommendation"].strip(" ,").replace("  ", " ")} for one in read]
    assert trimmed[0]["status"] == values["STATUS"].lower()
    assert trimmed[1] == trimmed[2]
    assert {**trimmed[0], "recommendation": ""} == {**trimmed[1], "recommendation": ""}


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece", ["{", '{"STATUS":', "---RALPH_STATUS---", "STATUS: ", "-", "EXIT_SIGNAL: x\n", "*", '{"a":[', " \n"]
)
def test_a_megabyte_of_noise_is_read_quickly(piece: str) -> None:
    report = read_status(piece * (10**6 // len(piece)))
    assert report is None or report.exit_signal is None
