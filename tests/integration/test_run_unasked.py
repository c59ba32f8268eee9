"""A run about which nobody can be asked, and which nobody agreed to beforehand."""

from pathlib import Path

import pytest

from tests.fakes.command_line import offline_command_line
from tests.fakes.repositories import make_repository


@pytest.mark.feature("O1")
@pytest.mark.parametrize("further", [(), ("--json",)])
def test_a_run_about_which_nobody_can_be_asked_is_refused_with_the_flag_named(tmp_path: Path, further: tuple[str, ...]) -> None:
    make_repository(tmp_path / "repository", {})
    helmsman = offline_command_line(tmp_path)
    told = helmsman.run("run", "g", "--check", "true", "--repo", helmsman.repository, *further)
    assert (told.exit_code, "pass --yes to start without asking" in told.errors) == (2, True), told
    assert "no loop was started" in helmsman.run("list", "--repo", helmsman.repository).output
