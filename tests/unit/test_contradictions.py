"""What the agent said against what is so, one kind of claim after the other."""

from typing import Any

import pytest

from helmsman.records.checks import CheckResult
from helmsman.records.claims import ClaimLayer, Contradiction
from helmsman.records.evidence import AgentOutcome, Change, CommandRun, Commit
from helmsman.verify.claims.contradictions import contradictions, something_remains
from tests.unit.claim_cases import (
    HELMSMANS,
    MINE,
    NOTHING,
    PROMISE,
    RED,
    call,
    case,
    change,
    check,
    found,
    noted,
    report,
    wrong,
)

pytestmark = pytest.mark.feature("V6")


# files ----------------------------------------------------------------------------------------------------------------


def test_a_claimed_change_that_git_does_not_show_is_contradicted() -> None:
    compared = contradictions(case("I updated `src/db.py`."))
    expected = Contradiction(
        layer=ClaimLayer.CONTRADICTION,
        said="I updated `src/db.py`.",
        found="git shows no change in src/db.py",
        source="last message",
    )
    assert (compared.found, compared.checked, compared.contradicted) == ((expected,), 1, 1)


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py",
        "./src/app.py",
        "app.py",
        "repository/src/app.py",
        "/somewhere/tree/src/app.py",
        "SRC/App.py",
        "src/app.py:12",
    ],
)
def test_a_file_is_found_by_any_way_of_naming_it(path: str) -> None:
    compared = contradictions(case(f"I updated `{path}`.", worktree="/somewhere/tree"))
    assert (compared.found, compared.checked) == ((), 1)


def test_another_file_of_the_same_name_is_another_file() -> None:
    assert wrong("I updated `tests/app.py`.") == ["git shows no change in tests/app.py"]


@pytest.mark.parametrize(
    "fields",
    [
        {"call": call(edited=("/somewhere/tree/src/db.py",))},
        {"call": call("rm src/db.py")},
        {"change": change("src")},
        {"call": call("git mv src/db.py src/new.py")},
        {"change": change("a.py", commits=(Commit(id="1" * 40, subject="Drop db.py again"),))},
        {"change": change("a.py", files_changed=300)},
        {"ignored": ("src",)},
        {"ignored": ("db.*",)},
        {"ignored": ("src/db.py",)},
        {"earlier_files": ("src/db.py",)},
    ],
    ids=["edited", "removed", "submodule", "moved", "commit", "cut", "folder", "pattern", "path", "earlier"],
)
def test_a_change_that_can_be_explained_is_not_contradicted(fields: dict[str, Any]) -> None:
    assert wrong("I updated `src/db.py`.", **fields) == []


@pytest.mark.parametrize(
    "path",
    [
        ".helmsman/progress.md",
        "progress.md",
        "node_modules/x/index.js",
        "dist/app.js",
        "/tmp/x.py",
        "~/notes.md",
        "../other/x.py",
    ],
)
def test_what_git_cannot_show_is_not_compared(path: str) -> None:
    compared = contradictions(case(f"I updated `{path}`.", worktree="/somewhere/tree"))
    assert (compared.found, compared.checked) == ((), 0)


def test_a_command_that_only_reads_a_file_does_not_explain_a_change() -> None:
    commands = call("cat src/db.py", "pytest tests/test_db.py 2>&1", "grep x src/db.py 2>/dev/null")
    assert wrong("I updated `src/db.py`.", call=commands) == ["git shows no change in src/db.py"]


def test_an_absolute_path_inside_the_worktree_is_compared() -> None:
    assert wrong("I updated `/somewhere/tree/src/db.py`.", worktree="/somewhere/tree/") == [
        "git shows no change in /somewhere/tree/src/db.py"
    ]
    assert wrong("I updated `/somewhere/tree/src/db.py`.") == []


