"""`helmsman verify` on real repositories with real runners, and as CI jobs and hooks call it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from typer.main import get_command

from deployments.cli import app
from deployments.verify import verify_change
from helmsman.errors import OperatorError
from tasks.repository.clean_checkout import loop_checkouts, own_checkout
from tasks.repository.git import open_repository
from tasks.system.paths import state_home
from tests.fakes.judge_api import JudgeApi, Raw
from tests.fakes.judge_questions import answer, criterion, judge_turn
from tests.fakes.repositories import commit, make_repository, sh, write

pytestmark = [pytest.mark.feature("V19"), pytest.mark.usefixtures("home")]

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"
WRONG, RIGHT = "def half(n):\n    return n\n", "def half(n):\n    return n / 2\n"
IMPORT = "import sys; sys.path[:0] = ['.']\nfrom calc import half\n\n"
TESTS = f"{IMPORT}def test_zero():\n    assert half(0) == 0\n\ndef test_four():\n    assert half(4) == 2\n"
SHELL = "sh tests/check.sh"


def python(tmp_path: Path) -> Path:
    top = make_repository(tmp_path / "repository", {"calc.py": WRONG, "tests/test_calc.py": TESTS})
    sh(top, "checkout", "--quiet", "-b", "work")
    return top


def plain(tmp_path: Path) -> Path:
    """Its check is a script, so that a verification takes no second."""
    files = {"answer": "1\n", "tests/check.sh": 'test "$(cat answer)" = 2\n'}
    top = make_repository(tmp_path / "repository", files)
    sh(top, "checkout", "--quiet", "-b", "work")
    return top


def verified(top: Path, capsys: pytest.CaptureFixture[str], asked: str = "", check: str = SHELL, **more: Any) -> dict[str, Any]:
    """The result as JSON. The exit status is the one that it names, and nothing is left of the clean checkout."""
    capsys.readouterr()
    status = verify_change(top, yes=True, as_json=True, commits=asked, check=[check] if check else [], **more)
    found = json.loads(capsys.readouterr().out)
    assert found["exit_status"] == status
    assert not list(state_home().glob("checkouts/*/verify-*"))
    assert sh(top, "status", "--porcelain") == ""
    return found


def rules(found: dict[str, Any]) -> tuple[str, list[str]]:
    return found["verdict"], [reason["rule"] for reason in found["reasons"]]


def cases(found: dict[str, Any]) -> dict[str, str]:
    return {case["name"]: case["outcome"] for case in found["table"]["cases"]}


def test_an_honest_fix_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = python(tmp_path)
    commit(top, "fix", {"calc.py": RIGHT})
    found = verified(top, capsys, check=PYTEST)
    assert rules(found) == ("verified", ["proven"])
    assert cases(found) == {"tests/test_calc.py::test_four": "FAIL_TO_PASS"}
    assert (found["runs"], found["trusted_checks"], found["new_tests"]) == (3, None, None)
    assert any("no test or setting of the base was changed" in line for line in found["grounds"]["rests_on"])


def test_a_failing_test_edited_to_pass_is_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a report every case is named, so that what passes on both sides is told from what is new."""
    top = python(tmp_path)
    settings = f"[[checks]]\ncommand = '{PYTEST} --junit-xml=report.xml'\nreport = 'report.xml'\n"
    sh(top, "checkout", "--quiet", "main")
    commit(top, "settings", {"helmsman.toml": settings})
    sh(top, "checkout", "--quiet", "-B", "work")
    commit(top, "cheat", {"tests/test_calc.py": TESTS.replace("== 2", "== 4")})
    junit, sarif = tmp_path / "junit.xml", tmp_path / "out.sarif"
    found = verified(top, capsys, check="", junit=junit, sarif=sarif)
    assert rules(found) == ("not_verified", ["changed_to_pass"])
    assert found["table"]["unnamed"] == 0
    assert cases(found) == {"tests.test_calc::test_four": "CHANGED", "tests.test_calc::test_zero": "PASS_TO_PASS"}
    suite = ET.parse(junit).getroot()
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["verdict", "tests.test_calc::test_four"]
    (run,) = json.loads(sarif.read_text())["runs"]
    assert run["results"][-1]["level"] in {"error", "warning"}
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]  # GitHub rejects a file that lacks one
    assert all(place["artifactLocation"]["uri"] and place["region"]["startLine"] for place in places)


@pytest.mark.feature("V5")
def test_files_collected_at_the_base_are_tests_whatever_their_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collecting = f"{PYTEST} -o python_files=*.py checks --junit-xml=report.xml"
    settings = f"[[checks]]\ncommand = '{collecting}'\nreport = 'report.xml'\n"
    top = make_repository(tmp_path / "repository", {"calc.py": WRONG, "checks/halves.py": TESTS, "helmsman.toml": settings})
    sh(top, "checkout", "--quiet", "-b", "work")
    commit(top, "cheat", {"checks/halves.py": TESTS.replace("== 2", "== 4")})
    found = verified(top, capsys, check="")
    assert rules(found) == ("not_verified", ["changed_to_pass"])


