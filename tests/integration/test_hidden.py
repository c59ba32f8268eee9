"""Hidden checks on real commits: what they find, and that nothing of them lies where an agent could read it."""

from dataclasses import replace
from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.records.checks import CheckResult
from helmsman.records.request import LoopRequest
from tasks.checks.run import Target, run_checks
from tasks.checks.targets import check_context
from tasks.loop.since_start import check_hidden
from tasks.loop.start import open_loop
from tasks.repository.hidden import copy_over, hidden_folder, require_outside
from tasks.repository.state_ref import read_state, replace_state, show_state
from tests.fakes.repositories import NOW, LoopWork, commit, make_repository, start_loop, write

pytestmark = pytest.mark.feature("V14")

SECRET = "sesame-7316"
FILES = {"answer": "41\n", "tests/one.sh": 'test "$(cat answer)" = 42\n', "tests/data": "visible\n"}


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    write(tmp_path / "own", {"tests/two.sh": f'echo {SECRET}; test "$(cat answer)" = 42\n', "tests/data": f"{SECRET}\n"})
    return start_loop(make_repository(tmp_path / "top", FILES), tmp_path / "tree")


def hiding(work: LoopWork, *commands: str) -> LoopWork:
    """The same loop with hidden checks, its state written anew."""
    hidden = [{"command": one, "folder": str(work.path.parent / "own")} for one in commands]
    after = work.configured(hidden=hidden).state
    return replace(work, state=replace_state(work.repository, work.state, after, "hide"))


def found(work: LoopWork, head: str) -> tuple[CheckResult, ...]:
    return check_hidden(work.context, work.state, head, "1-1")


def test_the_hidden_folder_exists_for_its_run_only(work: LoopWork) -> None:
    work = hiding(work, f"grep -q {SECRET} tests/data && sh tests/two.sh")
    head = commit(work.path, "work", {"answer": "42\n"})
    assert [(one.name, one.passed) for one in found(work, head)] == [("hidden 1", True)]
    room = check_context(work.context, work.state)
    run_checks(room, Target(head, head, work.state.config))
    assert (room.root / "tests" / "data").read_text() == "visible\n"
    assert not (room.root / "tests" / "two.sh").exists()


def test_failing_hidden_checks_are_named_and_their_output_stored(work: LoopWork) -> None:
    work = hiding(work, "sh tests/two.sh")
    (result,) = found(work, commit(work.path, "nothing"))
    assert (result.name, result.passed) == ("hidden 1", False)
    assert SECRET not in result.model_dump_json()
    assert SECRET in (hidden_folder(work.state.uid) / "output" / "1-1.log").read_text()


def test_the_state_contains_only_names(work: LoopWork) -> None:
    work = hiding(work, f"test {SECRET}")
    assert work.state.config.isolation.hide[-1] == str(work.path.parent / "own")
    assert read_state(work.repository, work.state.loop)[0] == work.state
    shown = show_state(work.repository, work.state.loop).state.config.hidden[0]
    assert (shown.name, shown.folder, shown.is_available) == ("hidden 1", "", False)
    objects = work.sh("cat-file", "--batch-all-objects", "--batch")
    assert SECRET not in objects
    assert str(work.path.parent / "own") not in objects


def test_two_hidden_checks_of_the_same_name_both_run(work: LoopWork) -> None:
    hidden = [{"command": command, "name": "acceptance"} for command in ("false", "true")]
    after = work.configured(hidden=hidden).state
    replace_state(work.repository, work.state, after, "hide")
    work = replace(work, state=read_state(work.repository, after.loop)[0])
    assert [one.passed for one in found(work, commit(work.path, "nothing"))] == [False, True]


