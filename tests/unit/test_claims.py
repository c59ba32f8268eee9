"""What an agent says of its work: which words are compared with the evidence, and what of them does not hold."""

from typing import Any

import pytest

from helmsman.parsers.paths import Paths, as_path, is_visible_to_git, matches_any
from helmsman.records.agent import AgentCall, AgentOutcome, Change, CommandRun, Commit
from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.verify.claims import MOST, Case, contradictions, read_claims

pytestmark = pytest.mark.feature("V6")
PROMISE = "<promise>COMPLETE</promise>"


def claims_in(text: str) -> list[str]:
    return [f"{claim.kind} {claim.subject}".strip() for claim in read_claims(text, PROMISE).claims]


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("I've updated `src/a.py`, `b.py`, and `c.py`.", ["file_changed src/a.py", "file_changed b.py", "file_changed c.py"]),
        (
            "1. **Modified** `src/a.py:12` so that it\n   works.\n2. Deleted `b.py`",
            ["file_changed src/a.py", "file_changed b.py"],
        ),
        (
            "## Files changed\n\n- `src/a.py` (retry)\n- `b.py`: retries\n- the docs",
            ["file_changed src/a.py", "file_changed b.py"],
        ),
        ("All 42 tests pass (14 new, 28 existing):", ["tests_pass"]),
        ("The fix was committed as `ABC1234f`.", ["committed abc1234f"]),
        ("- [x] T1: dates\n- [ ] T2: times", ["item_done T1: dates"]),
        ("FILES_MODIFIED: 3\nTESTS_STATUS: PASSING\nTASKS_COMPLETED: 2", ["tests_pass"]),
        ("FILES_MODIFIED: 0\nTESTS_STATUS: FAILING", []),
    ],
)
def test_files_tests_commits_and_the_status_block_are_claimed(text: str, claimed: list[str]) -> None:
    assert claims_in(text) == claimed


@pytest.mark.parametrize(
    "text",
    [
        "I haven\u2019t\nupdated `src/a.py`.",
        "Updated `app.py` documentation. Updated Node.js to 20.",
        "I renamed `a.py` to `b.py`. Fixed the crash in `src/a.py` by changing `src/db.py`.",
        "```\nI updated `a.py`\n```\n> I updated `a.py`\n\n| `a.py` | Updated |",
        "## Next steps\n\n- Updated `src/a.py`\n- All tests pass",
        "If all tests pass, I am done. Do all tests pass?\n\n❌ All tests pass",
        "Most tests pass. The new tests pass. 3 of 5 tests pass. All tests pass on Python 3.11.",
        "All tests pass except test_x. All tests pass: only the slow ones were left out.",
        "Two tests still fail.\n\nAll tests pass.",
        "The bug came with commit abc1234. It was committed as feedbee, a word.",
        "Nothing was committed as abc1234.",
    ],
)
def test_denials_plans_and_partial_statements_are_not_claims(text: str) -> None:
    assert claims_in(text) == []


def test_claims_are_unique_and_shortened() -> None:
    claims = read_claims("\n\n".join(f"Updated `a{n}.py` so {'x' * 300}" for n in range(80)), PROMISE).claims
    assert len(claims) == MOST
    assert {len(claim.said) for claim in claims} == {200}
    both = read_claims("All tests pass.\n\nTESTS_STATUS: PASSING", PROMISE).claims
    assert [(claim.said, claim.source) for claim in both] == [("All tests pass.", "last message")]


NOISE = "`", "` ", "```x\n", "\n", "EXIT_SIGNAL ", "{ ", '{"STATUS":', "---RALPH_STATUS---", "CONTINUE:\n"