@pytest.mark.parametrize(
    ("claimed", "fields", "answer"),
    [
        ("3", {"change": NOTHING}, ["git shows no changed file"]),
        ("1", {"change": NOTHING}, ["git shows no changed file"]),
        ("1", {"change": NOTHING, "call": call("cat > .helmsman/progress.md")}, []),
        ("1", {"change": NOTHING, "call": call(edited=("/w/.helmsman/progress.md",))}, []),
        ("3", {"change": NOTHING, "call": call("echo x > out.bin")}, []),
        ("2", {"change": change("a.py")}, []),
        ("3", {"change": change("a.py")}, []),
        ("4", {"change": change("a.py")}, ["git shows 1 changed file"]),
        ("5", {"change": change("a.py", "b.py")}, []),
        ("6", {"change": change("a.py", "b.py")}, ["git shows 2 changed files"]),
        ("1", {"change": change("a.py", "b.py", "c.py")}, []),
        ("300", {"change": change("a.py", files_changed=300)}, []),
    ],
)
def test_a_number_of_files_is_wrong_where_it_is_far_beyond_what_was_seen(
    claimed: str, fields: dict[str, Any], answer: list[str]
) -> None:
    assert wrong(f"Modified {claimed} files.", **fields) == answer
    assert wrong(f"FILES_MODIFIED: {claimed}", **fields) == answer


# tests ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["All tests pass.", "TESTS_STATUS: PASSING", "`pytest` passes.", "`python -m pytest -q` passes."]
)
def test_passing_tests_are_contradicted_by_a_check_that_failed(text: str) -> None:
    assert wrong(text, report=RED) == ["check `pytest` failed with 2 failing tests"]


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ("All tests pass.", check(passed=False, counts=None)),
        ("All tests pass.", check("sh ci.sh", passed=False, counts=(3, 1))),
        ("`npm run build` succeeds.", check("npm run build", passed=False, counts=None)),
        ("`pytest` passes.", check("pytest tests/unit", passed=False, counts=(3, 1))),
        ("`make check` is green.", check("make check", passed=False, counts=(3, 0))),
    ],
)
def test_the_same_command_or_a_check_with_tests_contradicts(text: str, failing: CheckResult) -> None:
    assert len(wrong(text, report=report(failing))) == 1


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("All tests pass.", check("ruff check", passed=False, counts=None)),
        ("All tests pass.", check("pytest --cov-fail-under=90", passed=False, counts=(9, 0))),
        ("`pytest` passes.", check("pytest --cov-fail-under=90", passed=False, counts=(9, 0))),
        ("All tests pass.", check(passed=False, counts=None, timed_out=True, exit_code=None)),
        ("All tests pass.", check(passed=False, counts=None, error="not found", exit_code=None)),
        ("`pytest tests/unit` passes.", check("pytest", passed=False, counts=(5, 1))),
        ("`pytest -k dates` passes.", check("pytest", passed=False, counts=(5, 1))),
        ("`ruff check .` passes.", check("pytest", passed=False, counts=(5, 1))),
        ("`make` succeeds, `npm test` passes.", check("make lint", passed=False, counts=None)),
    ],
)
def test_a_check_that_failed_for_another_reason_contradicts_nothing(text: str, result: CheckResult) -> None:
    assert wrong(text, report=report(result)) == []


def test_without_checks_the_agent_s_own_last_run_speaks() -> None:
    once = call("npm test", "git status", failed=("npm test",))
    assert wrong("`npm test` passes.", report=None, call=once) == ["`npm test` failed when the agent ran it last"]
    assert wrong("`npm test` passes.", report=report(check("npm run test")), call=once) == []


@pytest.mark.parametrize(
    "commands",
    [
        (("npm test", True), ("npm test", False)),
        (("npm test", True), ("npm test -- --ci", False)),
        (("npm test", True), ("make check", False)),
        (("npm test; git diff --exit-code", True),),
        (("npm test | tail -5", True),),
        (("npm test -- tests/broken.js", True),),
        ((f"npm test && {'x' * 300}"[:300], True),),
    ],
)
def test_a_failure_that_may_be_another_s_or_was_mended_contradicts_nothing(commands: tuple[tuple[str, bool], ...]) -> None:
    runs = tuple(CommandRun(command=command, failed=failed) for command, failed in commands)
    assert wrong("`npm test` passes.", report=None, call=call(commands=runs)) == []


