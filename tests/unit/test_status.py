"""How an agent ends: a request to be done, a way out with its reason, and the status block however it is written."""

import json

import pytest

from helmsman.parsers.markdown_text import without_code
from helmsman.parsers.status import LAST_LINES, find_promises, read_ending, read_status
from helmsman.records.claims import StatusReport

PROMISE = "<promise>COMPLETE</promise>"
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
    exit_signal=False,
    recommendation="Go on with the parser: it lacks escapes",
)
LINES = "\n".join(f"{key}: {value}" for key, value in VALUES.items())
BLOCK = f"---RALPH_STATUS---\n{LINES}\n---END_RALPH_STATUS---"


def requests_completion(text: str, *, only_at_end: bool = False) -> bool:
    return read_ending(text, PROMISE, only_at_end=only_at_end).wants_to_finish


@pytest.mark.feature("V9")
@pytest.mark.parametrize(
    "text",
    [
        f"All tests pass.\r\n\r\n{PROMISE}\r\n",
        f"All tests pass, so {PROMISE}.",
        f"There is nothing that does not pass. {PROMISE}",
        f"All tests pass.\n`{PROMISE}`",
        f"```\n{PROMISE}\n```",
        f"I ran this:\n  ~~~~sh\n  pytest ~~~\n  ~~~~\n{PROMISE}",
    ],
)
def test_a_promise_on_its_own_line_or_at_the_end_of_one_requests_completion(text: str) -> None:
    assert read_ending(text, PROMISE).how == PROMISE
    assert requests_completion(text)


@pytest.mark.feature("V9")
@pytest.mark.parametrize(
    "text",
    [
        "",
        f"I do not say ``{PROMISE}`` yet: two tests fail.",
        f"At the end I shall say:\n  ~~~text\n  {PROMISE}\n  ~~~\nbut two tests fail.",
        f"At the end I shall say:\n````\n```\n{PROMISE}\n```\n````\nbut two tests fail.",
        f"A fence that was never closed:\n```\n{PROMISE}",
        f"I will only say {PROMISE} once README.md is written.\nCONTINUE: write README.md",
        f"Not {PROMISE}.",
        f"> Reply with {PROMISE}",
        f"| step | {PROMISE} |",
        f"Two tests fail, so I do not output {PROMISE}",
        "EXIT_SIGNAL: false",
        "I shall set EXIT_SIGNAL: true later",
        "Once it is written I will answer with:\n\n```\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n```",
        "```\nEXIT_SIGNAL: true\n```\nis what I answer at the end. README.md is missing.",
        "STATUS: IN_PROGRESS\nEXIT_SIGNAL: true",
        "STATUS: BLOCKED\nEXIT_SIGNAL: true",
        "EXIT_SIGNAL: true\n\nIt is not done after all.\n\nEXIT_SIGNAL: false",
    ],
)
def test_a_quoted_or_retracted_promise_requests_nothing(text: str) -> None:
    assert not requests_completion(text)


@pytest.mark.feature("V9")
@pytest.mark.parametrize(
    "text",
    [
        "exit_signal = TRUE",
        "- **EXIT_SIGNAL**: true",
        "---STATUS---\nTASKS: 3\nEXIT_SIGNAL: true\n---END---",
        '{\n  "EXIT_SIGNAL": "true"\n}',
        '```json\n{\n  "EXIT_SIGNAL": true\n}\n```',
        "```\n$ pytest\n```\nAll pass. The report:\n```\n---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n```",
    ],
)
def test_an_exit_signal_requests_completion_in_a_block_or_alone(text: str) -> None:
    assert read_ending(f"Status:\n{text}\n", PROMISE).how == "EXIT_SIGNAL"


@pytest.mark.feature("A5")
def test_only_the_last_lines_of_other_output_count_as_a_request() -> None:
    echoed = f"end your last message with:\n{PROMISE}\n" + "> more of the prompt\n\n" * LAST_LINES
    assert requests_completion(echoed)
    assert not requests_completion(echoed, only_at_end=True)
    assert not requests_completion("EXIT_SIGNAL: true\n" + "a line\n" * LAST_LINES, only_at_end=True)
    assert requests_completion(f"{echoed}\nDone.\n{PROMISE}\n\ntokens used: 1,234\n", only_at_end=True)
    assert requests_completion(f"{echoed}\n---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n", only_at_end=True)


@pytest.mark.feature("V17")
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "I looked.\n\n**BLOCKED:** the terminal has to be connected,\nwhich I cannot do.\n\nBye.",
            "the terminal has to be connected, which I cannot do.",
        ),
        ("IMPOSSIBLE: no such port.", "no such port."),
        (f"> BLOCKED: a\n{BLOCK}", "a"),
        (BLOCK.replace("IN_PROGRESS", "BLOCKED"), REPORT.recommendation),
        ("STATUS: BLOCKED\nEXIT_SIGNAL: false\nCONTINUE: x", "it gives no reason"),
        ("BLOCKED: first.\nCONTINUE: it went on.", ""),
        ("BLOCKED: none", ""),
        ("I would write:\n```\nSTATUS: BLOCKED\nEXIT_SIGNAL: false\n```\nif it failed, but it works.", ""),
        ("I was blocked: a test failed.", ""),
        (f"BLOCKED: x\n{PROMISE}", ""),
    ],
)
def test_the_last_closing_word_blocks_with_its_reason(said: str, reason: str) -> None:
    assert read_ending(said, PROMISE).blocked == reason


