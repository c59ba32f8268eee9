"""What a session remembers, when a repetition is one, and that no input makes the guard rails raise."""

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.guardrails import Advise, Allow, Deny, Rule, Rules, Session, ToolCall, after, before, judge
from helmsman.orient.guardrails.lexing import tokens
from helmsman.orient.guardrails.paths import matches_any
from helmsman.orient.guardrails.shell import UNKNOWN, read
from helmsman.orient.guardrails.tool_calls import KEPT_CALLS

pytestmark = pytest.mark.feature("A2")

TREE = "/nest/dev/parser"
RULES = Rules(TREE, protected=("tests/**",), start="3f2a9c1d7e5b")
EDIT = ToolCall("Edit", {"file_path": f"{TREE}/src/a.py"}, TREE)


def bash(command: str, cwd: str = TREE, **more: Any) -> ToolCall:
    return ToolCall("Bash", {"command": command, **more}, cwd)


def ran(session: Session, call: ToolCall, failed: bool = False, changed: bool = False) -> Session:
    return after(before(session, call), call, failed=failed, changed=changed)


def session_of(*calls: ToolCall | str) -> Session:
    made = (bash(call) if isinstance(call, str) else call for call in calls)
    return reduce(ran, made, Session(TREE))


# repetition -----------------------------------------------------------------------------------------------------------


def test_the_third_same_command_is_denied_and_says_how_often_it_ran() -> None:
    once, twice = session_of("pytest -q"), session_of("pytest -q", "pytest -q")
    assert judge(bash("pytest -q"), once, RULES) == Allow()
    answer = judge(bash("pytest -q"), twice, RULES)
    assert isinstance(answer, Deny)
    assert answer.rule is Rule.REPEATED
    assert "twice" in answer.reason


def test_the_second_same_command_is_denied_at_the_highest_level() -> None:
    assert isinstance(judge(bash("pytest -q"), session_of("pytest -q"), Rules(TREE, level=2)), Deny)


@pytest.mark.parametrize("level", [-1, 3, 10**6])
def test_a_level_beyond_the_table_is_the_nearest_in_it(level: int) -> None:
    answer = judge(bash("pytest -q"), session_of("pytest -q"), Rules(TREE, level=level))
    assert isinstance(answer, Deny) is (level > 0)


def test_a_denied_command_stays_denied_until_something_changes() -> None:
    stuck = reduce(before, [bash("make check")] * 5, Session(TREE))
    assert isinstance(judge(bash("make check"), stuck, RULES), Deny)
    assert judge(bash("make check"), ran(stuck, EDIT), RULES) == Allow()


@pytest.mark.parametrize(
    "same", ["pytest  -q", " pytest -q ", "pytest -q;", "pytest -q && true", "pytest -q || true ;", f"cd {TREE} && pytest -q"]
)
def test_another_spelling_is_the_same_command(same: str) -> None:
    assert isinstance(judge(bash(same), session_of("pytest -q", "pytest -q"), RULES), Deny)


def test_a_path_with_and_without_the_worktree_is_the_same() -> None:
    assert isinstance(judge(bash(f"pytest {TREE}/tests"), session_of("pytest tests", "pytest tests"), RULES), Deny)


@pytest.mark.parametrize("other", ["pytest -q -x", "pytest -q | tail", "make"])
def test_another_command_is_not_the_same(other: str) -> None:
    assert judge(bash(other), session_of("pytest -q", "pytest -q"), RULES) == Allow()


def test_the_same_words_in_another_folder_are_not_the_same() -> None:
    assert judge(bash("pytest -q", f"{TREE}/api"), session_of("pytest -q", "pytest -q"), RULES) == Allow()


@pytest.mark.parametrize(
    "change",
    [
        "sed -i s/a/b/ src/a.py",
        "git stash",
        "echo x > a.py",
        "mv a b",
        "npm install x",
        "ruff check --fix",
        "kill $!",
        "go mod tidy",
    ],
)
def test_a_command_that_changes_something_lets_others_run_again(change: str) -> None:
    assert judge(bash("pytest -q"), session_of("pytest -q", "pytest -q", change), RULES) == Allow()


@pytest.mark.parametrize("look", ["ls", "git diff", "cat a", "pytest -x", "npm test", "sed -n 1,5p a", "ls 2>/dev/null"])
def test_a_command_that_changes_nothing_does_not(look: str) -> None:
    assert isinstance(judge(bash("pytest -q"), session_of("pytest -q", "pytest -q", look), RULES), Deny)


def test_a_command_that_changes_something_does_not_excuse_itself() -> None:
    same = "sed -i s/a/b/ a.py && pytest"
    assert isinstance(judge(bash(same), session_of(same, same), RULES), Deny)