# commands -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["I ran `npm test`.", "I ran the full test suite.", "I ran pytest."])
@pytest.mark.parametrize("commands", [(), ("ls -la", "cd src && cat app.py", "git commit -am x")])
def test_a_test_run_is_contradicted_where_no_command_could_have_run_tests(text: str, commands: tuple[str, ...]) -> None:
    assert wrong(text, call=call(*commands)) == ["no command that could run tests was run"]


@pytest.mark.parametrize(
    "fields",
    [
        {"call": call("make")},
        {"call": call("./ci.sh")},
        {"call": call("cd app && CI=1 npx jest --ci 2>&1 | tail")},
        {"call": call("ls " * 100)},
        {"call": call(*["ls"] * 50)},
        {"call": call("ls", tools=(("Bash", 1), ("Task", 1)))},
        {"call": call("ls", tools=(("Bash", 1), ("mcp__ide__execute", 1)))},
        {"call": call("ls", tools=(("Bash", 2),))},
    ],
    ids=["make", "script", "other runner", "cut", "many", "subagent", "other tool", "no result"],
)
def test_a_test_run_that_cannot_be_ruled_out_is_not_contradicted(fields: dict[str, Any]) -> None:
    assert wrong("I ran `npm test`.", **fields) == []


def test_that_a_command_failed_contradicts_only_who_asks_to_be_done() -> None:
    failed = call("pytest", failed=("pytest",))
    assert wrong("I ran `pytest`.", call=failed, report=None) == []
    assert wrong(f"I ran `pytest`.\n\n{PROMISE}", call=failed, report=None) == ["`pytest` failed when it was run last"]
    assert wrong(f"I ran `pytest`.\n\n{PROMISE}", call=failed) == []


def test_a_command_that_is_no_test_is_never_missed() -> None:
    assert contradictions(case("I ran `ruff check .`.", call=call("ls"))).checked == 0
    assert contradictions(case("I ran `ruff check .`.", call=call("uv run ruff format ."))).checked == 0
    assert contradictions(case("I ran `ruff check .`.", call=call("uv run ruff check"))).checked == 1


# commits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["Committed as abc1234.", "Committed the changes.", f"Committed as {MINE.id}.", "Committed as bbbbbbb1."]
)
def test_a_commit_that_git_shows_holds(text: str) -> None:
    assert wrong(text, change=change("a.py", start="bbbbbbb1" + "0" * 32)) == []


def test_a_commit_id_that_git_does_not_show_is_contradicted() -> None:
    assert wrong("Committed as dead123.") == ["dead123 is not among the 1 commit of this iteration"]


@pytest.mark.parametrize(
    "fields",
    [
        {"call": call("git commit --amend --no-edit")},
        {"call": call("git rebase main")},
        {"change": change("a.py", commits=(MINE,) * 50)},
        {"earlier_commits": ("dead123" + "0" * 33,)},
    ],
)
def test_an_id_that_may_have_been_rewritten_or_cut_off_is_not_compared(fields: dict[str, Any]) -> None:
    assert wrong("Committed as dead123.", **fields) == []


def test_who_says_that_it_committed_and_did_not_is_contradicted() -> None:
    assert found("Committed the changes.", change=NOTHING) == [("contradiction", "git shows no commit in this iteration")]


@pytest.mark.parametrize("text", ["Committed the changes.", f"All is well.\n\n{PROMISE}", "EXIT_SIGNAL: true"])
def test_work_that_was_left_uncommitted_is_a_layer_of_its_own(text: str) -> None:
    left = change("a.py", commits=(HELMSMANS,), leftovers_committed=True)
    assert found(text, change=left) == [("uncommitted", "work was left uncommitted, and Helmsman committed it")]


def test_work_that_was_left_uncommitted_in_mid_work_is_nothing() -> None:
    assert found("I go on tomorrow.", change=change("a.py", commits=(HELMSMANS,), leftovers_committed=True)) == []


