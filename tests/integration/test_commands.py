"""Commands: the chosen loop, options that contradict, goals on standard input, help and single keys."""

import io
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from deployments.answer import answer, cancel_loop
from deployments.choosing import chosen_loop
from deployments.deploy import new_pool
from deployments.settings import goal_settings
from deployments.show import show_list, show_status
from deployments.start_directory import STANDARD_STREAM
from helmsman.config import LoopConfig
from helmsman.config.layers import leaves
from helmsman.errors import OperatorError
from helmsman.records.gates import Gate, GateKind
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import group_folder, loop_folder
from tasks.repository.state_ref import write_state
from tasks.system.lock import exclusive_driver
from tests.fakes.command_line import CommandLine, read_object
from tests.fakes.repositories import make_repository
from tests.unit import builders

ASKED = Gate(key="merge-3", kind=GateKind.MERGE, question="May it be merged?", asked_at=builders.NOW)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With an older loop and a newer one."""
    repository = open_repository(make_repository(tmp_path / "top"))
    for age, name in enumerate(("newer", "older")):
        at = builders.NOW - timedelta(hours=age)
        state = builders.state(loop=name, uid=name, created_at=at, updated_at=at)
        write_state(repository, state, over=None, record=None, subject="start")
    return repository


@pytest.mark.feature("H4")
def test_a_named_loop_is_chosen_over_a_running_one_and_that_over_the_latest(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen_loop(repository, None) == "newer"
    with exclusive_driver(loop_folder(repository, "older").lock, "older"):
        assert chosen_loop(repository, "newer") == "newer"
        show_status(repository.top, None, as_json=True)
        told = json.loads(capsys.readouterr().out)
    assert told["loop"] == "older"
    assert f"process {os.getpid()} " in told["driver"]


@pytest.mark.feature("H4")
def test_the_list_shows_an_open_question_as_waiting(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    write_state(repository, builders.state(loop="asking", gate=ASKED), over=None, record=None, subject="start")
    show_list(repository.top, as_json=False)
    assert "asking  … waiting" in capsys.readouterr().out


@pytest.mark.feature("H4")
def test_an_answer_that_no_process_has_read_is_shown_instead_of_the_choices(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    write_state(repository, builders.state(loop="asking", gate=ASKED), over=None, record=None, subject="start")
    show_status(repository.top, "asking", as_json=False)
    assert "helmsman approve asking" in capsys.readouterr().out
    assert answer(repository.top, "asking", "approve", guidance="", by="Ada", as_json=False) == 0
    capsys.readouterr()
    show_status(repository.top, "asking", as_json=False)
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == ["answered   approve by Ada (command line)", "next       helmsman resume asking"]


def make_group(repository: Repository) -> str:
    """A group of two loops. Returns the text that names what continues the second one."""
    folder = group_folder(repository, "the-shop")
    folder.root.mkdir(parents=True)
    folder.names.write_text("the-shop-1\nthe-shop-2")
    return "run the command that started group the-shop again; or only this loop: helmsman resume the-shop-2"


@pytest.mark.feature("H4")
@pytest.mark.parametrize("loop", ["the-shop-2", "the-shop-3"])
def test_cancelling_a_loop_names_what_continues_it_and_its_group_only_if_the_group_has_it(
    repository: Repository, capsys: pytest.CaptureFixture[str], loop: str
) -> None:
    of_group = make_group(repository)
    again = of_group if loop == "the-shop-2" else f"helmsman resume {loop}"
    write_state(repository, builders.state(loop=loop), over=None, record=None, subject="start")
    assert cancel_loop(repository.top, loop, as_json=False) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"next       {again}"


@pytest.mark.feature("H4")
def test_after_an_answer_to_a_loop_of_a_group_the_command_of_the_group_is_named(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    write_state(repository, builders.state(loop="the-shop-2", gate=ASKED), over=None, record=None, subject="start")
    again = make_group(repository)
    assert answer(repository.top, "the-shop-2", "approve", guidance="", by="Ada", as_json=False) == 0
    show_status(repository.top, "the-shop-2", as_json=False)
    printed = capsys.readouterr().out.splitlines()
    assert (printed[1], printed[-1]) == (f"No process drives the loop now. To continue: {again}", f"next       {again}")


@pytest.mark.feature("H4")
def test_the_status_of_a_group_leaves_out_a_loop_whose_name_only_begins_alike(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    make_group(repository)
    for loop in ("the-shop-2", "the-shop-window"):
        write_state(repository, builders.state(loop=loop), over=None, record=None, subject="start")
    show_status(repository.top, "the-shop", as_json=True)
    assert [loop["loop"] for loop in json.loads(capsys.readouterr().out)["loops"]] == ["the-shop-2"]


@pytest.mark.feature("H4")
def test_a_choice_that_a_question_does_not_offer_is_rejected(repository: Repository) -> None:
    write_state(repository, builders.state(loop="asking", gate=ASKED), over=None, record=None, subject="start")
    with pytest.raises(OperatorError, match="does not offer this choice") as caught:
        answer(repository.top, "asking", "yes", guidance="", by="", as_json=False)
    assert (caught.value.expected, caught.value.found) == (f"one of: {', '.join(ASKED.choices)}", "'yes'")


@pytest.mark.feature("H4")
def test_a_repository_without_loops_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no loop was started"):
        show_status(make_repository(tmp_path / "empty"), None, as_json=True)


@pytest.mark.feature("E11")
def test_config_shows_one_key_a_section_or_what_was_changed(helmsman: CommandLine) -> None:
    def shown(*words: str) -> set[str]:
        return set(read_object(helmsman.run("config", *words, "--repo", helmsman.repository, "--json").output))

    assert shown("limits.iterations") == {"limits.iterations"}
    assert {"limits.iterations", "limits.tokens"} < shown("limits") < set(leaves(LoopConfig(goal="g")))
    assert shown("limits", "--changed", "--set", "limits.tokens=5") == {"limits.tokens"}
    unknown = helmsman.run("config", "limits.iteration", "--repo", helmsman.repository)
    assert (unknown.exit_code, "limits.iterations" in unknown.errors) == (2, True)


@pytest.mark.parametrize(
    ("words", "same"), [(("help",), ("--help",)), (("help", "run"), ("run", "-h")), (("version",), ("--version",))]
)
def test_help_and_version_are_commands_too(words: tuple[str, ...], same: tuple[str, ...], helmsman: CommandLine) -> None:
    one, other = helmsman.run(*words), helmsman.run(*same)
    assert one.exit_code == 0
    assert one.output == other.output


@pytest.mark.feature("O1")
@pytest.mark.parametrize("further", [(), ("--json",)])
def test_a_run_without_a_terminal_is_rejected_and_names_the_option(helmsman: CommandLine, further: tuple[str, ...]) -> None:
    (Path(helmsman.repository) / "left").touch()
    told = helmsman.run("run", "g", "--check", "true", "--repo", helmsman.repository, *further)
    assert (told.exit_code, "pass --yes to start without asking" in told.errors) == (2, True), told
    assert "The loop starts from the last commit, without uncommitted changes in the checkout: left\n" in told.errors
    assert "no loop was started" in helmsman.run("list", "--repo", helmsman.repository).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("parallel", "--goal", "g", "--best-of", "60"),
            ("the group cannot be started", "at most 50 entries", "nothing was started"),
        ),
        (("chain", *(part for number in range(60) for part in ("--goal", f"g{number}"))), ("the group cannot be started", "50")),
        (("chain", "make it work"), ("give a goal with --goal", "chain --draft")),
        (("chain", "--goal", "g", "--name", "My Chain"), ("not a valid name for a group", "'My Chain'", "--name")),
        (("chain", "loops.toml", "--goal", "g"), ("loops.toml and goals",)),
        (("chain", "loops.toml", "--draft"), ("--draft needs a goal", "loops.toml")),
        (("run", "g", "--yes", "--set", "plan=nix", "--plan", "nowhere.md"), ("nowhere.md",)),
        (("run", "g", "--set", "agent=nix", "--agent", "template"), ("needs agent.command",)),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_contradicting_options_are_rejected(helmsman: CommandLine, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    (helmsman.folder / "loops.toml").write_text('[[loops]]\ngoal = "from the file"\n')
    told = helmsman.run(*arguments, "--check", "true", "--repo", "repository")
    assert (told.exit_code, told.output) == (2, ""), told.errors
    assert not [word for word in words if word not in told.errors], told.errors


def test_end_of_input_at_the_question_is_no_consent(helmsman: CommandLine) -> None:
    told = helmsman.run_in_terminal("run", "g", "--check", "true", "--name", "asked", "--repo", "repository", typed="\x04")
    assert (told.exit_code, "not started" in told.output) == (2, True), told.output
    assert "asked" not in helmsman.run("list", "--repo", "repository").output


@pytest.mark.parametrize(
    ("command", "why"),
    [("status --repo", "the repository does not exist"), ("align g --yes --repo repository --out", "File name too long")],
)
def test_an_invalid_file_name_is_reported(helmsman: CommandLine, command: str, why: str) -> None:
    told = helmsman.run(*command.split(), "x" * 300)
    assert (told.exit_code, why in told.errors) == (2, True), told.errors


@pytest.mark.feature("D1")
@pytest.mark.parametrize("name", ["", " ", "a/b", "100%"])
def test_an_invalid_name_of_a_work_pool_is_rejected(name: str) -> None:
    with pytest.raises(OperatorError, match="--pool is not a valid name for a work pool"):
        new_pool(name)
    assert new_pool("team a").type == "process"


GOAL = 'It\'s $(done) when `x` holds:\n\n"yes"\n'


def pipe_goal(goal: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(goal)))


@pytest.mark.parametrize("piped_as", ["utf-8", "utf-8-sig"])
def test_a_goal_is_read_unchanged_from_standard_input(piped_as: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_goal(GOAL.replace("\n", "\r\n").encode(piped_as), monkeypatch)
    assert goal_settings(None, STANDARD_STREAM) == {"goal": GOAL.strip()}


@pytest.mark.parametrize(
    ("goal", "found"), [(b" \n", "nothing"), (b"\xff", "no UTF-8"), (b"x" * (2**20 + 1), "more than 1048576")]
)
def test_standard_input_without_a_goal_is_rejected_with_the_reason(
    goal: bytes, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe_goal(goal, monkeypatch)
    with pytest.raises(OperatorError, match="standard input") as caught:
        goal_settings(None, STANDARD_STREAM)
    assert caught.value.found.startswith(found)


def test_a_goal_in_addition_to_standard_input_is_rejected() -> None:
    assert goal_settings("another", STANDARD_STREAM) == {"goal": "another", "goal_file": "-"}
    assert goal_settings("a goal", None) == {"goal": "a goal"}
    assert goal_settings(None, Path("GOAL.md")) == {"goal_file": "GOAL.md"}
    assert goal_settings(None, None) == {}


@pytest.mark.feature("H4")
def test_options_of_other_loops_set_a_key(helmsman: CommandLine) -> None:
    wrong = ("--max-calls", "0", "--timeout", "0", "--milestone-every", "0", "--completion-promise", "x")
    told = helmsman.run("run", "the goal", "--check", "true", "--repo", helmsman.repository, "--yes", *wrong)
    assert told.exit_code == 2
    for key in ("limits.calls_per_hour", "claude.timeout_minutes", "gates.milestone_every", "completion.promise"):
        assert f"{key} (command line)" in told.errors
