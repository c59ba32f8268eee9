"""Which sentences of a last message state that something was done."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.claims import Claims
from helmsman.records.memory import Completed, WorkingMemory
from helmsman.verify.claims.reading import MOST_CLAIMS, read_claims

pytestmark = pytest.mark.feature("V6")
PROMISE = "<promise>COMPLETE</promise>"


def told(text: str) -> list[str]:
    return [f"{claim.kind} {claim.subject}".strip() for claim in read_claims(text, PROMISE).claims]


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("I updated `src/app.py`", ["src/app.py"]),
        ("Created tests/test_x.py", ["tests/test_x.py"]),
        ("I've updated `src/app.py` and created `tests/test_app.py`.", ["src/app.py", "tests/test_app.py"]),
        ("Updated `a.py`, `b.py`, and `c.py`.", ["a.py", "b.py", "c.py"]),
        ("- **Modified** `src/app.py` so that it works\n- Deleted src/old.py", ["src/app.py", "src/old.py"]),
        ("Updated the parser in `src/parser.py` so that `src/app.py` works.", ["src/parser.py"]),
        ("Wrote a new test file tests/unit/test_z.py covering the crash in `src/q.py`.", ["tests/unit/test_z.py"]),
        ("Added retry logic to `src/http.py`.", ["src/http.py"]),
        ("Removed the unused import from `src/app.py`.", ["src/app.py"]),
        ("Renamed `a.py` to `b.py`.", ["b.py"]),
        ("Added `src/new.py` to `.gitignore`.", [".gitignore"]),
        ("Updated `src/a.py:12` and [`src/b.py`](src/b.py#L3).", ["src/a.py", "src/b.py"]),
        ("Updated README.md and Makefile.", ["README.md", "Makefile"]),
        ("`src/app.py`: added retry logic", ["src/app.py"]),
        ("`src/app.py` \u2014 updated", ["src/app.py"]),
        ("`src/app.py` and `src/b.py` were updated to use it.", ["src/app.py", "src/b.py"]),
        ("Files changed:\n- `src/app.py` (retry)\n- src/b.py\n- the docs", ["src/app.py", "src/b.py"]),
        ("## Changes\n\n1. `src/app.py`: retries now\n", ["src/app.py"]),
        ("Finally, I edited `src/app.py`,\nwhich took a while.", ["src/app.py"]),
    ],
)
def test_a_changed_file_is_claimed_by_name(text: str, claimed: list[str]) -> None:
    assert told(text) == [f"file_changed {path}" for path in claimed]


@pytest.mark.parametrize(
    "text",
    [
        "I did not change `src/app.py`.",
        "I did not\nchange `src/app.py`.",
        "I haven't updated `src/app.py`.",
        "I haven\u2019t updated `src/app.py`.",
        "`src/app.py` was not updated.",
        "`src/app.py`: unchanged",
        "Next I will update `src/app.py`.",
        "Update `src/app.py` next.",
        "If needed, I updated `src/app.py`.",
        "I would have updated `src/app.py`.",
        "Have I updated `src/app.py`?",
        "I updated `src/app.py`, but reverted it.",
        "Deleted the temporary `debug.py`.",
        "In an earlier iteration I created `src/app.py`.",
        "The user updated `src/app.py`.",
        "The updated `src/app.py` reads well.",
        "Fixed the crash in `src/app.py` by changing `src/db.py`.",
        "Removed the bug in `src/app.py`.",
        "Added a test for the bug in `src/app.py`.",
        "Added a test reproducing the crash in `src/app.py`.",
        "Added `app.py` support.",
        "Updated `app.py` documentation.",
        "Removed `old.py` from the build.",
        "Added `secret.py` to the list of ignored files.",
        "Added a link to `docs/x.md`.",
        "Added the option mentioned in `docs/spec.md`.",
        "Updated references to `src/app.py`.",
        "Updated the function to handle errors in `src/y.py`.",
        "Created by `gen.py`.",
        "Updated nothing in `src/app.py`.",
        "Updated everything except `src/app.py`.",
        "Updated Node.js to 20 and Next.js to 15.",
        "Changed the call of `json.loads()` and `self.items`.",
        "Updated src/*.py and {a,b}.ts.",
        "Read `src/app.py` and `src/b.py`.",
        "```\nI updated `src/app.py`\n```",
        "> I updated `src/app.py`",
        "| `src/app.py` | Updated |",
        "- [ ] Updated `src/app.py`",
        "## Next steps\n\n- Updated `src/app.py`",
        "**Remaining:**\n- Updated `src/app.py`",
        "I did not do this:\n- Updated `src/app.py`",
        "Files not changed:\n- `src/app.py`",
        "\u274c Updated `src/app.py`",
    ],
)
def test_denials_plans_and_things_that_only_concern_a_file_are_no_claim(text: str) -> None:
    assert told(text) == []


def test_the_file_beside_one_that_is_unaffected_is_claimed_alone() -> None:
    assert told("Updated `a.py`, `b.py` is unaffected.") == ["file_changed a.py"]
    assert told("Updated `a.py`: `b.py` imports it now.") == ["file_changed a.py"]
    assert told("Updated `a.py` to match `b.py`.") == ["file_changed a.py"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Modified 3 files", "3"),
        ("I changed three source files.", "3"),
        ("Updated 12 test files across the tree.", "12"),
        ("I edited `a.py` and created 2 new files.", "2"),
    ],
)
def test_a_number_of_files_is_claimed(text: str, number: str) -> None:
    assert f"files_modified {number}" in told(text)


@pytest.mark.parametrize(
    "text", ["Modified 3 files in total.", "Modified 3 lines.", "I will modify 3 files.", "Read 3 files", "0 files"]
)
def test_other_numbers_are_no_claim(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("All tests pass", ""),
        ("All 12 tests pass.", ""),
        ("**All tests are passing** \u2705", ""),
        ("The full test suite passes (45 tests).", ""),
        ("All tests pass with no failures.", ""),
        ("Verified that all tests pass.", ""),
        ("Tests: all passing", ""),
        ("The code is shorter, and all tests still pass.", ""),
        ("All checks pass.", ""),
        ("All 42 tests pass (14 new, 28 existing):", ""),
        ("pytest passes (12 passed)", "pytest"),
        ("`npm test` passes.", "npm test"),
        ("`make check` is green, and I am content.", "make check"),
        ("`cargo test`: passed", "cargo test"),
    ],
)
def test_passing_tests_are_claimed(text: str, command: str) -> None:
    assert told(text) == [f"tests_pass {command}".strip()]


@pytest.mark.parametrize(
    "text",
    [
        "tests should pass",
        "tests fail",
        "if all tests pass",
        "Once all tests pass, I am done.",
        "The goal is that all tests pass.",
        "Make sure all tests pass.",
        "All tests pass except test_x.",
        "Most tests pass.",
        "The new tests pass.",
        "All existing tests still pass.",
        "All unit tests pass.",
        "All tests in tests/unit pass.",
        "All tests pass on Python 3.11.",
        "All tests passed before my change.",
        "All tests pass (14 new, 2 failing).",
        "All tests pass: only the slow ones were left out.",
        "Not all tests pass.",
        "3 of 5 tests pass",
        "Tests: 10/12 passing",
        "Do all tests pass?",
        "`test_adds` passes.",
        "`pytest` passes for the parser.",
        "All tests pass, but the linter complains.",
        "Two tests still fail.\n\nAll tests pass.",
        "All tests pass.\n\nOne integration test fails for want of a network; 2 failed.",
    ],
)
def test_hoped_for_partial_and_failing_tests_are_no_claim(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("I ran `npm test`", ["command_run npm test"]),
        ("Ran `ruff check .` and `pytest -q`.", ["command_run ruff check .", "command_run pytest -q"]),
        ("I ran pytest.", ["command_run pytest"]),
        ("I ran the full test suite.", ["command_run"]),
        ("I ran `npm test`, and it passed.", ["command_run npm test", "tests_pass npm test"]),
        ("Ran `pytest` (12 passed).", ["command_run pytest", "tests_pass pytest"]),
        ("I ran `pytest`, and 2 tests fail.", ["command_run pytest"]),
        ("I could not run `npm test`.", []),
        ("I never ran `npm test`.", []),
        ("Run `npm test` to see it.", []),
        ("I ran `test_adds` in my head.", []),
        ("I ran the new tests.", []),
    ],
)
def test_commands_that_were_run_are_claimed(text: str, claimed: list[str]) -> None:
    assert told(text) == claimed


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("committed as abc1234", ["committed abc1234"]),
        ("Committed the changes", ["committed"]),
        ("I committed the fix (`ABC1234f`).", ["committed abc1234f"]),
        ("The work was committed as abc1234.", ["committed abc1234"]),
        ("Commit: `abc1234`", ["committed abc1234"]),
        ("Committed.", ["committed"]),
        ("I updated `a.py` and committed it.", ["file_changed a.py", "committed"]),
        ("I have not committed anything.", []),
        ("Committed nothing.", []),
        ("I am committed to quality.", []),
        ("Nothing was committed as abc1234.", []),
        ("The bug came with commit abc1234.", []),
        ("All changes are committed.", []),
        ("Committed the facade of 1234567 lines.", ["committed"]),
        ("In the last iteration I committed as abc1234.", []),
    ],
)
def test_commits_are_claimed(text: str, claimed: list[str]) -> None:
    assert told(text) == claimed


def test_a_ticked_entry_of_a_list_is_an_item_done() -> None:
    assert told("- [x] Parser for dates\n- [ ] Parser for times") == ["item_done Parser for dates"]


def test_a_status_report_is_claimed_field_by_field() -> None:
    text = "---RALPH_STATUS---\nFILES_MODIFIED: 3\nTESTS_STATUS: PASSING\nTASKS_COMPLETED_THIS_LOOP: 2\n---END_RALPH_STATUS---"
    claims = read_claims(text, PROMISE)
    assert told(text) == ["tests_pass", "files_modified 3", "item_done 2 tasks"]
    assert {claim.source for claim in claims.claims} == {"RALPH_STATUS"}
    assert claims.status is not None


@pytest.mark.parametrize("text", ["FILES_MODIFIED: 0\nTESTS_STATUS: FAILING", "TESTS_STATUS: NOT_RUN", "EXIT_SIGNAL: true"])
def test_a_modest_status_report_claims_nothing(text: str) -> None:
    assert told(text) == []


def test_what_two_sources_say_is_claimed_once_in_the_words_of_the_message() -> None:
    claims = read_claims("All tests pass.\n\nTESTS_STATUS: PASSING", PROMISE).claims
    assert [(claim.said, claim.source) for claim in claims] == [("All tests pass.", "last message")]


def memory(*completed: str) -> WorkingMemory:
    return WorkingMemory(completed=tuple(Completed(text=text) for text in completed))


def noted(before: WorkingMemory | None, after: WorkingMemory | None) -> list[str]:
    return [claim.subject for claim in read_claims("", PROMISE, before=before, after=after).claims]


def test_entries_that_were_completed_in_this_iteration_are_claimed() -> None:
    assert noted(memory("Dates are parsed"), memory("Dates are parsed", "Times are parsed too")) == ["Times are parsed too"]


def test_an_entry_that_was_only_worded_anew_is_not_claimed_again() -> None:
    assert noted(memory("Dates are parsed"), memory("dates are now parsed.")) == []


def test_without_the_memory_from_before_no_entry_is_new() -> None:
    assert noted(None, memory("Times")) == []
    assert noted(memory("Times"), None) == []


def test_50_claims_are_kept_and_each_sentence_is_cut_to_200_characters() -> None:
    text = "\n\n".join(f"I updated `src/a{n}.py` {'x' * 300}." for n in range(80)) + "\n\nI updated `a.py` " + "so " * 150
    claims = read_claims("\n\n".join(f"Updated `a{n}.py` so {'x' * 300}" for n in range(80)), PROMISE).claims
    assert len(claims) == MOST_CLAIMS
    assert {len(claim.said) for claim in claims} == {200}
    assert all(len(claim.said) <= 200 for claim in read_claims(text, PROMISE).claims)


PIECES = st.sampled_from(
    [
        "I updated ",
        "`a.py` ",
        "not ",
        "All tests pass",
        ". ",
        "\n",
        "\n\n",
        "- ",
        "```",
        "# ",
        "committed as ",
        "abc1234 ",
        "ran ",
        "`",
        ": ",
        "\u2014 ",
    ]
)


@given(st.lists(PIECES | st.text(max_size=6), max_size=40).map("".join))
def test_any_message_gives_valid_claims(text: str) -> None:
    claims = read_claims(text.encode("utf-8", "replace").decode(), PROMISE)
    assert Claims.model_validate_json(claims.model_dump_json()) == claims


@given(
    st.sampled_from(["I did not update ", "I have never created ", "I will not touch ", "Had I updated "]),
    st.text("abc/", max_size=8),
)
def test_a_denied_change_is_never_claimed(denial: str, name: str) -> None:
    assert told(f"{denial}`{name}x.py`.") == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    [
        "I updated `a.py`, ",
        "and ",
        "all tests ",
        "(",
        "`",
        "commit ",
        "a.b/",
        "- [x] ",
        ": ",
        "`pytest` ",
        "1 ",
        "in ",
        "\u2014 ",
        "I ran the ",
    ],
)
def test_a_megabyte_of_one_piece_is_read_quickly(piece: str) -> None:
    begun = time.perf_counter()
    assert len(read_claims(piece * (10**6 // len(piece)), PROMISE).claims) <= MOST_CLAIMS
    assert time.perf_counter() - begun < 10
