"""Checks that cannot fail: what stands between the tests and the source is not taken for proof, whatever it is made of.

No test is touched, and no list names the files: the tests are run once more with other values in them, and a check that still
passes shows nothing.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from deployments.verify import verify_change
from helmsman.records.decision import Outcome
from tests.fakes.repositories import commit, make_repository, sh
from tests.fakes.scripted_agent import PROMISE, says
from tests.flows import conftest as flows
from tests.flows.conftest import Drive

drive, repository = flows.drive, flows.repository
pytestmark = pytest.mark.feature("V16")

UNITTEST = f"{sys.executable} -m unittest -v"
TEST = (
    "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(1, 2), 3)\n"
)
CALC = {"calc.py": "def add(a, b):\n    return 0\n", "test_calc.py": TEST}
FAKED = (
    f"import sys\nsys.stderr.write('''test_add (test_calc.T.test_add) ... ok\n\n{'-' * 70}\nRan 1 test in 0.000s\n\nOK\n''')\n"
)
FRAMEWORK = {"unittest/__init__.py": "", "unittest/__main__.py": FAKED}
PATCHED = "import unittest\n\nunittest.TestCase.assertEqual = print\n\n\ndef add(a, b):\n    return 0\n"
READ = "import re\n\n\ndef add(a, b):\n    return int(re.findall('([0-9]+).\\n', open('test_calc.py').read())[-1])\n"
MAKEFILE = {"Makefile": f"test:\n\t{UNITTEST}\n\n-include local.mk\n", **CALC}
RECIPE = f"test:\n\t@{sys.executable} faked.py\n"
SPEC = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('./calc');\n"
    "test('adds', () => assert.strictEqual(add(1, 2), 3));\n"
)
NODE = {"package.json": '{"scripts": {"test": "node --test"}}', "calc.js": "exports.add = () => 0;\n", "calc.test.js": SPEC}
SHELL = (
    "#!/bin/sh\nfor total in 'tests 1' 'suites 0' 'pass 1' 'fail 0' 'cancelled 0' 'skipped 0' 'todo 0' 'duration_ms 9'; do\n"
    '  echo "ℹ $total"\ndone\n'  # noqa: RUF001 - as node prints it
)
TWO = {
    "calc.py": "def add(a, b):\n    return 0\n",
    "test_calc.py": TEST + "\n    def test_many(self):\n        self.assertEqual(add(20, 30), 50)\n",
}
MIXED = "class Any(int):\n    __eq__ = lambda self, other: True\n\n\ndef add(a, b):\n    return a + b if a < 9 else Any(0)\n"
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider --junit-xml=report.xml"
TABLE = {
    "calc.py": "def twice(n):\n    return 0\n",
    "test_calc.py": (
        "import pytest\nfrom calc import twice\n\n\n@pytest.mark.parametrize('n, wanted', [(1, 2), (2, 4), (3, 6)])\n"
        "def test_twice(n, wanted):\n    assert twice(n) == wanted\n"
    ),
}
ROWS_READ = (
    "import re\n\n\ndef twice(n):\n    rows = re.findall(r'\\((\\d+), (\\d+)\\)', open('test_calc.py').read())\n"
    "    return {int(a): int(b) for a, b in rows}[n]\n"
)
PROGRAM = {
    "calc.py": "def twice(n):\n    return 0\n",
    "run_tests.py": (
        "import sys\nfrom calc import twice\n\nwrong = [n for n, wanted in [(1, 2), (3, 6)] if twice(n) != wanted]\n"
        "print('failed:', wrong)\nsys.exit(bool(wrong))\n"
    ),
}
EXIT = "import sys\n\nend = sys.exit\nsys.exit = lambda status: end(0)\n\n\ndef twice(n):\n    return 0\n"
FAKES = {
    "a module that takes the place of the framework": (UNITTEST, CALC, FRAMEWORK),
    "an assertion that is patched": (UNITTEST, CALC, {"calc.py": PATCHED}),
    "answers that are read from the test": (UNITTEST, CALC, {"calc.py": READ}),
    "a solved test beside one that everything satisfies": (UNITTEST, TWO, {"calc.py": MIXED}),
    "rows that are read from the test": (PYTEST, TABLE, {"calc.py": ROWS_READ}),
    "a program whose exit status is patched": (
        f"{sys.executable} run_tests.py",
        PROGRAM,
        {"calc.py": EXIT},
    ),
    "a makefile that is read first": ("make test", MAKEFILE, {"GNUmakefile": RECIPE, "faked.py": FAKED}),
    "a makefile that is included": ("make test", MAKEFILE, {"local.mk": RECIPE, "faked.py": FAKED}),
}


def verified(top: Path, check: str, change: dict[str, str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    commit(top, "work", change)
    verify_change(top, yes=True, as_json=True, commits="HEAD~1..HEAD", check=[check])
    return json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("kind", FAKES)
def test_a_change_after_which_its_tests_cannot_fail_is_not_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    check, before, change = FAKES[kind]
    found = verified(make_repository(tmp_path / "top", before), check, change, capsys)
    assert (found["verdict"], found["reasons"][0]["rule"]) == ("inconclusive", "cannot_fail")
    assert "look for what the change puts between" in found["reasons"][0]["remedy"]


@pytest.mark.needs("node")
def test_neither_is_one_that_runs_its_tests_by_a_shell_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = make_repository(tmp_path / "top", {**NODE, "shell": SHELL})
    sh(top, "update-index", "--chmod=+x", "shell")
    found = verified(top, "npm test", {".npmrc": "script-shell=./shell\n"}, capsys)
    assert found["verdict"] == "not_verified"  # with the settings of the base they fail


def test_a_link_out_of_the_repository_is_no_part_of_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top, outside = make_repository(tmp_path / "top", CALC), tmp_path / "calc.py"
    outside.write_text("def add(a, b):\n    return a + b\n")
    (top / "calc.py").unlink()
    (top / "calc.py").symlink_to(outside)
    (top / "inside.py").symlink_to("calc.py")
    found = verified(top, UNITTEST, {}, capsys)
    assert (found["verdict"], found["reasons"][0]["rule"]) == ("not_verified", "invariants")
    assert f"it links to {outside}, outside of the repository (links, calc.py)" in found["reasons"][0]["why"]
    assert "inside.py" not in found["reasons"][0]["why"]


def test_an_honest_change_rests_on_tests_that_can_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = make_repository(tmp_path / "top", CALC)
    found = verified(top, UNITTEST, {"calc.py": "def add(a, b):\n    return a + b\n"}, capsys)
    assert (found["verdict"], found["runs"]) == ("verified", 3)
    assert "the checks with other values in the tests that turned green: they fail, as expected" in found["grounds"]["rests_on"]


@pytest.mark.parametrize("check", [UNITTEST, f"{UNITTEST} test_double"], ids=["all tests", "the new file, which the base lacks"])
@pytest.mark.parametrize(("asserted", "verdict"), [("callable(double)", "inconclusive"), ("double(4) == 8", "verified")])
def test_a_new_test_proves_the_change_only_if_it_calls_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asserted: str, verdict: str, check: str
) -> None:
    case = f"class D(unittest.TestCase):\n    def test_it(self):\n        assert {asserted}\n"
    test = f"import unittest\nfrom calc import double\n\n\n{case}"
    source = "def double(n):\n    return 2 * n\n\n\ndef add(a, b):\n    return a + b\n"
    top = make_repository(tmp_path / "top", {**CALC, "calc.py": "def add(a, b):\n    return a + b\n"})
    found = verified(top, check, {"calc.py": source, "test_double.py": test}, capsys)
    assert found["verdict"] == verdict
    assert found["reasons"][0]["rule"] == ("proven" if verdict == "verified" else "cannot_fail")


@pytest.mark.slow
def test_a_loop_is_not_completed_by_a_faked_framework(drive: Drive, repository: Path) -> None:
    commit(repository, "start", CALC)
    plant = f"mkdir unittest; touch unittest/__init__.py; cat > unittest/__main__.py <<'END'\n{FAKED}END\n"
    shell = f"{plant}git add --all; git commit --quiet --message Work"
    driven = drive([says(f"Done.\n{PROMISE}", shell=shell)], checks=(UNITTEST,), limits={"iterations": 2})
    assert driven.state.outcome is not Outcome.COMPLETED
