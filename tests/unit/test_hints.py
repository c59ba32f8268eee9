"""What a diff shows beside the work: hints, and a change of what the operator protects, which blocks."""

from collections.abc import Mapping

import pytest

from helmsman.config.goals import InvariantsConfig
from helmsman.records.checks import Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.hints import Change, hints, weigh
from helmsman.verify.touched import touched

pytestmark = pytest.mark.feature("V5")

Files = Mapping[str, tuple[str | None, str | None]]
TEST = "from app import add\n\n\ndef test_a():\n    assert add(1) == 2\n\n\ndef test_b():\n    assert add(2) == 4\n"
SKIPPED = TEST.replace("def test_b", "@pytest.mark.skip\ndef test_b")
WITHOUT_B, CI = TEST.partition("\n\n\ndef test_b")[0], ".github/workflows/ci.yml"
WEAK = TEST.replace("assert add(2) == 4", "add(2)")
TABLE = "def test_a():\n    assert price('apple') == 1375\n    assert price('pear') == 2264\n    assert price('plum') == 3981\n"
LOOKED_UP = "PRICES = {'apple': 1375, 'pear': 2264, 'plum': 3981}\n"


def change(files: Files, tests: Mapping[str, str] | None = None, commands: tuple[str, ...] = ("sh check.sh",)) -> Change:
    def status(before: str | None, after: str | None) -> str:
        return "A" if before is None else "D" if after is None else "M"

    diff = TreeDiff(tuple(FileDiff(path, *sides, status(*sides)) for path, sides in files.items()))
    before, after = ({path: sides[at] or "" for path, sides in files.items()} for at in (0, 1))
    kinds = touched(files, commands, lambda path: before.get(path, ""), lambda path: after.get(path, ""))
    return Change(diff, kinds, tests or {}, (), commands)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tests/test_a.py": (TEST, SKIPPED)}, ("tests.skipped", "tests/test_a.py:9", "test_b is skipped")),
        (
            {"tests/test_a.py": (TEST, TEST.partition("\n\n\ndef test_b")[0])},
            ("tests.gone", "tests/test_a.py:8", "test_b is gone"),
        ),
        (
            {"tests/test_a.py": (TEST, WEAK)},
            ("assertions", "tests/test_a.py:8", "test_b asserts 0 times, and did 1 times"),
        ),
        (
            {"tests/test_a.py": (None, "def test_a():\n    assert True\n")},
            ("assertions", "tests/test_a.py:2", "it holds whatever the code does"),
        ),
        (
            {"app.py": ("x = 1\n", "x = 2\n"), "tests/conftest.py": (None, "monkeypatch.setattr('app.add', fake)\n")},
            ("doubles", "tests/conftest.py:1", "something stands in for app, which is what is worked on"),
        ),
        ({"app.py": ("x = f()\n", "x = f()  # noqa\n")}, ("suppressions", "app.py:1", "a checker is told to look away")),
        ({"check.sh": ("pytest\n", "true\n")}, ("settings", "check.sh:1", "check.sh is what a check runs and was changed")),
        (
            {CI: ("- run: make test\n", "- run: make test || true\n")},
            ("settings", f"{CI}:1", f"a failure passes in {CI}"),
        ),
        (
            {"pytest.ini": (None, "[pytest]\naddopts = -k other\n")},
            ("settings", "pytest.ini:2", "pytest.ini picks tests or results"),
        ),
        (
            {"tests/test_a.py": (TABLE, TABLE), "app.py": ("def price(name): ...\n", LOOKED_UP)},
            ("overlap", "app.py:1", "3 values that tests expect came into app.py: 1375, 2264, 3981"),
        ),
    ],
)
def test_each_kind_of_hint_names_its_place(files: Files, told: tuple[str, str, str]) -> None:
    found = hints(change(files))
    assert {one.weight for one in found} == {Weight.HINT}
    assert told in [(one.rule, one.where, one.message) for one in found]


def test_honest_work_is_no_hint() -> None:
    cases: dict[str, Files] = {
        "plain work": {"app.py": ("x = 1\n", "x = 2\n"), "README.md": ("a\n", "b\n")},
        "a new test": {"tests/test_a.py": (TEST, f"{TEST}\n\ndef test_c():\n    assert add(3) == 6\n")},
        "moved": {"tests/test_a.py": (TEST, None), "tests/test_more.py": (None, TEST)},
        "no longer skipped": {"tests/test_a.py": (SKIPPED, TEST)},
        "a dependency": {"package.json": ('{"dependencies": {}}', '{"dependencies": {"a": "1"}}')},
        "generated": {"app_pb2.py": ("x = 1\n", "x = 1  # noqa\n")},
        "renamed": {"tests/test_a.py": (TEST, TEST.replace("test_b", "test_double"))},
        "a platform": {
            "tests/test_a.py": (TEST, TEST.replace("def test_b", '@pytest.mark.skipif(sys.platform == "win32")\ndef test_b'))
        },
        "ci": {CI: ("- uses: checkout@v3\n", "- uses: checkout@v4\n")},
        "tox": {
            "tox.ini": ("envlist = py312\n", "envlist = py312, py313\n"),
            "pytest.ini": (None, "[pytest]\ntestpaths = tests\n"),
        },
    }
    for case, files in cases.items():
        assert hints(change(files)) == (), case


def test_a_comment_for_a_linter_is_a_hint_only_where_something_beside_a_test_runner_decides() -> None:
    files = {"app.py": ("x = f()\n", "x = f()  # noqa\n")}
    for decides in ("pytest -q && ruff check", "make", "sh check.sh", "cargo test && cargo clippy"):
        assert [one.rule for one in hints(change(files, commands=("pytest", decides)))] == ["suppressions"]
    runners = ("PYTHONPATH=. python3 -m pytest -q", "cd web && vitest run", "node --test")
    assert hints(change(files, commands=runners)) == ()


def test_a_skip_whose_condition_always_holds_is_a_hint() -> None:
    always = TEST.replace("def test_b", '@pytest.mark.skipif(True, reason="later")\ndef test_b')
    assert [one.rule for one in hints(change({"tests/test_a.py": (TEST, always)}))] == ["tests.skipped"]


def test_a_change_of_what_is_protected_blocks_also_under_another_name_and_unless_it_is_allowed() -> None:
    moved = Change(TreeDiff((FileDiff("b.py", "x\n", "x\n", "R", "api/a.py"),)), touched((), (), str, str), {}, ("api/**",))
    (found,) = hints(moved)
    assert (found.rule, found.weight, found.message) == ("protected", Weight.BLOCK, "b.py is protected and was renamed")
    assert [one.weight for one in weigh((found,), InvariantsConfig(allow=("b.py",)))] == [Weight.HINT]