def test_a_resumed_loop_with_hidden_checks_keeps_the_clean_checkout(work: LoopWork) -> None:
    work = hiding(work, "true")
    request = LoopRequest(repository=str(work.repository.top), loop=work.state.loop, reopen=True)
    for settings in ({"workspace": {"clean": False}}, {"hidden": [{"command": "true", "folder": str(work.repository.top)}]}):
        with pytest.raises(OperatorError, match="hidden check"):
            open_loop(request.model_copy(update={"settings": settings}), "", NOW)
    assert open_loop(request.model_copy(update={"settings": {"limits": {"iterations": 40}}}), "", NOW).config.hidden


def test_nothing_completes_without_the_commands(work: LoopWork) -> None:
    work = hiding(work, "true")
    (hidden_folder(work.state.uid) / "checks.json").unlink()
    elsewhere = replace(work, state=read_state(work.repository, work.state.loop)[0])
    with pytest.raises(OperatorError, match="not on this machine"):
        found(elsewhere, elsewhere.start)


def test_hidden_checks_run_with_the_tests_of_the_start(work: LoopWork) -> None:
    work = hiding(work, "sh tests/one.sh")
    (result,) = found(work, commit(work.path, "cheat", {"tests/one.sh": "exit 0\n"}))
    assert not result.passed


@pytest.mark.parametrize("place", ["tests", "tests/two.sh"])
def test_links_cannot_redirect_the_hidden_folder(work: LoopWork, tmp_path: Path, place: str) -> None:
    tree, outside = tmp_path / "laid", tmp_path / "outside"
    write(tree, {"a": "a\n"})
    outside.mkdir()
    (tree / place).parent.mkdir(exist_ok=True)
    (tree / place).symlink_to(outside / "two.sh" if place.endswith("sh") else outside)
    copy_over(tmp_path / "own", tree)
    assert list(outside.iterdir()) == []
    assert SECRET in (tree / "tests" / "two.sh").read_text()


def test_links_in_the_folder_of_a_hidden_check_are_followed(tmp_path: Path) -> None:
    write(tmp_path, {"shared/test_a.sh": "exit 1\n", "own/more/test_b.sh": "exit 1\n", "tree/app.py": ""})
    (tmp_path / "own" / "shared").symlink_to("../shared")
    (tmp_path / "own" / "test_c.sh").symlink_to("../shared/test_a.sh")
    (tmp_path / "own" / "more" / "round").symlink_to("..")
    (tmp_path / "own" / "more" / "again").symlink_to("../../shared")
    copy_over(tmp_path / "own", tmp_path / "tree")
    copied = ("shared/test_a.sh", "more/test_b.sh", "more/again/test_a.sh", "test_c.sh")
    assert [(tmp_path / "tree" / name).read_text() for name in copied] == ["exit 1\n"] * len(copied)
    (tmp_path / "own" / "gone.sh").symlink_to("nowhere")
    with pytest.raises(OperatorError, match=r"leads nowhere[\s\S]*own/gone\.sh"):
        copy_over(tmp_path / "own", tmp_path / "tree")


def test_replaced_links_are_restored_afterwards(work: LoopWork, tmp_path: Path) -> None:
    work = hiding(work, "sh tests/two.sh")
    work.sh("rm", "-rq", "tests")
    (work.path / "tests").symlink_to(tmp_path)
    head = commit(work.path, "cheat", {"answer": "42\n"})
    assert [one.passed for one in found(work, head)] == [True]
    assert not list(tmp_path.glob("two.sh"))
    assert not (check_context(work.context, work.state).root / "tests" / "two.sh").exists()


@pytest.mark.parametrize(
    ("folder", "clean", "said"),
    [
        ("top/tests", True, "outside of the repository"),
        (".", True, "or around it"),
        ("none", True, "no folder"),
        ("own", False, "clean"),
    ],
)
def test_hidden_folders_that_the_agent_could_read_are_rejected(
    work: LoopWork, tmp_path: Path, folder: str, clean: bool, said: str
) -> None:
    hidden = ({"command": "true", "folder": str(tmp_path / folder)},)
    config = LoopConfig.model_validate({"goal": "x", "hidden": hidden, "workspace": {"clean": clean}})
    with pytest.raises(OperatorError, match=said):
        require_outside(work.repository, config)
