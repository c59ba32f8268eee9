"""`helmsman rubric check`: the parsed rubric, its problems, and the audit against past loops."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deployments.definitions import check_rubric
from helmsman.errors import OperatorError
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import state_ref, write_state
from tests.fakes.command_line import offline_command_line
from tests.fakes.repositories import make_repository
from tests.unit import builders

pytestmark = pytest.mark.feature("V1")

RUBRIC = """---
model: opus
---
## Checks
- **tests**: `pytest -q`
- **lint**: `ruff check`
## Judge criteria
- [errors] Every error is told. (2 of 3 votes)
- It is calm.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    make_repository(root, {"RUBRIC.md": RUBRIC})
    return root


def run_check_rubric(capsys: pytest.CaptureFixture[str], repo: Path, file: Path | None = None, *, code: int = 0) -> Any:
    assert check_rubric(repo, file, as_json=True) == code
    return json.loads(capsys.readouterr().out)


def keep(root: Path, *verdicts: Sequence[bool], loop: str = "mend-it") -> None:
    """A loop with one iteration for each pair of verdicts of `tests` and `lint`."""
    repository, over = open_repository(root), None
    for number, verdict in enumerate(verdicts, 1):
        results = [builders.check(passed=passed, name=name) for name, passed in zip(("tests", "lint"), verdict, strict=True)]
        report = builders.report(*results).model_copy(update={"tree": f"{loop}{number}"})
        record = builders.record(loop=loop, iteration=number, checks=report)
        state = builders.state(loop=loop, iteration=number)
        over = write_state(repository, state, over=over, record=record, subject=f"iteration {number}")


def test_the_parsed_rubric_is_printed_as_text_or_json(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    assert check_rubric(repository, None, as_json=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "RUBRIC.md: 2 checks, 2 criteria; valid",
        "",
        "checks",
        "  tests        pytest -q   (600 s)",
        "  lint         ruff check   (600 s)",
        "",
        "criteria",
        "  errors       Every error is told.",
        "               weight 1, 2 of 3 votes, proven by the judge alone",
        "  c2           It is calm.",
        "               weight 1, 1 of 1 vote, proven by the judge alone",
        "",
        "audit, with 0 past reports",
        "  proven by the judge alone; name a check or a test: errors, c2",
        "  no command names types",
        "  no command names build",
    ]
    found = run_check_rubric(capsys, repository)
    assert set(found) == {"file", "valid", "envisioning", "checks", "criteria", "flaws", "audit"}
    assert (found["file"], found["valid"], found["flaws"]) == ("RUBRIC.md", True, [])
    assert [(check["line"], check["name"]) for check in found["checks"]] == [(5, "tests"), (6, "lint")]
    first = found["criteria"][0]
    assert (first["id"], first["needed"], first["votes"], first["checks"]) == ("errors", 2, 3, [])


def test_checks_and_criteria_of_the_front_matter_are_shown(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    front = "checks: [make test, {name: lint, command: ruff check, timeout_seconds: 9}]\njudge: {criteria: [It is calm.]}"
    (repository / "RUBRIC.md").write_text(f"---\n{front}\n---\n")
    found = run_check_rubric(capsys, repository)
    assert [(check["line"], check["command"]) for check in found["checks"]] == [(1, "make test"), (1, "ruff check")]
    assert [criterion["text"] for criterion in found["criteria"]] == ["It is calm."]
    check_rubric(repository, None, as_json=False)
    printed = capsys.readouterr().out.splitlines()
    assert (printed[0], printed[4]) == ("RUBRIC.md: 2 checks, 1 criteria; valid", "  lint         ruff check   (9 s)")


def test_a_wrong_value_of_the_front_matter_is_a_flaw(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    front = "limits: {iteration: 3}\nmax_iterations: 0\nchecks: [{command: a, timeout: 3}]"
    (repository / "RUBRIC.md").write_text(f"---\n{front}\n---\n## Judge criteria\n- It is calm.\n")
    causes = [flaw["cause"] for flaw in run_check_rubric(capsys, repository, code=2)["flaws"]]
    assert causes == [
        "limits.iteration: unknown key; did you mean limits.iterations or limits.nesting?",
        "checks[0].timeout: unknown key",
        "limits.iterations: expected at least 1, found 0",
    ]


def test_another_file_can_be_checked_without_a_repository(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text("## Checks\n- `a`\n- `b` and `c`\n")
    found = run_check_rubric(capsys, tmp_path, tmp_path / "draft.md", code=2)
    assert (found["file"], found["audit"]["checks_from"]) == ("draft.md", "draft.md")


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    (repository / "RUBRIC.md").write_text(
        "## Checks\n- \x1b]0;owned\x07a (\x1b: 5)\n- `b` (\x9b31m)\n## Judge criteria\n- c\x1b[2J\n"
    )
    check_rubric(repository, None, as_json=False)
    assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())


def test_checks_that_another_file_replaces_are_reported_as_unused(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    (repository / "helmsman.toml").write_text('checks = ["make test"]\n')
    check_rubric(repository, None, as_json=False)
    assert "  the checks of this file are not used: helmsman.toml sets others" in capsys.readouterr().out.splitlines()
    assert run_check_rubric(capsys, repository)["audit"]["checks_from"] == "helmsman.toml"


# --- audit --------------------------------------------------------------------------------------------------------


@pytest.mark.feature("V11")
def test_checks_that_always_agreed_in_past_loops_are_reported(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    keep(repository, *[(True, True)] * 6, (False, False))
    keep(repository, *[(True, True)] * 3, (False, False), loop="other")
    found = run_check_rubric(capsys, repository)["audit"]
    assert (found["reports"], found["agreeing"]) == (11, [{"checks": ["tests", "lint"], "reports": 11, "failures": 2}])
    check_rubric(repository, None, as_json=False)
    line = "  always the same verdict: tests and lint, in 11 reports, 2 of them failures"
    assert line in capsys.readouterr().out.splitlines()


@pytest.mark.feature("V11")
def test_an_unreadable_record_ends_the_audit_and_not_the_command(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    keep(repository, (True, True))
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"{}").strip()
    tree = git(repository, "mktree", stdin=f"100644 blob {blob}\trecord.json\n".encode()).strip()
    commit = git(repository, "commit-tree", tree, "-p", state_ref("mend-it"), "-m", "from another version").strip()
    git(repository, "update-ref", state_ref("mend-it"), commit)
    assert run_check_rubric(capsys, repository)["audit"]["reports"] == 0


def test_a_missing_rubric_is_an_error_that_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"there is no RUBRIC\.md") as caught:
        check_rubric(tmp_path, None, as_json=False)
    assert (caught.value.found, caught.value.remedy) == (str(tmp_path), "`helmsman init` writes one; or name a file")


def test_the_installed_command_does_it(repository: Path, tmp_path: Path) -> None:
    command_line = offline_command_line(tmp_path)
    (repository / "RUBRIC.md").write_text("## Checks\n")
    ended = command_line.run("rubric", "check", "--repo", repository)
    assert (ended.exit_code, ended.errors) == (2, "")
    assert "RUBRIC.md:1: ## Checks has no command" in ended.output
    ended = command_line.run("rubric", "check", "--repo", repository, "--json", repository / "nix.md")
    assert (ended.exit_code, json.loads(ended.output)["rule"]) == (2, "error.operator")