@pytest.mark.timeout(30)  # a second pass over all of it for each character would take hours
@pytest.mark.parametrize("piece", ["Updated `a.py`, ", "all tests ", "commit ", "- [x] ", ": ", "1 ", " ", *NOISE])
def test_repetitive_megabytes_are_parsed_quickly(piece: str) -> None:
    found = read_claims(piece * (10**6 // len(piece)), PROMISE)
    assert (len(found.claims) <= MOST, found.wants_to_finish) == (True, False)


# against the evidence -------------------------------------------------------------------------------------------------

MINE = Commit(id="abc1234f" + "0" * 32, subject="Retry on a lost connection")


def change(*files: str, **fields: Any) -> Change:
    found = {"files": files, "files_changed": len(files), "commits": (MINE,), **fields}
    return Change.model_validate({"start": "b" * 40, "commit": "c" * 40, "tree": "d" * 40, **found})


def call(*commands: str, **fields: Any) -> AgentCall:
    runs = tuple(CommandRun(command=command, failed=False) for command in commands)
    found = {"outcome": AgentOutcome.FINISHED, "exit_code": 0, "seconds": 1, "commands": runs, **fields}
    return AgentCall.model_validate(found)


def check(command: str = "pytest", *, counts: tuple[int, int] | None = (9, 0), **fields: Any) -> CheckReport:
    numbers = None if counts is None else TestCounts(passed=counts[0], failed=counts[1])
    result = {"name": command, "command": command, "passed": False, "exit_code": 1, "seconds": 1, "counts": numbers, **fields}
    return CheckReport(tree="d" * 40, results=(CheckResult.model_validate(result),))


def compared(text: str, **fields: Any) -> tuple[list[str], int]:
    given: dict[str, Any] = {"change": change("src/app.py"), "call": call("pytest"), "worktree": "/w", **fields}
    found, checked = contradictions(Case(claims=read_claims(text, PROMISE), **given))
    return [f"{one.layer}: {one.found}" for one in found], checked


@pytest.mark.parametrize(
    ("text", "fields", "found"),
    [
        ("Updated `never.py`.", {}, "git shows no change in never.py"),
        ("Updated `/w/never.py`.", {"call": call("cat never.py")}, "git shows no change in /w/never.py"),
        ("All tests pass.", {"report": check(counts=(7, 2))}, "check `pytest` failed with 2 failing tests"),
        ("TESTS_STATUS: PASSING", {"report": check("npm test", counts=None)}, "check `npm test` failed"),
        ("Committed as dead123.", {"no_commits": ("dead123",)}, "git has no commit dead123"),
    ],
)
def test_claims_against_the_evidence_are_contradictions(text: str, fields: dict[str, Any], found: str) -> None:
    assert compared(text, **fields) == ([f"contradiction: {found}"], 1)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Updated `app.py`.", {}),
        ("Updated `src/b.py`.", {"call": call(edited=("/w/src/b.py",))}),
        ("All tests pass.", {"report": check("pytest --cov-fail-under=90")}),
        ("Committed as abc1234.", {}),
    ],
)
def test_claims_that_match_the_evidence_hold(text: str, fields: dict[str, Any]) -> None:
    assert compared(text, **fields) == ([], 1)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Updated `b.py`.", {"earlier_files": ("src/b.py",)}),
        ("Updated `b.py`.", {"ignored": ("b.py",)}),
        ("Updated `build/b.py` and `../b.py` and `/tmp/b.py`.", {}),
        ("Updated `b.py`.", {"change": change("src/app.py", files_changed=9)}),
        ("Updated `b.py`.", {"call": call("sed -i s/1/2/ B.py")}),
        ("Updated `b.py`.", {"call": call(untold=("tools",))}),
        ("All tests pass.", {"report": check("ruff check", counts=None)}),
        ("All tests pass.", {"report": check(counts=(1, 1), flaky=("a",))}),
        ("All tests pass.", {"report": None}),
        ("Committed as dead123.", {"no_commits": ("dead123",), "call": call("git commit --amend")}),
    ],
)
def test_claims_with_another_explanation_are_not_compared(text: str, fields: dict[str, Any]) -> None:
    assert compared(text, **fields) == ([], 0)


LEFT = change("a.py", leftovers_committed=True)


@pytest.mark.parametrize(
    ("text", "fields", "found"),
    [
        ("Committed as abc1234.", {"change": LEFT}, "uncommitted: work was left uncommitted, and Helmsman committed it"),
        (PROMISE, {"change": LEFT}, "uncommitted: work was left uncommitted, and Helmsman committed it"),
        ("I go on tomorrow.", {"change": LEFT}, ""),
    ],
)
def test_uncommitted_work_is_a_softer_contradiction(text: str, fields: dict[str, Any], found: str) -> None:
    assert compared(text, **fields)[0] == ([found] if found else [])