@pytest.mark.feature("A4")
@pytest.mark.parametrize(
    ("said", "goes_on"),
    [
        ("CONTINUE: the lexer is next.", True),
        (BLOCK, True),
        (BLOCK.replace("IN_PROGRESS", "COMPLETE"), False),
        ("BLOCKED: x", False),
        (f"CONTINUE: later\n{PROMISE}", False),
        ("The lexer is next.", False),
    ],
)
def test_an_agent_says_that_work_remains(said: str, goes_on: bool) -> None:
    assert read_ending(said, PROMISE).goes_on is goes_on


@pytest.mark.feature("O9")
@pytest.mark.parametrize(
    "text",
    [
        f"All is well. {BLOCK} Good bye.",
        BLOCK.replace("\n", "\r\n"),
        BLOCK.replace("---", "--- ", 1).replace("S---", "S ---"),
        f"```json\n{json.dumps({'ralph_status': {key.lower(): value for key, value in VALUES.items()}}, indent=2)}\n```",
        "\n".join(f"* **{key}:** {value}" for key, value in VALUES.items()),
        "\n\n".join(f"> `{key.lower()}` = `{value}`" for key, value in VALUES.items()),
        f"---RALPH_STATUS---\n{LINES}",
        json.dumps(VALUES, indent=2).replace("\n}", ",\n}"),
    ],
)
def test_a_report_is_read_as_a_block_and_line_by_line(text: str) -> None:
    assert read_status(f"I worked on it.\n\n{text}\n") == REPORT


@pytest.mark.feature("O9")
@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("Status: complete\n**Recommendation:** look at the parser", None),
        ('{"status": "COMPLETE", "recommendation": "none"}', None),
        ("---RALPH_STATUS---\n---END_RALPH_STATUS---\nStatus: ok", None),
        (f"{BLOCK}\n---RALPH_STATUS---\n---END_RALPH_STATUS---", REPORT),
        ("---RALPH_STATUS---\nSTATUS: COMPLETE\n---END_RALPH_STATUS---", StatusReport(status="complete")),
    ],
)
def test_common_field_names_make_a_report_only_after_its_mark(text: str, report: StatusReport | None) -> None:
    assert read_status(text) == report


@pytest.mark.feature("O9")
def test_the_last_report_wins() -> None:
    for first in (BLOCK, LINES):
        for second in ("EXIT_SIGNAL: true", "---RALPH_STATUS---\nEXIT_SIGNAL: true"):
            assert read_status(f"{first}\n\nLater:\n\n{second}") == StatusReport(exit_signal=True)


@pytest.mark.feature("O9")
@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("STATUS: COMPLETE ✅", "status", "complete"),
        ("STATUS: IN_PROGRESS | COMPLETE | BLOCKED", "status", ""),
        ("TESTS_STATUS: PASSING (12 passed)", "tests_status", "passing"),
        ("TESTS_STATUS: PASSING (2 known failures)", "tests_status", ""),
        ("FILES_MODIFIED: 3 (a.py, b.py, c.py)", "files_modified", 3),
        ("FILES_MODIFIED: 3/5", "files_modified", None),
        ("EXIT_SIGNAL: yes", "exit_signal", True),
        (f"RECOMMENDATION: {'a' * 500}", "recommendation", "a" * 299 + "…"),
    ],
)
def test_a_field_is_read_or_left_empty(line: str, field: str, value: object) -> None:
    text = f"---RALPH_STATUS---\nTASKS_COMPLETED: 1\n{line}\n---END_RALPH_STATUS---"
    report = read_status(text)
    assert report is not None
    assert getattr(report, field) == value


@pytest.mark.feature("E11")
def test_each_promise_of_a_prompt_is_found_once_with_its_line() -> None:
    prompt = "# Work\nSay <promise>DONE</promise>, and only\nthen <promise>DONE</promise>, never <promise>NO</promise>.\n"
    assert find_promises(prompt) == {"<promise>DONE</promise>": 2, "<promise>NO</promise>": 3}
    assert find_promises("say <promise> when </promise\n") == {}


# Which lines of a text in Markdown stand in a block of code


def code(text: str) -> str:
    """The lines as letters: those of a block as `c`."""
    lines = zip(text.split("\n"), without_code(text).split("\n"), strict=True)
    return "".join("." if line == visible else "c" for line, visible in lines)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n```\nb\n```\nc", ".ccc."),
        ("```\n~~~\n```\nb", "ccc."),
        ("````\n```\n````\nb", "ccc."),
        ("```\n```py\n```\nb", "ccc."),
        ("```a``` is said\nb", ".."),
        ("```\na", "cc"),
        ("    ```\nb", ".."),
        ("   ```\nb\n```\r\nc", "ccc."),
    ],
)
def test_a_code_block_ends_with_a_fence_like_its_first(text: str, found: str) -> None:
    assert code(text) == found
