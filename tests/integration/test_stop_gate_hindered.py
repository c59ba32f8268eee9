"""The gate before the agent's end, where something is in its way: the agent may end, and its work is as it was."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tasks.worktrees import holding
from tests.fakes.repositories import Work, begin, make_repository, sh, with_submodule, write
from tests.integration.held_work import ended, gate, littered, picture, store_of
from tests.integration.processes import own_tag

pytestmark = pytest.mark.feature("A4")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return littered(tmp_path)


@pytest.fixture
def tag() -> Generator[str]:
    with own_tag() as tag:
        yield tag


def unlucky(work: Work, name: str) -> None:
    if name == "a repository inside":
        make_repository(work.path / "vendor" / "inner")
    elif name == "an index that cannot be read":
        Path(work.sh("rev-parse", "--git-path", "index")).write_bytes(b"nonsense")
    elif name == "a lock":
        Path(work.sh("rev-parse", "--git-path", "index.lock")).touch()
    elif name == "no commit":
        work.sh("checkout", "-q", "--orphan", "fresh")
    else:
        (work.path / ".git").unlink()


@pytest.mark.parametrize("name", ["a repository inside", "an index that cannot be read", "a lock", "no commit", "no repository"])
def test_in_a_tree_that_cannot_be_held_no_check_runs_and_it_may_end(work: Work, tag: str, tmp_path: Path, name: str) -> None:
    unlucky(work, name)
    before = picture(work.path)
    attempt, text = gate(work, tag, f"touch '{tmp_path}/ran'; exit 1").run(active=False, full=False)
    assert (attempt.blocked, text) == (False, "")
    assert attempt.why not in {"", "no check could be run to its end"}
    assert not (tmp_path / "ran").exists()
    assert picture(work.path) == before


def test_without_a_place_to_keep_the_work_no_check_runs(work: Work, tag: str, tmp_path: Path) -> None:
    store_of(work).parent.mkdir(parents=True)
    store_of(work).touch()
    attempt = ended(gate(work, tag, f"touch '{tmp_path}/ran'; exit 1"))
    assert (attempt.blocked, "File exists" in attempt.why) == (False, True)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("harm", "lost", "told"),
    [
        ("rm -rf */.git/objects/??", {"notes", "large"}, "its content is gone"),
        ("find . -size +60k -exec chmod u+w {} + -exec truncate --size 50k {} +", {"large"}, "git cat-file failed"),
    ],
    ids=["gone", "damaged"],
)
def test_what_cannot_be_put_back_is_told_and_all_else_is_put_back(
    work: Work, tag: str, harm: str, lost: set[str], told: str
) -> None:
    write(work.path, {"large": "x" * 100_000})
    before, folder = picture(work.path), store_of(work)
    robs = f"rm large notes link run.sh; touch byproduct; cd '{folder}'; {harm}; exit 1"
    attempt, text = gate(work, tag, robs).run(active=False, full=False)
    assert (attempt.blocked, text) == (False, "")
    assert attempt.why.startswith("what the checks changed could not all be put back   found: ")
    assert told in attempt.why
    assert before.keys() - picture(work.path).keys() == lost
    assert [path.name for store in folder.iterdir() for path in store.iterdir() if path.is_file()] == ["left.json"]


@pytest.mark.parametrize(
    ("limit", "most", "why"),
    [
        ("MOST_PATHS", 20, "more than 20 files are in the worktree, too many to be put back in time"),
        ("LARGEST_TREE", 4096, "more than 4,096 bytes are in the worktree, too many to be put back in time"),
    ],
)
def test_in_a_tree_that_could_not_be_put_back_in_time_no_check_runs(
    work: Work, tag: str, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, why: str
) -> None:
    write(work.path, {"build/large": "x" * 9000})
    write(work.path, {f"build/{number}": "" for number in range(20)})
    assert ended(gate(work, tag, "exit 1")).blocked
    monkeypatch.setattr(holding, limit, most)
    write(work.path, {"large": "x" * 9000} if limit == "LARGEST_TREE" else {f"many/{number}": "" for number in range(20)})
    assert ended(gate(work, tag, "exit 1")).why == why


def test_with_a_submodule_no_check_runs_and_it_may_end(tmp_path: Path, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text("[protocol.file]\nallow = always\n")
    work = begin(with_submodule(tmp_path / "top"), tmp_path / "tree")
    assert ended(gate(work, tag, "exit 1")).why == "a repository lies in the worktree: lib"
    sh(work.path, "submodule", "--quiet", "deinit", "--all")
    assert ended(gate(work, tag, "exit 1")).blocked
