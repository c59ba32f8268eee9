"""Files in a tree that an agent writes to: what it plants or swaps leads nowhere, and nothing hangs."""

import threading
from pathlib import Path
from uuid import uuid4

import pytest

from helmsman.config import CheckConfig
from helmsman.records.checks import CheckReport
from helmsman.render.artifacts import checks_page
from tasks.checks.run import CheckContext, run_check
from tasks.repository.worktree import Worktree
from tasks.system.files import lies_within, read_plain, read_within, remove_within
from tasks.system.process import never_stop
from tests.fakes.repositories import shell
from tests.unit.builders import config, state

pytestmark = pytest.mark.feature("X3", "X4")

REPORT = '<testsuite><testcase classname="t" name="{}"/></testsuite>'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "out").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "r.xml").write_text(REPORT.format("secret"))
    return tmp_path / "tree"


PLANTED = {
    "a link to a file": "ln -s ../../outside/r.xml out/r.xml",
    "a link to a folder": "rmdir out; ln -s ../outside out",
    "a pipe": "mkfifo out/r.xml",
    "a device": "ln -s /dev/zero out/r.xml",
    "a folder": "mkdir out/r.xml",
    "a circle": "ln -s r.xml out/r.xml",
}


@pytest.mark.parametrize("plant", PLANTED)
def test_only_regular_files_of_the_tree_are_read_or_removed(tree: Path, plant: str) -> None:
    shell(tree, PLANTED[plant])
    assert read_within(tree, "out/r.xml", 1000) is None
    remove_within(tree, "out/r.xml")
    assert (tree.parent / "outside" / "r.xml").read_text() == REPORT.format("secret")


NAMES = ["../outside/r.xml", "out/../../outside/r.xml", "..", ".", "", "a\0b", f"out/{'x' * 300}", "a/" * 3000]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_tree(tree: Path, name: str) -> None:
    assert read_within(tree, name, 1000) is None
    remove_within(tree, name)
    assert (tree / "out").is_dir()
    assert (tree.parent / "outside" / "r.xml").exists()
    absolute = str(tree.parent / "outside" / "r.xml")
    remove_within(tree, absolute)
    assert read_within(tree, absolute, 1000) is None
    assert Path(absolute).exists()


def test_a_link_that_stays_in_the_tree_is_followed(tree: Path) -> None:
    (tree / "real").mkdir()
    (tree / "real" / "it.xml").write_text("inside")
    (tree / "out" / "r.xml").symlink_to("../real/it.xml")
    (tree / "latest").symlink_to("out")
    assert read_within(tree, "latest/r.xml", 1000) == b"inside"
    assert read_within(tree, "latest/r.xml", 3) == b"ins"


def test_no_outside_file_is_read_or_removed_while_folders_are_swapped_for_links(tree: Path) -> None:
    """The agent's side swaps the folder for a link to another one with the same names, and back, as quickly as it can."""
    (tree / "out" / "r.xml").write_text("inside")
    (tree / "spare").symlink_to("../outside")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (tree / "out").rename(tree / "aside")
            (tree / "spare").rename(tree / "out")
            (tree / "out").rename(tree / "spare")
            (tree / "aside").rename(tree / "out")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        seen = {read_within(tree, "out/r.xml", 1000) for _ in range(3000)}
        for _ in range(300):
            remove_within(tree, "out/r.xml")
    finally:
        done.set()
        swapping.join()
    assert seen <= {None, b"inside"}
    assert (tree.parent / "outside" / "r.xml").exists()


@pytest.mark.parametrize("plant", ["a pipe", "a device", "a folder"])
def test_what_would_block_or_never_end_is_an_error(tree: Path, plant: str) -> None:
    shell(tree, PLANTED[plant])
    with pytest.raises(OSError, match=r"file|directory"):
        read_plain(tree / "out" / "r.xml", 1000)


def test_a_circular_link_is_within_no_tree(tree: Path) -> None:
    (tree / "out" / "round").symlink_to("round")
    assert lies_within(tree, tree / "out" / "to be")
    assert not lies_within(tree, tree / "out" / "round" / "x")
    assert not lies_within(tree, tree.parent / "outside")


# --- the report of a check --------------------------------------------------------------------------------------------


def counts(tree: Path, command: str, report: str = "out/r.xml") -> object:
    check = CheckConfig(command=command, report=report)
    result = run_check(CheckContext(Worktree(tree), f"it-{uuid4().hex}", never_stop, ("secret", "mine")), 0, check, 20)
    return result.counts.passed if result.counts else None, result.ran


def test_a_report_in_the_tree_is_read(tree: Path) -> None:
    (tree / "mine.xml").write_text(REPORT.format("mine"))
    assert counts(tree, "cp mine.xml out/r.xml") == (1, ("mine",))


@pytest.mark.parametrize(
    ("command", "report", "told"),
    [
        ("ln -s ../outside build; cp mine.xml build/new.xml", "build/new.xml", True),
        ("cp mine.xml ../outside/new.xml", "../outside/new.xml", True),
        ("cp mine.xml out/r.xml", "out/r.xml", False),
        ("true", "out/r.xml", False),
    ],
)
def test_a_report_outside_of_the_tree_is_not_read_and_is_reported(tree: Path, command: str, report: str, told: bool) -> None:
    (tree / "mine.xml").write_text(REPORT.format("mine"))
    result = run_check(
        CheckContext(Worktree(tree), f"it-{uuid4().hex}", never_stop), 0, CheckConfig(command=command, report=report), 20
    )
    assert (result.passed, result.error, "is not read" in result.remark) == (True, "", told)
    shown = checks_page(state(config()).model_copy(update={"checks": CheckReport(tree="t", results=(result,))}))
    assert ("is not read" in shown) is told


@pytest.mark.parametrize("plant", PLANTED)
def test_a_report_that_was_there_before_neither_counts_nor_takes_others_along(tree: Path, plant: str) -> None:
    shell(tree, PLANTED[plant])
    assert counts(tree, "true") == (None, ())
    assert (tree.parent / "outside" / "r.xml").exists()


@pytest.mark.parametrize("command", ["ln -s ../../outside/r.xml out/r.xml", "mkfifo out/r.xml", "ln -s /dev/zero out/r.xml"])
def test_a_check_that_leaves_a_trap_for_its_report_has_none(tree: Path, command: str) -> None:
    assert counts(tree, command) == (None, ())
