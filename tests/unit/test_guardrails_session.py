"""What a session remembers, when a repetition is one, and that no input makes the guard rails raise."""

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails import Advise, Allow, Deny, Rule, Rules, Session, ToolCall, evaluate, record_call, record_result

pytestmark = pytest.mark.feature("A2")

TREE = "/nest/dev/parser"
RULES = Rules(TREE, protected=("tests/**",), start="3f2a9c1d7e5b")
EDIT = ToolCall("Edit", {"file_path": f"{TREE}/src/a.py"}, TREE)


def bash(command: str, cwd: str = TREE, **more: Any) -> ToolCall:
    return ToolCall("Bash", {"command": command, **more}, cwd)


def ran(session: Session, call: ToolCall, failed: bool = False, changed: bool = False, outcome: str = "") -> Session:
    return record_result(record_call(session, call), call, failed=failed, changed=changed, outcome=outcome)


def session_of(*calls: ToolCall | str) -> Session:
    return reduce(ran, (bash(call) if isinstance(call, str) else call for call in calls), Session(TREE))


def answer(call: ToolCall | str, *before_it: ToolCall | str, level: int = 0) -> Rule | None:
    call = bash(call) if isinstance(call, str) else call
    judgement = evaluate(call, session_of(*before_it), Rules(TREE, level=level, start=RULES.start))
    return None if isinstance(judgement, Allow) else judgement.rule


TWICE = ("pytest -q", "pytest -q")


def test_the_third_same_command_is_denied_and_says_how_often_it_ran_and_what_came_of_it() -> None:
    assert answer("pytest -q", "pytest -q") is None
    denied = evaluate(bash("pytest -q"), session_of(*TWICE), RULES)
    assert isinstance(denied, Deny)
    assert (denied.rule, "twice" in denied.reason, "it failed" in denied.reason) == ("repeated", True, False)
    failed = reduce(lambda now, call: ran(now, call, failed=True), [bash("make")] * 2, Session(TREE))
    again = evaluate(bash("make"), failed, RULES)
    assert isinstance(again, Deny)
    assert "it failed" in again.reason


def test_a_denied_repetition_stays_denied_until_a_change() -> None:
    stuck = reduce(record_call, [bash("make check")] * 5, Session(TREE))
    assert isinstance(evaluate(bash("make check"), stuck, RULES), Deny)
    assert evaluate(bash("make check"), ran(stuck, EDIT), RULES) == Allow()


def test_spelling_does_not_make_a_command_different() -> None:
    same = ("pytest  -q", " pytest -q ", "pytest -q;", "pytest -q && true", "pytest -q || true ;", f"cd {TREE} && pytest -q")
    assert [answer(one, *TWICE) for one in same] == ["repeated"] * 6
    assert answer(f"pytest {TREE}/tests", "pytest tests", "pytest tests") == "repeated"
    others = ("pytest -q -x", "pytest -q | tail", "make", bash("pytest -q", f"{TREE}/api"))
    assert [answer(one, *TWICE) for one in others] == [None] * 4


CHANGES = (
    "sed -i s/a/b/ src/a.py", "git stash", "echo x > a.py", "mv a b", "npm install x", "ruff check --fix", "kill $!",
    "go mod tidy", "python scripts/codemod.py", "npm run codegen", "node tools/migrate.mjs",
    "python3 - <<'E'\nopen(f, 'w')\nE", "sh gen.sh",
)  # fmt: skip
LOOKS = (
    "ls", "git diff", "cat a", "pytest -x", "npm test", "sed -n 1,5p a", "ls 2>/dev/null", "npm run test", "npm run typecheck",
    "python tests/run_tests.py", "python check.py", "pnpm exec tsc", "git stash list",
)  # fmt: skip


def test_a_command_that_changes_something_lets_others_run_again_and_one_that_looks_does_not() -> None:
    assert [change for change in CHANGES if answer("pytest -q", *TWICE, change)] == []
    assert [look for look in LOOKS if answer("pytest -q", *TWICE, look) != "repeated"] == []
    same = "sed -i s/a/b/ a.py && pytest"
    assert answer(same, same, same) == "repeated"


@pytest.mark.parametrize(
    "call",
    [
        *map(bash, ["git status", "git diff | head", "ls -la", "pwd", "cd src && ls", "sleep 5; curl -s localhost", "jobs"]),
        ToolCall("Read", {"file_path": "/a"}, TREE),
        ToolCall("Grep", {"pattern": "x"}, TREE),
        ToolCall("Glob", {"pattern": "*"}, TREE),
    ],
)
def test_a_repeated_look_is_advised_on_and_never_denied(call: ToolCall) -> None:
    assert isinstance(evaluate(call, session_of(*[call] * 9), RULES), Advise)
    assert (answer(call, *[call] * 9), answer(call, *[call] * 2)) == ("repeated_look", None)


UNDONE: tuple[tuple[tuple[ToolCall | str, ...], str, bool], ...] = (
    ((), "git commit --amend", True),
    (("git commit -m a",), "git commit --amend", False),
    (("git commit -m a", "git reset --hard HEAD~1"), "git commit --amend", True),
    (("git commit -m a", "git commit --amend"), "git reset --hard HEAD~2", True),
    (("git commit -m a", "git commit -m b"), "git rebase -i HEAD~2", False),
    (("cd /tmp/x && git init && git commit -m a",), "git commit --amend", True),
    (("git commit -m a", "cd /tmp/x && git reset --hard HEAD~3"), "git commit --amend", False),
    (("git commit -m a", 'cd "$X" && git reset --hard HEAD~3'), "git commit --amend", False),
    (('cd "$(git rev-parse --show-toplevel)" && git commit -m a',), "git commit --amend", False),
    (("git revert --abort",), "git commit --amend", True),
    (("git checkout -b try",), "git branch -D try", False),
    (("git checkout -b try",), "git branch -D other", True),
    (("git checkout -b try",), "git branch -m try done", False),
    ((), "kill 99", True),
    (("./server &",), "kill 99", False),
    ((bash("./server", run_in_background=True),), "kill -TERM 99", False),
    (("./server &",), "kill -9 -1", True),
)


def test_what_a_session_made_it_may_undo() -> None:
    assert [row for row in UNDONE if (answer(row[1], *row[0]) is not None) is not row[2]] == []
    failed = ran(Session(TREE), bash("git commit -m a"), failed=True)
    assert isinstance(evaluate(bash("git commit --amend"), failed, RULES), Deny)


def test_what_a_session_remembers_is_bounded() -> None:
    session = session_of(*(f"./run {number}" for number in range(250)), *(f"git branch b{n}" for n in range(100)))
    assert (len(session.seen), len(session.branches)) == (200, 50)


# laws -----------------------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.integers(0, 9).map(lambda n: 10**5000 + n),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=5,
)
TOOLS = st.sampled_from(["Bash", "Write", "Edit", "NotebookEdit", "Read"]) | ANYTHING
ARGUMENTS = ANYTHING | st.dictionaries(st.sampled_from(["command", "file_path", "notebook_path", "edits"]), ANYTHING)


@given(TOOLS, ARGUMENTS, ANYTHING, st.booleans(), st.booleans())
def test_any_call_is_classified(tool: Any, arguments: Any, cwd: Any, failed: bool, changed: bool) -> None:
    call = ToolCall(tool, arguments, cwd)
    session = ran(record_call(Session(TREE), call), call, failed, changed)
    assert isinstance(evaluate(call, session, RULES), Allow | Deny | Advise)
