"""The checks with the tests as they were at the start: what is put back, and what a difference between the two runs means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import CheckConfig
from helmsman.config.goals import InvariantsConfig
from helmsman.records.checks import CheckResult, TestCounts, TrustedCopy
from helmsman.records.findings import Weight
from helmsman.verify.trusted import as_at_start, differences, in_doubt, watched
from tests.unit.builders import check, report

pytestmark = pytest.mark.feature("V13")

BASE = frozenset({"app.py", "pyproject.toml", "tests/test_app.py", "tests/unit/test_more.py", "conftest.py"})
TESTS = InvariantsConfig(trusted=("tests/**",))
PATHS = st.sampled_from(
    [*sorted(BASE), "new.py", "tests/test_new.py", "tests/conftest.py", "pytest.ini", "web/pytest.ini", "x/y.txt"]
)
PATTERNS = st.lists(st.sampled_from(["tests/**", "*.py", "pytest.ini", "app.py", "**", "none"]), max_size=3).map(tuple)


def put_back(*changed: str, command: str = "pytest", config: InvariantsConfig = TESTS) -> tuple[str, ...]:
    return as_at_start(changed, BASE, [CheckConfig(command=command)], config)


def told(own: CheckResult, trusted: CheckResult) -> list[tuple[str, Weight, str, str]]:
    copy = TrustedCopy(put_back=("tests/a.py", "tests/b.py"), report=report(trusted))
    return [(one.rule, one.weight, one.path, one.message) for one in differences(copy, [own])]


def ran(passed: int, *failing: str, **fields: object) -> CheckResult:
    counts = TestCounts(passed=passed, failed=len(failing), failing=failing)
    return check(passed=not failing, counts=counts, exit_code=1 if failing else 0, **fields)


def test_nothing_is_watched_until_something_is_named() -> None:
    assert not watched(InvariantsConfig())
    assert watched(TESTS)
    assert watched(InvariantsConfig(protect=("api/**",)))


@pytest.mark.parametrize(
    ("changed", "command", "expected"),
    [
        (("app.py", "tests/test_app.py"), "pytest", ("tests/test_app.py",)),
        (("tests/test_new.py", "new.py"), "pytest", ("tests/test_new.py",)),
        (("tests/test_new.py",), "pytest tests/test_new.py::test_it", ()),
        (("tests/new/test_x.py", "tests/test_app.py"), "cd . && pytest tests/new", ("tests/test_app.py",)),
        (("tests/unit/test_x.py",), "pytest tests/unit", ("tests/unit/test_x.py",)),
        (("tests/test_app.py",), "pytest tests/test_app.py", ("tests/test_app.py",)),
        (("conftest.py", "pytest.ini", "sitecustomize.py"), "pytest", ("conftest.py", "pytest.ini", "sitecustomize.py")),
        (("web/pytest.ini", "pyproject.toml"), "pytest", ()),
    ],
)
def test_what_judged_the_work_is_as_it_was_and_what_a_check_needs_to_start_at_all_stays(
    changed: tuple[str, ...], command: str, expected: tuple[str, ...]
) -> None:
    assert put_back(*changed, command=command) == expected


def test_a_runner_s_own_settings_are_put_back_only_where_tests_are_kept_and_never_what_the_operator_allows() -> None:
    assert put_back("conftest.py", config=InvariantsConfig(protect=("app.py",))) == ()
    assert put_back(
        "conftest.py", "tests/test_app.py", config=InvariantsConfig(trusted=("tests/**",), allow=("conftest.py",))
    ) == ("tests/test_app.py",)


def test_settings_are_put_back_also_where_only_the_text_of_a_file_tells_that_it_is_a_test() -> None:
    base, config = {"test/words.js", "test/helper.js"}, InvariantsConfig(trusted=("test/**",))
    assert sorted(in_doubt([".mocharc.json"], base, config)) == ["test/helper.js", "test/words.js"]
    assert in_doubt(["words.js"], base, config) == []
    for text, expected in (("it('knows words', () => {})\n", (".mocharc.json",)), ("module.exports = {}\n", ())):
        assert as_at_start([".mocharc.json"], base, [], config, {"test/words.js": text}) == expected


@given(changed=st.lists(PATHS, max_size=6), protect=PATTERNS, trusted=PATTERNS, allow=PATTERNS)
def test_a_trusted_copy_puts_back_only_what_changed_each_once_and_more_patterns_never_less(
    changed: list[str], protect: tuple[str, ...], trusted: tuple[str, ...], allow: tuple[str, ...]
) -> None:
    found = put_back(*changed, config=InvariantsConfig(protect=protect, trusted=trusted))
    assert len(set(found)) == len(found)
    assert set(found) <= set(changed)
    assert set(put_back(*changed, config=InvariantsConfig(protect=protect))) <= set(found)
    assert set(put_back(*changed, config=InvariantsConfig(protect=protect, trusted=trusted, allow=allow))) <= set(found)


@pytest.mark.parametrize(
    ("own", "trusted", "weight", "words"),
    [
        (
            ran(3),
            ran(2, "tests/b.py::test_x"),
            Weight.BLOCK,
            "pytest passes, and with the files of the start it fails in tests/b.py::test_x",
        ),
        (
            check(passed=True),
            check(passed=False, exit_code=1),
            Weight.BLOCK,
            "pytest passes, and with the files of the start it fails (exit 1)",
        ),
        (
            check(passed=True),
            check(passed=False, timed_out=True),
            Weight.BLOCK,
            "pytest passes, and with the files of the start it does not end",
        ),
        (ran(2), ran(5), Weight.BLOCK, "pytest runs 2 tests, and with the files of the start 5"),
        (ran(2, "t::new"), ran(2), Weight.HINT, "pytest fails in t::new, and passes with the files of the start"),
        (ran(2, "t::a"), ran(2, "t::a", "t::b"), Weight.HINT, "pytest fails in more with the files of the start: t::b"),
    ],
)
def test_a_difference_says_which_check_and_which_tests_and_blocks_where_it_makes_the_work_look_better(
    own: CheckResult, trusted: CheckResult, weight: Weight, words: str
) -> None:
    own, trusted = (one.model_copy(update={"name": "pytest"}) for one in (own, trusted))
    ((rule, weighs, path, message),) = told(own, trusted)
    assert (weighs, message) == (weight, f"{words} (tests/a.py, tests/b.py)")
    assert rule == ("trusted.unsure" if trusted.timed_out else "trusted")
    assert path == ("tests/b.py" if "tests/b.py::" in words else "tests/a.py")


@pytest.mark.parametrize(
    ("own", "trusted"),
    [
        (ran(3), ran(3)),
        (ran(5), ran(3)),
        (ran(2, "t::a"), ran(2, "t::a")),
        (ran(3), ran(2, "t::a", flaky=("t::a",))),
    ],
    ids=["the same", "the agent has added tests", "both fail in the same", "by chance"],
)
def test_added_tests_chance_and_equal_runs_are_no_difference(own: CheckResult, trusted: CheckResult) -> None:
    assert told(own, trusted) == []


def test_where_nothing_was_run_nothing_differs() -> None:
    assert list(differences(TrustedCopy(), [ran(3)])) == []
