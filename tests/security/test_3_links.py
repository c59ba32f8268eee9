"""A link that a commit contains leads none of our writes out of the clean checkout, where no sandbox restricts them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deployments.verify import verify_change
from tests.fakes.repositories import commit, make_repository, sh, write

pytestmark = [pytest.mark.feature("V18")]


@pytest.fixture
def victim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user, outside of the repository."""
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))
    (tmp_path / "victim").mkdir()
    return tmp_path / "victim"


def verify_link(top: Path, name: str, victim: Path, capsys: pytest.CaptureFixture[str], **options: Any) -> Mapping[str, Any]:
    """Verify a change that replaces a folder by a link to the victim."""
    write(top, {".gitignore": ""})
    sh(top, "rm", "--quiet", "-r", "--cached", "--ignore-unmatch", name)
    (top / name).symlink_to(victim)
    commit(top, "link")
    verify_change(top, yes=True, as_json=True, commits="HEAD~1..HEAD", check=["true"], **options)
    return json.loads(capsys.readouterr().out)


def test_what_set_up_created_is_not_restored_through_a_link(
    tmp_path: Path, victim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = make_repository(tmp_path / "top", {".gitignore": "deps/\n"})
    verified = verify_link(top, "deps", victim, capsys, settings=["workspace.setup=['mkdir -p deps && echo planted > deps/rc']"])
    assert verified["head_checks"]["results"], verified
    assert list(victim.iterdir()) == []


def test_an_included_file_is_not_copied_through_a_link(tmp_path: Path, victim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = make_repository(tmp_path / "top", {".gitignore": ".env\n", ".worktreeinclude": ".env\n", "conf/a": "1"})
    sh(top, "switch", "--quiet", "--create", "work")
    sh(top, "rm", "--quiet", "-r", "conf")
    (top / "conf").symlink_to(victim)
    commit(top, "link")
    sh(top, "switch", "--quiet", "main")
    write(top, {"conf/.env": "TOKEN=1"})
    verify_change(top, yes=True, as_json=True, commits="main..work", check=["true"])
    assert json.loads(capsys.readouterr().out)["head_checks"]["results"]
    assert list(victim.iterdir()) == []
