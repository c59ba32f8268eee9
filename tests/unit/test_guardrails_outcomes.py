"""A command is the same again only where it comes to the same, and nothing that may have changed the code ran in between."""

from functools import reduce

import pytest

from helmsman.orient.guardrails import Allow, Deny, Session, after, before, judge
from tests.unit.test_guardrails_session import RULES, TREE, bash, session_of

pytestmark = pytest.mark.feature("A2")


def came_to(session: Session, command: str, outcome: str) -> Session:
    call = bash(command)
    return after(before(session, call), call, failed=True, changed=False, outcome=outcome)


def test_a_command_that_comes_to_another_outcome_is_no_repetition() -> None:
    session = reduce(
        lambda now, outcome: came_to(now, "pytest -q", outcome), ("20 failed", "15 failed", "10 failed"), Session(TREE)
    )
    assert judge(bash("pytest -q"), session, RULES) == Allow()
    assert isinstance(judge(bash("pytest -q"), came_to(session, "pytest -q", "10 failed"), RULES), Deny)


def test_a_flaky_test_may_be_run_a_third_time() -> None:
    session = came_to(came_to(Session(TREE), "pytest -q", "1 failed"), "pytest -q", "4 passed")
    assert judge(bash("pytest -q"), session, RULES) == Allow()


@pytest.mark.parametrize(
    "generator",
    ["python scripts/codemod.py", "npm run codegen", "node tools/migrate.mjs", "python3 - <<'E'\nopen(f, 'w')\nE", "sh gen.sh"],
)
def test_what_may_have_changed_the_code_makes_other_commands_new(generator: str) -> None:
    assert judge(bash("pytest -q"), session_of("pytest -q", generator, "pytest -q", generator), RULES) == Allow()


@pytest.mark.parametrize(
    "check", ["npm run test", "npm run typecheck", "python tests/run_tests.py", "python check.py", "pnpm exec tsc"]
)
def test_a_check_changes_nothing_that_others_find(check: str) -> None:
    assert isinstance(judge(bash("pytest -q"), session_of("pytest -q", check, "pytest -q"), RULES), Deny)
