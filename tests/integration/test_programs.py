"""Programs that we find where we stand are run elsewhere: in a worktree, where an agent may have put one of the same name."""

from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from tasks.sandbox.probe import find_bubblewrap
from tasks.system.claude_binary import find_binary
from tests.unit.builders import config


def test_a_relative_path_of_the_agents_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would mean another file in each process that looks for it."""
    (tmp_path / "claude").touch(0o755)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OperatorError, match="an absolute path"):
        find_binary(config(claude={"binary": "./claude"}).claude)


@pytest.mark.parametrize("folder", ["tools", ".", "./tools"])
def test_a_folder_of_path_may_be_named_from_where_we_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    here = tmp_path / folder
    here.mkdir(exist_ok=True)
    for name in ("claude", "bwrap"):
        (here / name).touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", folder)
    for found in (find_binary(config().claude), find_bubblewrap()):
        assert found.is_absolute()
        assert found.samefile(here / found.name)
