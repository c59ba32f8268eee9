"""The stop gate in case of obstacles: no check runs, the agent may stop, and its work stays unchanged."""

from pathlib import Path

import pytest

from tests.fakes.repositories import LoopWork, commit, make_repository, start_loop, with_submodule, write
from tests.integration.stop_work import ASKS, ended, gate, picture, work

__all__ = ["work"]
pytestmark = pytest.mark.feature("A4")


def hinder(work: LoopWork, name: str) -> None:
    if name == "no commit":
        work.sh("checkout", "-q", "--orphan", "fresh")
    elif name == "no repository":
        (work.path / ".git").unlink()
    else:
        lent = work.repository.common / "objects" / "info" / "alternates"
        lent.write_text(f"{make_repository(work.path.parent / 'other')}/.git/objects\n")


@pytest.mark.parametrize("name", ["no commit", "no repository", "objects from elsewhere"])
def test_where_the_files_cannot_be_laid_out_no_check_runs_and_it_may_end(
    work: LoopWork, tag: str, tmp_path: Path, name: str
) -> None:
    gated = gate(work, tag, f"echo >> '{tmp_path}/ran'; exit 1")
    assert ended(gated).blocked
    hinder(work, name)
    before = picture(work.path)
    attempt, text = gated.run(active=True, full=False, said=ASKS)
    assert (attempt.blocked, text) == (False, "")
    assert attempt.why not in {"", "no check finished"}
    assert (tmp_path / "ran").read_text() == "\n"
    assert picture(work.path) == before


def test_a_repository_that_lies_inside_and_a_damaged_index_are_in_nobody_s_way(work: LoopWork, tag: str) -> None:
    make_repository(work.path / "vendor" / "inner", {"lib.py": "1\n"})
    Path(work.sh("rev-parse", "--git-path", "index")).write_bytes(b"nonsense")
    assert ended(gate(work, tag, "test -e vendor/inner/lib.py -a -e pkg/mod.py")).why == "every check that ran passes"


def test_work_in_a_submodule_that_is_not_committed_cannot_be_checked(
    tmp_path: Path, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text("[protocol.file]\nallow = always\n")
    work = start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")
    write(work.path / "lib", {"new.py": "1\n"})
    assert ended(gate(work, tag, "test -e lib/new.py")).why == "a submodule has uncommitted work, which cannot be checked"
    commit(work.path / "lib", "work", {})
    assert ended(gate(work, tag, "test -e lib/new.py")).why == "every check that ran passes"
