"""`helmsman demo` as somebody sees it who has just installed it."""

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.fakes.command_line import CommandLine
from tests.fakes.processes import Ended, eventually, processes, wait_for_end

pytestmark = pytest.mark.timeout(300)  # it starts an engine of its own, on an empty database
of_one_demo = pytest.mark.xdist_group("demo")  # they look at one run, on one worker


@dataclass(frozen=True)
class Place:
    """A machine's folders, to see what a demo leaves in them."""

    helmsman: CommandLine
    home: Path
    temporary: Path

    def remaining_files(self) -> list[str]:
        return sorted(path.name for folder in (self.home, self.temporary) for path in folder.iterdir())

    def alive(self) -> list[psutil.Process]:
        return processes("TMPDIR", str(self.temporary))


def place(folder: Path) -> Place:
    temporary = folder / "tmp"
    temporary.mkdir()
    (home := folder / "home").mkdir()
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "IS_SANDBOX": "1", "TMPDIR": str(temporary)}
    return Place(CommandLine(folder, variables, warm=False), home, temporary)


@dataclass(frozen=True)
class DemoRun:
    place: Place
    run: Ended


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    made = place(tmp_path_factory.mktemp("demo"))
    return DemoRun(made, made.helmsman.run("demo"))


@of_one_demo
@pytest.mark.feature("V9")
def test_the_demo_says_that_its_model_is_scripted_and_ends_well(demo_run: DemoRun) -> None:
    assert (demo_run.run.exit_code, demo_run.run.errors) == (0, "")
    assert "the model behind it is SCRIPTED" in demo_run.run.output
    assert "real Claude Code CLI" in demo_run.run.output


README = Path(__file__).parents[2] / "README.md"
TOLD = re.compile(r"#\d+  (?!the agent starts)|    (stop   |tree|check|claim|warn|→)|[a-z]+ {4,}|$")
VARIES = re.compile(r"\b[0-9a-f]{10,12}\b|\b[\d.]+ s\b")


@of_one_demo
@pytest.mark.feature("V9")
def test_the_readme_shows_the_demo_as_it_is_with_a_false_claim_that_is_rejected(demo_run: DemoRun) -> None:
    shown = README.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0].splitlines()
    run = demo_run.run.output.partition("#0")[1:]
    lines = [line for line in "".join(run).partition("\n\nThe branch")[0].splitlines() if TOLD.match(line)]
    assert [VARIES.sub("…", line) for line in shown] == [VARIES.sub("…", line) for line in lines]
    assert len(shown) <= 30
    assert [line.partition(";")[0].strip() for line in shown if "→" in line][:2] == ["→ continue: the check fails"] * 2


@of_one_demo
def test_the_demo_ends_with_the_branch_its_log_and_the_state_ref(demo_run: DemoRun) -> None:
    end = demo_run.run.output.partition("The branch\n")[2]
    subjects = ("Remove accents before joining", "Join words by dashes", "refs/helmsman/demo/state")
    assert not [words for words in subjects if words not in end]
    memory = end.partition("refs/helmsman/demo/state")[2].split("\n\n")[0].strip().splitlines()
    assert [line.split(":")[0].split(maxsplit=1)[1] for line in memory] == [
        "iteration 3",
        "iteration 2",
        "iteration 1",
        "baseline",
        "start",
    ]
    assert "branch     helmsman/demo at" in demo_run.run.output
    assert "Its folder is removed" in demo_run.run.output


@of_one_demo
def test_the_demo_leaves_neither_a_file_nor_a_process(demo_run: DemoRun) -> None:
    assert demo_run.place.remaining_files() == []
    assert demo_run.place.alive() == []


def test_a_demo_that_is_to_be_kept_is_kept_even_when_it_is_interrupted(tmp_path: Path) -> None:
    made = place(tmp_path)
    demo = made.helmsman.start("demo", "--keep")
    assert demo.stdout is not None
    opening = demo.stdout.readline()
    demo.send_signal(signal.SIGINT)
    assert wait_for_end(demo).exit_code == 130
    (kept,) = made.remaining_files()
    assert str(made.temporary / kept / "repository") in opening
    assert (made.temporary / kept / "repository" / "slug.py").is_file()
    assert eventually(lambda: made.alive() == []), made.alive()