# items and signals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "text", "of", "answer"),
    [
        ("Implemented the parser", PROMISE, NOTHING, ["nothing was changed in this iteration"]),
        ("Implemented the parser", "I go on tomorrow.", NOTHING, []),
        ("Implemented the parser", PROMISE, change("a.py"), []),
        ("Verified that all tests pass", PROMISE, NOTHING, []),
        ("Implemented the parser (in an earlier iteration)", PROMISE, NOTHING, []),
    ],
)
def test_an_item_without_any_change_counts_only_with_a_request_to_be_done(
    item: str, text: str, of: Change, answer: list[str]
) -> None:
    assert wrong(text, before=noted(), memory=noted(item), change=of) == answer


def test_reported_tasks_without_any_change_count_only_where_they_were_to_change_something() -> None:
    status = "TASKS_COMPLETED_THIS_LOOP: 2\nEXIT_SIGNAL: true\nWORK_TYPE: "
    assert wrong(f"{status}IMPLEMENTATION", change=NOTHING) == ["nothing was changed in this iteration"]
    assert wrong(f"{status}TESTING", change=NOTHING) == []


@pytest.mark.parametrize(
    ("text", "gap", "answer"),
    [
        (f"STATUS: IN_PROGRESS\nFILES_MODIFIED: 1\n\n{PROMISE}", "", "its status says in_progress"),
        (f"STATUS: BLOCKED\nFILES_MODIFIED: 1\n\n{PROMISE}", "", "its status says blocked"),
        (f"EXIT_SIGNAL: false\n\n{PROMISE}", "", "its EXIT_SIGNAL says false"),
        (PROMISE, "Escapes in strings are not parsed yet.", "REMAINING_GAP says: Escapes in strings are not parsed yet"),
    ],
)
def test_who_asks_to_be_done_with_something_open_left_it_unticked(text: str, gap: str, answer: str) -> None:
    assert found(text, memory=noted(gap=gap)) == [("unticked", answer)]


@pytest.mark.parametrize(
    "gap",
    [
        *(
            "",
            "-",
            "- ",
            "None",
            "none.",
            "**None**",
            "- None",
            "N/A",
            "n/a",
            "nothing",
            "Nothing left.",
            "No gap",
            "All done.",
            "0",
        ),
        *("Everything is implemented.", "Done", "Goal reached; the checks decide.", "- [x] parser\n- [x] printer", "~~parser~~"),
        *(
            "Optional: faster start",
            "Nice to have: colours",
            "(none)",
            "Complete.",
            "Awaiting verification",
            "<!-- nothing -->",
            "…",
        ),
    ],
)
def test_a_gap_that_is_closed_or_unclear_leaves_nothing(gap: str) -> None:
    assert not something_remains(gap)


@pytest.mark.parametrize("gap", ["Parser lacks escapes", "- [ ] printer", "2 tests fail", "The printer", "Still to do: printer"])
def test_a_gap_that_names_work_says_that_something_remains(gap: str) -> None:
    assert something_remains(gap)


@pytest.mark.parametrize(
    ("text", "gap", "ended", "said"),
    [
        ("STATUS: COMPLETE\nFILES_MODIFIED: 1", "", AgentOutcome.FINISHED, ["STATUS: complete"]),
        ("STATUS: COMPLETE\nEXIT_SIGNAL: false", "", AgentOutcome.FINISHED, ["STATUS: complete"]),
        ("I am through.", "None.", AgentOutcome.FINISHED, ["REMAINING_GAP: None."]),
        ("I am through.", "", AgentOutcome.FINISHED, []),
        ("I am through.", "None.", AgentOutcome.MAX_TURNS, []),
        (f"STATUS: COMPLETE\nFILES_MODIFIED: 1\n\n{PROMISE}", "None", AgentOutcome.FINISHED, []),
        ("STATUS: IN_PROGRESS\nFILES_MODIFIED: 1", "the printer", AgentOutcome.FINISHED, []),
    ],
)
def test_who_calls_it_complete_and_does_not_ask_lacks_the_signal(
    text: str, gap: str, ended: AgentOutcome, said: list[str]
) -> None:
    compared = contradictions(case(text, memory=noted(gap=gap), call=call(outcome=ended)))
    assert [one.said for one in compared.found] == said
    assert all(one.layer is ClaimLayer.MISSING_SIGNAL for one in compared.found)
    assert compared.contradicted == 0
