"""What a session remembers, when a repetition is one, and that no input makes the guard rails raise."""

from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails import Advise, Allow, Deny, Rule, Rules, Session, ToolCall, evaluate, is_fix, record_call, record_result

pytestmark = pytest.mark.feature("A2")

TREE = "/nest/dev/parser"
RULES = Rules(TREE, protected=("tests/**",), start="3f2a9c1d7e5b")
EDIT = ToolCall("Edit", {"file_path": f"{TREE}/src/a.py"}, TREE)


def bash(command: str, cwd: str = TREE, **more: Any) -> ToolCall:
    return ToolCall("Bash", {"command": command, **more}, cwd)


def run_call(session: Session, call: ToolCall, failed: bool = False, changed: bool = False, outcome: str = "") -> Session:
    return record_result(record_call(session, call), call, failed=failed, changed=changed, outcome=outcome)


def session_of(*calls: ToolCall | str) -> Session:
    return reduce(run_call, (bash(call) if isinstance(call, str) else call for call in calls), Session(TREE))


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
    failed = reduce(lambda now, call: run_call(now, call, failed=True), [bash("make")] * 2, Session(TREE))
    again = evaluate(bash("make"), failed, RULES)
    assert isinstance(again, Deny)
    assert "it failed" in again.reason


def test_a_denied_repetition_stays_denied_until_a_change() -> None:
    stuck = reduce(record_call, [bash("make check")] * 5, Session(TREE))
    assert isinstance(evaluate(bash("make check"), stuck, RULES), Deny)
    assert evaluate(bash("make check"), run_call(stuck, EDIT), RULES) == Allow()


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
    failed = run_call(Session(TREE), bash("git commit -m a"), failed=True)
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
TOOLS = st.sampled_from(["Bash", "Write", "Edit", "NotebookEdit", "Read"]) | st.text()
ARGUMENTS = st.dictionaries(st.sampled_from(["command", "file_path", "notebook_path", "edits"]), ANYTHING)


@given(TOOLS, ARGUMENTS, st.text(), st.booleans(), st.booleans())
def test_any_call_is_classified(tool: str, arguments: dict[str, Any], cwd: str, failed: bool, changed: bool) -> None:
    call = ToolCall(tool, arguments, cwd)
    session = run_call(record_call(Session(TREE), call), call, failed, changed)
    assert isinstance(evaluate(call, session, RULES), Allow | Deny | Advise)


# --- rules about the work itself ------------------------------------------------------------------------------------

SHOP = "/nest/dev/shop"
THERE = {f"{SHOP}/tests/test_shop.py", f"{SHOP}/shop.py"}
FIX = Rules(SHOP, exists=THERE.__contains__, fix=True, tests="tests/test_shop.py".__eq__)


def edit(path: str, old: str, new: str, **more: Any) -> ToolCall:
    return ToolCall("Edit", {"file_path": f"{SHOP}/{path}", "old_string": old, "new_string": new, **more}, SHOP)


def work_rule(call: ToolCall, rules: Rules = FIX) -> tuple[type, Rule | None]:
    answer = evaluate(call, Session(SHOP), rules)
    return type(answer), None if isinstance(answer, Allow) else answer.rule


@pytest.mark.parametrize(
    "call",
    [
        edit("tests/test_shop.py", "assert total([1]) == 1", "assert total([1])"),
        edit("tests/test_shop.py", "def test_total(): ...", ""),
        ToolCall("MultiEdit", {"file_path": "tests/test_shop.py", "edits": [{"old_string": "3", "new_string": "4"}]}, SHOP),
        bash("sed -i 's/== 3/== 4/' tests/test_shop.py", SHOP),
        bash("rm tests/test_shop.py", SHOP),
        bash("git rm -q tests/test_shop.py", SHOP),
        bash("git -C tests rm test_shop.py", SHOP),
    ],
)
def test_removing_content_of_a_judging_test_is_denied(call: ToolCall) -> None:
    assert work_rule(call) == (Deny, "judging_tests")
    assert work_rule(call, replace(FIX, fix=False)) == (Allow, None)


@pytest.mark.parametrize(
    "call",
    [
        edit("tests/test_shop.py", "def test_total(): ...", "def test_total(): ...\n\ndef test_more(): ..."),
        edit("tests/test_new.py", "", "def test_new(): ..."),
        ToolCall("Write", {"file_path": f"{SHOP}/tests/test_new.py", "content": "def test_new(): ..."}, SHOP),
        bash("cat >> tests/test_shop.py <<'END'\ndef test_more(): ...\nEND", SHOP),
        bash("git checkout -- tests/test_shop.py", SHOP),
        bash("pytest tests/test_shop.py", SHOP),
        edit("shop.py", "return 1", "return 2"),
    ],
)
def test_adding_or_restoring_tests_is_allowed(call: ToolCall) -> None:
    assert work_rule(call) == (Allow, None)


FIXES = (
    "Fix the discount so that the sum is right",
    "# Task\n\nfix the race in the queue",
    "Get all our checks green",
    "make the tests pass",
    "Fix what makes the checkout fail.\nAdd a test for it.",
    "fix " * 100_000,
)
OTHER_GOALS = (
    "",
    "The shop crashes when the cart is empty",
    "Add crash reporting",
    "Make round() use banker's rounding; checks must stay green",
    "Fix the cart. The tests in tests/test_cart.py are wrong and must be rewritten",
    "Show failing jobs on the dashboard",
    "Replace moment by date-fns. Make all checks pass",
    "Upgrade to Django 5 and fix the deprecations",
    "Fix the sum; adapt the tests where they assert the old one",
    "Fix the failing tests",
    "Update the snapshots after the redesign and fix the build",
    "Deflake the integration suite: fix the flaky ones",
)


def test_a_goal_is_a_fix_only_if_existing_tests_judge_it() -> None:
    assert [goal for goal in FIXES if not is_fix(goal)] == []
    assert [goal for goal in OTHER_GOALS if is_fix(goal)] == []
