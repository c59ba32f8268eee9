"""Probes on real commits and with real runners: what a right one stops, what becomes of a wrong one, and who pays."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from deployments.verify import verify_change
from helmsman.errors import OperatorError
from tasks.system.paths import state_home
from tests.fakes.judge_api import JudgeApi
from tests.fakes.judge_questions import answer, criterion, judge_turn
from tests.fakes.repositories import commit, make_repository, sh

pytestmark = [pytest.mark.feature("V15"), pytest.mark.usefixtures("home")]

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"
GOAL = "fizz(n) is 'fizz' for multiples of 3, and the number as text for others."
TESTS = "from fizz import fizz\n\n\ndef test_it():\n    assert fizz(3) == 'fizz'\n    assert fizz(4) == '4'\n"
START = {"fizz.py": "def fizz(n):\n    return ''\n", "tests/test_fizz.py": TESTS}
TABLE = "def fizz(n):\n    return {3: 'fizz', 4: '4'}.get(n, '8')\n"
HONEST = "def fizz(n):\n    return 'fizz' if n % 3 == 0 else str(n)\n"
RIGHT = {
    "code": "from fizz import fizz\n\n\ndef test_more():\n    assert fizz(9) == 'fizz'\n",
    "says": "More multiples of 3, such as 9",
}
WRONG = {"code": "from fizz import fizz\n\n\ndef test_more():\n    assert fizz(0) == '0'\n", "says": "Zero is a number"}
BROKEN = {"code": "def test_more(:\n", "says": "Nothing"}
PASSES = {"code": "from fizz import fizz\n\n\ndef test_more():\n    assert fizz(3)\n", "says": "Something comes"}
MET = answer(criterion("c1"))


def readings(*verdicts: str) -> dict[str, Any]:
    return {"readings": [{"case": at, "reason": "so", "verdict": verdict} for at, verdict in enumerate(verdicts, 1)]}


Verified = Callable[..., tuple[dict[str, Any], list[str]]]


@pytest.fixture
def verified(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verified:
    """The result of verifying these files with these answers of the model, and what was asked of it."""

    def verify(
        answers: list[dict[str, Any]], files: dict[str, str], start: Mapping[str, str] = START, check: str = PYTEST
    ) -> tuple[dict[str, Any], list[str]]:
        top = make_repository(tmp_path / "repository", start)
        sh(top, "checkout", "--quiet", "-b", "work")
        commit(top, "work", files)
        capsys.readouterr()
        with JudgeApi([judge_turn(given) for given in answers]) as api:
            api.put_into(monkeypatch)
            said: dict[str, Any] = {"check": [check], "goal": GOAL, "probes": 4, "settings": ["proof.neighbours=false"]}
            verify_change(top, yes=True, as_json=True, commits="main..work", **said)
            prompts = [request.prompt for request in api.requests]
        assert not list(state_home().glob("checkouts/*/verify-*"))
        assert sh(top, "status", "--porcelain") == ""
        return json.loads(capsys.readouterr().out), prompts

    return verify


def test_a_right_probe_blocks_a_table_of_answers(verified: Verified) -> None:
    found, prompts = verified([{"cases": [RIGHT, PASSES]}, readings("right")], {"fizz.py": TABLE})
    assert (found["verdict"], [reason["rule"] for reason in found["reasons"]]) == ("not_verified", ["probes"])
    assert found["probed"]["failing"] == ["More multiples of 3, such as …"]
    assert found["probed"]["passing"] == 1
    assert found["probed"]["usage"]["input_tokens"] > 0
    assert any(line.startswith("2 probes by a model that has not seen") for line in found["grounds"]["rests_on"])
    writing, reading = prompts
    assert ".get(n" not in writing
    assert all(part in reading for part in (".get(n", "fizz(9)", "AssertionError"))


def test_wrong_and_broken_probes_are_dropped(verified: Verified) -> None:
    found, _ = verified([{"cases": [RIGHT, WRONG, BROKEN]}, readings("wrong", "wrong"), MET], {"fizz.py": HONEST})
    assert found["verdict"] == "verified"
    assert (found["probed"]["written"], found["probed"]["passing"], found["probed"]["dropped"]) == (3, 1, 2)


def test_unclear_probes_block_nothing(verified: Verified) -> None:
    found, _ = verified([{"cases": [WRONG]}, {"no": "reading"}, MET], {"fizz.py": HONEST})
    assert (found["verdict"], found["probed"]["unclear"]) == ("verified", ["Zero is a number"])
    assert any(line.startswith("probes: the answer contains no JSON object with") for line in found["grounds"]["not_looked_at"])


@pytest.mark.needs("node")
def test_javascript_probes_run_with_node(verified: Verified) -> None:
    head = "const test = require('node:test');\nconst assert = require('node:assert');\nconst fizz = require('../fizz.js');\n"
    start = {
        "fizz.js": "module.exports = () => '';\n",
        "test/fizz.test.js": f"{head}test('a', () => assert.equal(fizz(3), 'fizz'));\n",
    }
    probe = {"code": f"{head}test('b', () => assert.equal(fizz(9), 'fizz'));\n", "says": "A further multiple"}
    table = {"fizz.js": "module.exports = (n) => (n === 3 ? 'fizz' : '');\n"}
    found, _ = verified([{"cases": [probe]}, readings("right")], table, start, f"{shutil.which('node')} --test")
    assert (found["verdict"], found["probed"]["failing"]) == ("not_verified", ["A further multiple"])


def test_probes_need_a_goal(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "repository", {"fizz.py": HONEST})
    commit(top, "work", {"fizz.py": TABLE})
    with pytest.raises(OperatorError, match="--probes needs a goal"):
        verify_change(top, yes=True, as_json=True, commits="HEAD~1..HEAD", check=["true"], probes=1)