HONEST = [
    "I updated `src/app.py` to retry and added `tests/test_app.py`. All tests pass. Committed as abc1234.",
    "## Summary\n\n- **`src/app.py`**: added a retry\n- Updated README.md\n\nI ran `pytest -q` (9 passed) and `ruff check .`.",
    "Changes made:\n1. `src/app.py` (modified)\n2. `tests/test_app.py` (new)\n\nVerification:\n- `pytest` passes",
    "I changed nothing in `src/db.py`; the fix belongs in `src/app.py`, which I updated.",
    "I did not touch `src/legacy.py`. Next I would update `src/cli.py`.\n\n## Next steps\n\n- Updated `src/cli.py`",
    "Updated `.helmsman/progress.md` and `progress.md`. Created `/tmp/try.py` and removed it.",
    "I created `debug.py`, which I reverted afterwards. In the last iteration I updated `src/cli.py`.",
    "I tried to update `src/cli.py`, could not, and reverted it. Two tests fail still in `tests/test_cli.py`.",
    "If `src/db.py` changes, run `make check`. You should have updated `config.yml` by then.",
    "Refactored `src/app.py`, as `src/core.py` did before. Updated `app.py` tests and `db.py` documentation.",
    "---RALPH_STATUS---\nSTATUS: COMPLETE\nFILES_MODIFIED: 4\nTESTS_STATUS: PASSING\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---",
]


def test_an_honest_agent_is_never_contradicted() -> None:
    for text in HONEST:
        worked = {"change": change("src/app.py", "tests/test_app.py", "README.md"), "report": check(passed=True)}
        assert compared(f"{text}\n\n{PROMISE}", **worked)[0] == []


# Which words name files, and which names can mean one file


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("src/app.py:12-30", "src/app.py"),
        ("[`src/a.ts`](src/a.ts#L3)", "src/a.ts"),
        ("README.md's", "README.md"),
        ("Makefile", "Makefile"),
        (".gitignore", ".gitignore"),
        ("`main.js`", "main.js"),
    ],
)
def test_words_that_name_files_are_paths(word: str, path: str) -> None:
    assert as_path(word) == path


def test_ambiguous_words_are_not_paths() -> None:
    words = ("", "`", "makefile", "main.js", "`next.js`", "e.g", "1.2.3", "example.com", "`foo.bar()`", "json.loads", "<name>.py")
    paths = ("https://example.org/a.py", "//x/a.py", "src/*.py", "{a,b}.ts", ".py", "...py", "src/", "`two words.py`")
    assert [word for word in (*words, *paths) if as_path(word)] == []


def test_paths_match_whole_folders_only() -> None:
    known = Paths(["src/app.py", "b.py"])
    assert [path in known for path in ("app.py", "x/src/app.py", "xsrc/app.py", "p.py", "lib/b.py", "")] == [
        *(True, True, False, False, True, False),
    ]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/app.py", True),
        ("src/.env/a.py", True),
        ("a/__pycache__/b.pyc", False),
        ("/w/src/a.py", True),
        ("/w", False),
    ],
)
def test_git_shows_files_of_the_worktree_except_junk(path: str, shown: bool) -> None:
    assert is_visible_to_git(path, "/w") == shown


# Patterns that name paths of a repository


def test_a_pattern_means_what_people_expect() -> None:
    for pattern, path, matches in [
        ("check.sh", "tools/check.sh", True),
        ("tools/*.sh", "tools/deep/check.sh", False),
        ("tools/**", "tools/deep/check.sh", True),
        ("**/conftest.py", "conftest.py", True),
        ("tests/", "my/tests/test_a.py", True),
        ("/tests/", "my/tests/test_a.py", False),
        ("a[b]", "a[b]", True),
        ("./tests/", "my/tests/test_a.py", False),
        ("./check.sh", "tools/check.sh", False),
        ("test_?.py", "test_ab.py", False),
        ("", "a", False),
    ]:
        assert matches_any(path, [pattern]) is matches
