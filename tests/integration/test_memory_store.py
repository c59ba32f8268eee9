"""The memory store on both databases: what is written is read back, and which project a repository is."""

import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import LessonKind, TaskType, Tier
from tasks.memory import LENGTH, open_store, project_id
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import write_state
from tests.fakes.processes import ROOT
from tests.fakes.repositories import commit, loop_state, make_repository, sh, write
from tests.integration.memory_stores import DAY, NOW, episode, guardrail, lesson, summary

pytestmark = pytest.mark.feature("L1")
MICROSECOND, HOUR = timedelta(microseconds=1), timedelta(hours=1)


class Undone(Exception):  # noqa: N818 - nothing went wrong
    pass


def test_a_lesson_is_stored_unchanged(store_url: str) -> None:
    given = lesson(tests=("tests/test_a.py::test_b",), sources=("u1", "u2"), detail="Größe — 日本語 🙂", failure="build")
    with open_store(store_url, NOW) as store, store.change() as change:
        change.put_lesson(given)
    with open_store(store_url, NOW) as store:
        assert store.lesson("a") == given
        assert store.lesson("b") is None


def test_a_lesson_with_a_known_id_replaces_the_one_before(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        for text in ("Use the old fixture", "Prefer the factory"):
            with store.change() as change:
                change.put_lesson(lesson(text=text))
        assert [one.text for one in store.lessons()] == ["Prefer the factory"]
        assert store.search("old fixture") == []
        assert [one.lesson.text for one in store.search("factory")] == ["Prefer the factory"]


def test_lessons_are_filtered_and_the_newest_come_first(store_url: str) -> None:
    given = [
        lesson("a", updated_at=NOW),
        lesson("b", updated_at=NOW + DAY, kind=LessonKind.ANTIPATTERN),
        lesson("c", updated_at=NOW + 2 * DAY, project="bank"),
        lesson("d", updated_at=NOW + 3 * DAY, tier=Tier.SEMANTIC, task_type=TaskType.DOCS),
        lesson("e", updated_at=NOW + 4 * DAY, retired="of no use"),
    ]
    with open_store(store_url, NOW) as store, store.change() as change:
        for one in given:
            change.put_lesson(one)
        assert [one.id for one in change.lessons()] == ["d", "c", "b", "a"]
        assert [one.id for one in change.lessons(retired=True)] == ["e", "d", "c", "b", "a"]
        assert [one.id for one in change.lessons(limit=3)][1:] == ["c", "b"]
        assert [one.id for one in change.lessons("shop")] == ["d", "b", "a"]
        assert [one.id for one in change.lessons(kind=LessonKind.ANTIPATTERN)] == ["b"]
        assert [one.id for one in change.lessons(tier=Tier.SEMANTIC)] == ["d"]
        assert [one.id for one in change.lessons(task_type=TaskType.DOCS, project="bank")] == []


def test_a_guardrail_is_replaced_by_its_id_and_listed_by_its_project(store_url: str) -> None:
    with open_store(store_url, NOW) as store, store.change() as change:
        change.put_guardrail(guardrail("g"))
        change.put_guardrail(guardrail("h", created_at=NOW - DAY))
        change.put_guardrail(guardrail("i", project="bank"))
        change.put_guardrail(guardrail("g", after_of=3))
        change.put_guardrail(guardrail("j", retired="did not help", retired_at=NOW))
        assert [(one.id, one.after_of) for one in change.guardrails("shop")] == [("h", 0), ("g", 3)]
        assert [one.id for one in change.guardrails("shop", retired=True)] == ["h", "g", "j"]


def test_a_forgotten_entry_is_gone_everywhere(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson("a", "The password is swordfish"))
            change.put_guardrail(guardrail("g"))
        with store.change() as change:
            assert [change.forget("a"), change.forget("g"), change.forget("a")] == [True, True, False]
        assert (store.lessons(retired=True), store.guardrails("shop"), store.search("swordfish")) == ([], [], [])
        assert "swordfish" not in store.export()


def test_an_attempt_at_an_iteration_is_stored_once(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            assert change.put_episode(episode(1))
            assert not change.put_episode(episode(1, FailureClass.TEST))
            assert change.put_episode(episode(1, attempt=2))
            assert change.put_episode(episode(1, uid="u2"))
        assert store.episodes("u1") == [episode(1), episode(1, attempt=2)]
        assert store.failures("shop", FailureClass.TEST) == (0, 3)


def test_failures_are_counted_by_their_class_over_checked_iterations(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            change.put_episode(episode(1, FailureClass.TEST, FailureClass.TEST, FailureClass.LINT))
            change.put_episode(episode(2, FailureClass.TEST))
            change.put_episode(episode(3))
            change.put_episode(episode(4, FailureClass.TEST, checked=False))
            change.put_episode(episode(5, FailureClass.TEST, project="bank"))
        assert store.failures("shop", FailureClass.TEST) == (2, 3)
        assert store.failures("shop", FailureClass.LINT) == (1, 3)
        assert store.failures("bank", FailureClass.LINT) == (0, 1)
        assert store.failures("nowhere", FailureClass.LINT) == (0, 0)


def test_only_a_projects_oldest_iterations_are_removed(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.memory.store.MOST_EPISODES", 20)
    monkeypatch.setattr("tasks.memory.store.AT_A_TIME", 5)
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            change.put_episode(episode(1, FailureClass.TEST, uid="other", project="bank"))
            for iteration in range(1, 101):
                change.put_episode(episode(iteration, FailureClass.TEST))
                seen, checked = change.failures("shop", FailureClass.TEST)
                assert seen == checked == len(change.episodes("u1")) < 25
        assert [one.iteration for one in store.episodes("u1")] == list(range(81, 101))
        assert store.failures("bank", FailureClass.TEST) == (1, 1)


def test_summaries_come_newest_first(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            for number in range(4):
                assert change.put_summary(summary(f"u{number}", NOW + number * DAY))
            assert change.put_summary(summary("b", NOW - DAY, "bank", TaskType.DOCS))
        assert [one.uid for one in store.summaries()] == ["u3", "u2", "u1", "u0", "b"]
        assert [one.uid for one in store.summaries(limit=2)] == ["u3", "u2"]
        assert [one.uid for one in store.summaries(project="bank")] == ["b"]
        assert [one.uid for one in store.summaries(TaskType.FEATURE, "bank")] == []


def test_a_resumed_loop_keeps_its_last_end(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            for uid in ("u0", "u1", "u2"):
                assert change.put_summary(summary(uid))
            assert not change.put_summary(summary("u1"))
            assert not change.put_summary(summary("u1", NOW - DAY))
            assert change.put_summary(summary("u1", NOW + MICROSECOND))
            assert not change.put_summary(summary("u1"))
        assert [one.uid for one in store.summaries()] == ["u1", "u2", "u0"]
        assert [one.ended_at for one in store.summaries()] == [NOW + MICROSECOND, NOW, NOW]
        with store.change() as change:
            assert change.put_summary(summary("u0", NOW + DAY, "bank", TaskType.DOCS))
        assert [one.uid for one in store.summaries(TaskType.DOCS, "bank")] == ["u0"]
        assert [one.uid for one in store.summaries(project="shop")] == ["u1", "u2"]
        assert store.stats().summaries == 3


def test_a_failed_change_is_rolled_back(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with suppress(Undone), store.change() as change:
            change.put_lesson(lesson())
            change.put_episode(episode(1, FailureClass.TEST))
            assert change.lesson("a")
            raise Undone
        assert (store.lessons(), store.episodes("u1"), store.search("migrations")) == ([], [], [])
        with store.change() as change:
            change.put_lesson(lesson())
        assert [one.text for one in store.search("migrations")] == [1.0]


def test_unusual_names_are_stored(store_url: str) -> None:
    strange = "zero \x00, half \ud800, " + "long " * 200
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson("a", "odd \x00 words", project=strange, tests=("\ud800.py",)))
            change.put_guardrail(guardrail(strange, project=strange, instruction="\x00!"))
            change.put_episode(episode(1, FailureClass.TEST, uid=strange, project=strange, files=("caf\udce9",)))
            change.put_summary(summary(strange, project=strange))
        assert [one.id for one in store.lessons(strange)] == ["a"]
        assert [one.instruction for one in store.guardrails(strange)] == ["\x00!"]
        assert [one.files for one in store.episodes(strange)] == [("caf?",)]
        assert [len(store.summaries(project=strange)), store.failures(strange, FailureClass.TEST)] == [1, (1, 1)]
        assert store.similar("odd words", LessonKind.STRATEGY, strange, TaskType.FEATURE)


def test_unreadable_records_of_a_newer_program_are_skipped(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson("a", updated_at=NOW + timedelta(seconds=1)))
            change.put_lesson(lesson("b").model_copy(update={"by": "oracle"}))
        assert [one.id for one in store.lessons()] == ["a"]
        assert [one.lesson.id for one in store.search("migrations")] == ["a"]


def test_the_import_of_the_package_imports_no_database_library() -> None:
    looked = "import sys, tasks.memory; print({'sqlalchemy', 'psycopg', 'sqlite3', 'alembic'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", looked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def cloned(top: Path, name: str, *options: str) -> Path:
    sh(top.parent, "clone", "--quiet", *options, top.as_uri(), name)
    return top.parent / name


def test_refs_of_loops_and_stashes_do_not_change_the_project(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    first = sh(top, "rev-parse", "HEAD")
    commit(top, "second")
    for number in range(8):  # ids are random: each time chance may put the first commit's id first
        clone = cloned(top, f"clone-{number}")
        write(clone, {"new.txt": f"{number}"})
        sh(clone, "stash", "push", "--quiet", "--include-untracked")
        repository = open_repository(clone)
        write_state(repository, loop_state(first), over=None, record=None, subject="s")
        assert project_id(repository) == first[:LENGTH]


def test_a_worktree_has_the_same_project(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    first = sh(top, "rev-parse", "HEAD")
    sh(top, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    assert project_id(open_repository(tmp_path / "tree")) == project_id(open_repository(top)) == first[:LENGTH]


def test_a_shallow_clone_is_a_separate_project(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    second = commit(top, "second")
    assert project_id(open_repository(cloned(top, "shallow", "--depth=1"))) == second[:LENGTH]


def test_a_bare_repository_with_a_missing_head_uses_its_branches(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    first = sh(top, "rev-parse", "HEAD")
    bare = cloned(top, "bare.git", "--bare")
    sh(bare, "symbolic-ref", "HEAD", "refs/heads/gone")
    sh(bare, "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    repository = open_repository(tmp_path / "tree")
    write_state(repository, loop_state(first), over=None, record=None, subject="s")
    assert project_id(repository) == first[:LENGTH]


def test_a_repository_without_commits_is_an_error(tmp_path: Path) -> None:
    sh(tmp_path, "init", "--quiet")
    with pytest.raises(OperatorError, match="has no commit"):
        project_id(Repository(top=tmp_path, common=tmp_path / ".git", bare=False))