def test_a_new_test_must_fail_without_the_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = plain(tmp_path)
    commit(top, "green", {"answer": "2\n"})
    commit(top, "more", {"answer": "2\n3\n", "tests/check.sh": "head -1 answer | grep -q 2\n"})
    found = verified(top, capsys, "HEAD~1..HEAD")
    assert rules(found) == ("inconclusive", ["expectations", "unproven"])
    commit(top, "test it", {"tests/check.sh": "head -1 answer | grep -q 2 && grep -q 3 answer\n"})
    found = verified(top, capsys, "HEAD~2..HEAD", goal="", settings=('invariants.changed_expectations="allow"',))
    assert rules(found) == ("verified", ["proven"])
    assert "changed expectations are allowed" in found["table"]["cases"][0]["why"]


@pytest.mark.feature("V13")
@pytest.mark.parametrize(
    ("named", "rule"), [("trusted = ['answer']", "changed_to_pass"), ("protect = ['more.sh']", "invariants")]
)
def test_invariants_apply_as_in_a_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str, rule: str) -> None:
    top = plain(tmp_path)
    sh(top, "checkout", "--quiet", "main")
    settings = f"checks = ['sh tests/check.sh']\n[invariants]\n{named}\n"
    commit(top, "settings", {"helmsman.toml": settings, "more.sh": "exit 0\n"})
    sh(top, "checkout", "--quiet", "-B", "work")
    commit(top, "work", {"answer": "2\n", "more.sh": "true\n"})
    assert rules(verified(top, capsys, check="")) == ("not_verified", [rule])


def test_an_empty_change_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = plain(tmp_path)
    commit(top, "work")
    assert rules(verified(top, capsys)) == ("inconclusive", ["unchanged"])


def test_a_judge_needs_an_option_and_sees_changed_expectations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    top = plain(tmp_path)
    commit(top, "green", {"answer": "2\n"})
    commit(top, "more", {"answer": "3\n", "tests/check.sh": 'test "$(cat answer)" = 3\n'})
    with JudgeApi([judge_turn(answer(criterion("c1"), criterion("changed.tests")))]) as api:
        api.put_into(monkeypatch)
        found = verified(top, capsys, "HEAD~1..HEAD", goal="The answer is three.")
        (request,) = api.requests
    assert rules(found) == ("verified", ["judge"])
    assert "The answer is three." in request.prompt
    assert any(line.startswith("the judge (") for line in found["grounds"]["rests_on"])


def test_without_an_answer_of_the_judge_the_results_of_the_checks_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    top = plain(tmp_path)
    commit(top, "work", {"answer": "2\n"})
    with JudgeApi([Raw(b'{"type": "error"}', status=401, content_type="application/json")]) as api:
        api.put_into(monkeypatch)
        found = verified(top, capsys, goal="The answer is two.")
    assert rules(found) == ("inconclusive", ["judge"])
    assert found["reasons"][0]["why"].startswith("the judge could not be asked: ")
    assert found["head_checks"]["results"][0]["passed"]


@pytest.mark.feature("V15")
def test_hard_coded_answers_are_inconclusive_without_a_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = python(tmp_path)
    commit(top, "cheat", {"calc.py": "def half(n):\n    return {0: 0, 4: 2}.get(n)\n"})
    found = verified(top, capsys, "main..work", PYTEST)
    assert rules(found) == ("inconclusive", ["looked_up"])
    assert "half returns None for each of" in found["reasons"][0]["why"]


@pytest.mark.parametrize("name", ["--help", "--upload-pack=x..HEAD", "HEAD..--output=x", "a\nb..HEAD"])
def test_invalid_ranges_are_rejected_and_never_options_of_git(tmp_path: Path, name: str) -> None:
    top = plain(tmp_path)
    with pytest.raises(OperatorError, match="not in this repository"):
        verify_change(top, yes=True, as_json=True, commits=name, check=[SHELL])
    assert sorted(path.name for path in top.iterdir()) == [".git", "answer", "tests"]


def test_without_consent_nothing_of_a_repository_runs(tmp_path: Path) -> None:
    top = plain(tmp_path)
    with pytest.raises(OperatorError, match="are not trusted yet"):
        verify_change(top, yes=False, as_json=True, check=["touch ../ran"])
    assert not state_home().joinpath("checkouts").exists()


@pytest.mark.parametrize("option", ["junit", "sarif"])
def test_a_missing_folder_of_a_result_file_is_reported_before_anything_runs(tmp_path: Path, option: str) -> None:
    written: dict[str, Any] = {option: tmp_path / "none/result"}
    with pytest.raises(OperatorError, match="the result file cannot be written"):
        verify_change(plain(tmp_path), yes=True, as_json=True, check=["true"], **written)
    assert not (state_home() / "checkouts").exists()