def test_an_edit_that_failed_changes_nothing() -> None:
    session = ran(session_of("pytest -q", "pytest -q"), EDIT, failed=True)
    assert isinstance(judge(bash("pytest -q"), session, RULES), Deny)
    assert judge(bash("pytest -q"), ran(session, bash("ls"), changed=True), RULES) == Allow()


def test_a_denial_of_a_failing_command_says_that_it_failed() -> None:
    session = reduce(lambda now, call: ran(now, call, failed=True), [bash("make")] * 2, Session(TREE))
    answer = judge(bash("make"), session, RULES)
    assert isinstance(answer, Deny)
    assert "it failed" in answer.reason


@pytest.mark.parametrize(
    "call",
    [
        *map(
            bash,
            ["git status", "git diff | head", "ls -la", "cat a", "pwd", "cd src && ls", "sleep 5; curl -s localhost", "jobs"],
        ),
        ToolCall("Read", {"file_path": "/a"}, TREE),
        ToolCall("Grep", {"pattern": "x"}, TREE),
        ToolCall("Glob", {"pattern": "*"}, TREE),
    ],
)
def test_a_repeated_look_is_advised_on_and_never_denied(call: ToolCall) -> None:
    session = session_of(*[call] * 9)
    answer = judge(call, session, RULES)
    assert isinstance(answer, Advise)
    assert answer.rule is Rule.REPEATED_LOOK
    assert judge(call, session_of(*[call] * 2), RULES) == Allow()


@pytest.mark.parametrize("tool", ["TodoWrite", "Task", "BashOutput", "mcp__a__b", ""])
def test_other_tools_may_be_repeated(tool: str) -> None:
    call = ToolCall(tool, {"a": 1}, TREE)
    assert judge(call, session_of(*[call] * 9), RULES) == Allow()


# what else is remembered ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "command", "denied"),
    [
        ([], "git commit --amend", True),
        (["git commit -m a"], "git commit --amend", False),
        (["git commit -m a", "git reset --hard HEAD~1"], "git commit --amend", True),
        (["git commit -m a", "git commit --amend"], "git reset --hard HEAD~1", False),
        (["git commit -m a", "git commit --amend"], "git reset --hard HEAD~2", True),
        (["git commit -m a", "git commit -m b"], "git rebase -i HEAD~2", False),
        (["cd /tmp/x && git init && git commit -m a"], "git commit --amend", True),
        (["git commit -m a", "cd /tmp/x && git reset --hard HEAD~3"], "git commit --amend", False),
        (["git commit -m a", 'cd "$X" && git reset --hard HEAD~3'], "git commit --amend", False),
        (['cd "$(git rev-parse --show-toplevel)" && git commit -m a'], "git commit --amend", False),
        (["git revert --abort"], "git commit --amend", True),
        (["git checkout -b try"], "git branch -D try", False),
        (["git switch -c try"], "git branch -D try", False),
        (["git checkout -b try"], "git branch -D other", True),
        (["git checkout -b try"], "git branch -f try HEAD~1", False),
        (["git checkout -b try"], "git branch -m try done", False),
        ([], "kill 99", True),
        (["./server &"], "kill 99", False),
        (["nohup ./server"], "kill 99", False),
        ([bash("./server", run_in_background=True)], "kill -TERM 99", False),
        (["./server &"], "kill -9 -1", True),
    ],
)
def test_what_a_session_made_it_may_undo(calls: list[ToolCall | str], command: str, denied: bool) -> None:
    assert isinstance(judge(bash(command), session_of(*calls), RULES), Deny) is denied


def test_a_commit_that_failed_does_not_count() -> None:
    session = ran(Session(TREE), bash("git commit -m a"), failed=True)
    assert isinstance(judge(bash("git commit --amend"), session, RULES), Deny)


def test_what_a_session_remembers_is_bounded() -> None:
    session = session_of(*(f"./run {number}" for number in range(KEPT_CALLS + 50)), *(f"git branch b{n}" for n in range(100)))
    assert len(session.seen) <= KEPT_CALLS
    assert len(session.branches) == 50


# the reader -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("a b;c", [("a", "b"), ("c",)]),
        ("a 'b;c' \"d&&e\" f\\;g", [("a", "b;c", "d&&e", "f;g")]),
        ("a # b; c\nd", [("a",), ("d",)]),
        ("a#b", [("a#b",)]),
        ("a ''", [("a", "")]),
        ("cat <<A <<-B\n$(x)\nA\n\ty\n\tB\nz", [("cat",), ("z",)]),
        ("X=1; a $X ${X} $Y", [("a", "1", "1", UNKNOWN)]),
        ("a '$X'", [("a", "$X")]),
        ("a $'x\\n'", [("a", "x\\n")]),
        ("a $((1 + (2)))b", [("a", f"{UNKNOWN}b")]),
        ("a 2>&1 >b 3<c", [("a",)]),
        ("a\r\nb", [("a",), ("b",)]),
    ],
)
def test_a_script_is_read_as_the_shell_reads_it(script: str, words: list[tuple[str, ...]]) -> None:
    assert [command.words for command in read(script, TREE) if command.words] == words


