"""Three outcomes of each test: which tests are put back for the second run, and what follows from it."""

import pytest

from helmsman.config import CheckConfig
from helmsman.config.goals import InvariantsConfig
from helmsman.records.checks import CheckResult, TestCounts, TrustedRun, Weight
from helmsman.verify import outcomes as of_tests
from helmsman.verify.touched import touched
from tests.unit.builders import check, report

pytestmark = pytest.mark.feature("V5")

BASE = frozenset({"app.py", "tests/test_app.py", "tests/data/rows.json", "src/lib.rs", "check_it.py"})
ASK = InvariantsConfig()
A, B = "tests/test_app.py::test_a", "tests/test_app.py::test_b"


def ran(*failing: str, **fields: object) -> CheckResult:
    counts = TestCounts(passed=3 - len(failing), failed=len(failing), failing=failing)
    return check(passed=not failing, counts=counts, exit_code=1 if failing else 0, **fields)


def put_back(*changed: str, command: str = "pytest", config: InvariantsConfig = ASK) -> tuple[str, ...]:
    kinds = touched(changed, [command], lambda _: "", lambda _: "")
    return of_tests.tests_of_start(kinds, BASE, [CheckConfig(command=command)], config)


def weighed(
    trusted: CheckResult, *red: str, goal: str = "Make it work.", known: bool = True, config: InvariantsConfig = ASK
) -> tuple[list[str], tuple[str, ...]]:
    copy = TrustedRun(put_back=("tests/test_app.py",), report=report(trusted))
    found = of_tests.outcomes(report(ran()), copy, red if known else None, goal, config)
    return [one.message.partition(" ")[0] for one in found.findings], found.changed


@pytest.mark.parametrize(
    ("changed", "command", "expected"),
    [
        (("app.py",), "pytest", ()),
        (("app.py", "tests/test_new.py"), "pytest", ()),
        (("app.py", "tests/test_app.py", "tests/test_new.py"), "pytest", ("tests/test_app.py", "tests/test_new.py")),
        (("tests/data/rows.json",), "pytest", ("tests/data/rows.json",)),
        (("tests/conftest.py", "app.py"), "pytest", ("tests/conftest.py",)),
        (("pytest.ini",), "pytest", ("pytest.ini",)),
        (("tests/test_app.py", "tests/test_new.py"), "pytest tests/test_new.py", ("tests/test_app.py",)),
        (("src/lib.rs",), "cargo test", ()),
        (("check_it.py",), "python check_it.py", ("check_it.py",)),
    ],
)
def test_tests_are_put_back_where_any_that_was_there_or_what_governs_them_has_changed(
    changed: tuple[str, ...], command: str, expected: tuple[str, ...]
) -> None:
    assert put_back(*changed, command=command) == expected


@pytest.mark.feature("V13")
def test_what_the_operator_names_is_put_back_as_well_and_never_what_is_allowed_to_change() -> None:
    named = InvariantsConfig(protect=("app.py",), trusted=("data/*",), allow=("tests/**",))
    assert put_back("app.py", "other.py", "data/new", "tests/test_app.py", config=named) == ("app.py", "data/new")
    assert put_back("data/new", command="pytest data/new", config=named) == ()


@pytest.mark.feature("V13")
@pytest.mark.parametrize("named", [("tests/**",), ("other.py",), ()])
def test_a_test_that_the_operator_names_blocks_where_it_fails_as_it_was_whatever_the_goal_says(named: tuple[str, ...]) -> None:
    config, goal = InvariantsConfig(trusted=named, changed_expectations="allow"), "Update test_a."
    blocks = "tests/**" in named
    assert weighed(ran(A), goal=goal, config=config) == ([A] if blocks else [], ())
    copy = TrustedRun(put_back=("tests/test_app.py",), report=report(ran()))
    (fewer,) = of_tests.fewer_tests(report(check(passed=True, counts=TestCounts(passed=1))), copy, config)
    assert fewer.weight is (Weight.BLOCK if blocks else Weight.HINT)


def test_a_test_that_was_red_and_passes_only_as_it_was_changed_blocks() -> None:
    assert weighed(ran(A), A) == ([A], ())


def test_a_test_that_was_green_and_fails_as_it_was_is_a_question() -> None:
    assert weighed(ran(A, B), B) == ([B], (A,))
    assert weighed(ran(A), known=False) == ([], (A,))


def test_tests_that_are_gone_and_would_pass_are_a_hint() -> None:
    copy = TrustedRun(put_back=("tests/test_app.py",), report=report(ran()))
    few = check(passed=True, counts=TestCounts(passed=1), name="pytest")
    (found,) = of_tests.outcomes(report(few), copy, (), "Make it work.", ASK).findings
    assert (found.rule, found.weight) == ("trusted.fewer", Weight.HINT)
    assert found.message == "pytest runs 1 test, and with the tests of the start 3"


@pytest.mark.parametrize(
    ("goal", "asked"),
    [
        ("Update test_a to expect kilometres.", False),
        ("Rename total to sum and adapt tests/test_app.py.", False),
        ("Fix test_a.", True),
        ("Make app.py do what tests/test_app.py says.", True),
        ("Update test_ab.", True),
    ],
)
def test_a_test_that_the_goal_asks_to_change_may_change(goal: str, asked: bool) -> None:
    assert weighed(ran(A), goal=goal) == ([], (A,) if asked else ())


def test_an_operator_may_allow_changed_expectations_and_no_red_test_that_was_changed_to_pass() -> None:
    assert weighed(ran(A, B), B, config=InvariantsConfig(changed_expectations="allow")) == ([B], ())