@pytest.mark.feature("V14")
def test_a_missing_folder_of_hidden_checks_is_reported_before_anything_runs(tmp_path: Path) -> None:
    top = plain(tmp_path)
    commit(top, "work", {"answer": "2\n"})
    with pytest.raises(OperatorError, match="the folder of a hidden check does not exist"):
        verify_change(
            top, yes=True, as_json=True, check=[f"touch '{tmp_path}/ran'"], hidden=["true"], hidden_folder=tmp_path / "none"
        )
    assert not (tmp_path / "ran").exists()


def test_no_repository_no_checks_and_a_shallow_clone_are_operator_errors(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="this is not a git repository"):
        verify_change(tmp_path, yes=True, as_json=True)
    top = plain(tmp_path)
    commit(top, "work", {"answer": "2\n"})
    with pytest.raises(OperatorError, match="no check is configured"):
        verify_change(top, yes=True, as_json=True)
    shallow = tmp_path / "shallow"
    sh(tmp_path, "clone", "--quiet", "--depth=1", f"file://{top}", str(shallow))
    with pytest.raises(OperatorError, match="fetch --unshallow"):
        verify_change(shallow, yes=True, as_json=True, commits="HEAD~1..HEAD", check=[SHELL])


def test_a_change_cannot_choose_its_own_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = plain(tmp_path)
    sh(top, "checkout", "--quiet", "main")
    commit(top, "settings", {"helmsman.toml": "checks = ['sh tests/check.sh']\n"})
    sh(top, "checkout", "--quiet", "-B", "work")
    commit(top, "cheat", {"helmsman.toml": "checks = ['true']\n", "app": "x\n"})
    found = verified(top, capsys, check="")
    assert found["head_checks"]["results"][0]["command"] == "sh tests/check.sh"
    assert rules(found) == ("inconclusive", ["already_red"])


def test_only_checkouts_of_dead_verifications_are_leftovers(tmp_path: Path) -> None:
    repository = open_repository(plain(tmp_path))
    mine, ended = own_checkout(repository), subprocess.Popen(["true"])
    ended.wait()
    dead = mine.with_name(f"verify-{ended.pid}-0")
    for folder in (mine, dead):
        folder.mkdir(parents=True)
        (folder / "facts.json").write_text("{}")
    assert loop_checkouts(repository) == [dead]


def test_the_output_has_changes_verdict_and_grounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = plain(tmp_path)
    commit(top, "fix", {"answer": "2\n"})
    write(top, {"left": "uncommitted\n"})
    assert verify_change(top, yes=True, as_json=False, check=[SHELL]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[3].startswith("FAIL_TO_PASS ✔ sh tests/check.sh")
    assert "VERIFIED (exit status 0)" in lines
    assert any(line.startswith("rests on") for line in lines)
    assert "uncommitted changes in the checkout: left" in said.out
    assert "checking   base" in said.err


def test_a_change_that_is_not_committed_yet_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = plain(tmp_path)
    write(top, {"left": "uncommitted\n"})
    assert verify_change(top, yes=True, as_json=False, commits="HEAD..HEAD", check=[SHELL]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert "  no file differs between base and head; uncommitted changes in the checkout: left" in lines
    assert "    what to do: commit them: only commits are verified" in lines


ROOT = Path(__file__).parents[2]
CI = ROOT / "deployments" / "ci"
OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")


@pytest.mark.parametrize("name", ["action.yml", "gitlab.yml"])
def test_the_jobs_name_options_that_the_command_has(name: str) -> None:
    command: Any = vars(get_command(app))["commands"]["verify"]
    known = {option for parameter in command.params for option in parameter.opts}
    text = (CI / name).read_text()
    assert yaml.safe_load(text)
    called = text[text.rindex(" verify --") :].partition("artifacts")[0]
    assert set(OPTION.findall(called)) <= known


def test_a_push_that_breaks_something_is_stopped_and_one_that_proves_nothing_goes_through(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"answer": "1\n", "helmsman.toml": "checks = ['grep -q 1 answer']\n"})
    sh(tmp_path, "init", "--quiet", "--bare", "remote.git")
    sh(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    sh(top, "push", "--quiet", "--set-upstream", "origin", "main")
    hook = top / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text((ROOT / "deployments" / "hooks" / "pre-push").read_text())
    hook.chmod(0o755)
    home = {"HELMSMAN_HOME": str(tmp_path / "home"), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["helmsman", "trust", "--yes"], cwd=top, env={**os.environ, **home}, check=True, capture_output=True)

    def push() -> int:
        return subprocess.run(["git", "push", "--quiet"], cwd=top, env={**os.environ, **home}, check=False).returncode

    commit(top, "break it", {"answer": "2\n"})
    assert push() != 0
    commit(top, "as it was", {"answer": "1\n", "README": "x\n"})
    assert push() == 0