def test_the_value_of_a_variable_is_not_doubled_for_ever() -> None:
    doubling = "X=aaaaaaaaaa;" + "X=$X$X;" * 2000 + "echo $X"
    assert sum(len(word) for command in read(doubling, TREE) for word in command.words) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 9000,
        "`" * 19999,
        "(" * 20000,
        "'" * 19999,
        '"$(' * 6000,
        "<<A\n" * 5000,
        "sh -c " * 3000,
        "eval " * 4000,
        "find . -exec " * 1500,
        "env " * 5000,
        "\\`" * 9000,
        "${" * 9000,
        "a|" * 9000,
        "git commit;" * 1800,
        "a && " * 4000,
        "x=$x$x " * 2500,
    ],
)
def test_a_text_made_to_be_slow_is_read_all_the_same(text: str) -> None:
    assert judge(bash(text), Session(TREE), RULES) is not None


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("tests/", "tests/unit/a.py", True),
        ("tests/", "my/tests/a.py", True),
        ("/tests/", "my/tests/a.py", False),
        ("tests/**", "tests/a/b.py", True),
        ("tests/**", "src/tests/a.py", False),
        ("**/conftest.py", "conftest.py", True),
        ("**/conftest.py", "a/b/conftest.py", True),
        ("a/**/b/**/c", "a/b/c", True),
        ("*.lock", "a/uv.lock", True),
        ("src/*.py", "src/a/b.py", False),
        ("a[1].py", "a[1].py", True),
        ("**/" * 30 + "x", "a/" * 200 + "y", False),
    ],
)
def test_a_glob_means_what_people_expect(glob: str, path: str, matches: bool) -> None:
    assert matches_any(path, [glob]) is matches


# laws -----------------------------------------------------------------------------------------------------------------

SHELLISH = st.lists(
    st.sampled_from(
        [
            "git",
            "push",
            "rm",
            "-rf",
            "cd",
            "..",
            "/",
            "~",
            "$HOME",
            "$(",
            ")",
            "`",
            "'",
            '"',
            "\\",
            ";",
            "&&",
            "|",
            "\n",
            ">",
            "<<",
            "EOF",
            "find",
            "-exec",
            "{}",
            "sh",
            "-c",
            "eval",
            "X=",
            "$X",
            "kill",
            "-9",
            "{",
            "}",
            "(",
            "\x00",
            "�",
            "  ",
            "é",
            "*",
        ]
    ),
    max_size=40,
).map("".join) | st.text(max_size=200)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.integers(0, 9).map(lambda more: 10**5000 + more),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=5,
)
TOOLS = st.sampled_from(["Bash", "Write", "Edit", "NotebookEdit", "Read"]) | ANYTHING
ARGUMENTS = ANYTHING | st.dictionaries(st.sampled_from(["command", "file_path", "notebook_path"]), ANYTHING | SHELLISH)


@given(TOOLS, ARGUMENTS, ANYTHING, st.booleans(), st.booleans())
def test_no_call_makes_it_raise(tool: Any, arguments: Any, cwd: Any, failed: bool, changed: bool) -> None:
    call = ToolCall(tool, arguments, cwd)
    session = ran(before(Session(TREE), call), call, failed, changed)
    assert isinstance(judge(call, session, RULES), Allow | Deny | Advise)


@given(SHELLISH)
def test_no_script_makes_it_raise(text: str) -> None:
    assert isinstance(judge(bash(text), session_of(text), RULES), Allow | Deny | Advise)


@given(SHELLISH)
def test_a_text_in_single_quotes_is_data(text: str) -> None:
    quoted = text.replace("'", "").replace("\0", "")
    assert [command.program for command in read(f"echo '{quoted}'", TREE)] == ["echo"]
    assert len(tokens(f"echo '{quoted}'")) == 2
    assert judge(bash(f"echo '{quoted}'"), Session(TREE), RULES) == Allow()


@given(SHELLISH)
def test_a_here_document_in_quotes_is_data(text: str) -> None:
    body = text.replace("EOF", "")
    assert judge(bash(f"cat <<'EOF'\n{body}\nEOF"), Session(TREE), RULES) == Allow()


@given(st.text())
def test_a_push_is_found_behind_any_plain_comment(text: str) -> None:
    comment = text.replace("\n", "")
    assert isinstance(judge(bash(f"ls # {comment}\ngit push"), Session(TREE), RULES), Deny)
