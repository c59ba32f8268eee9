"""Options that contradict each other, or name too much: told in words, and nothing is passed over in silence."""

import pytest

from tests.fakes.command_line import CommandLine, offline_command_line
from tests.fakes.repositories import make_repository

LOOPS = '[[loops]]\ngoal = "from the file"\n'


@pytest.fixture
def helmsman(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    folder = tmp_path_factory.mktemp("several")
    make_repository(folder / "repository", {})
    (folder / "loops.toml").write_text(LOOPS)
    return offline_command_line(folder)


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
def test_what_cannot_be_meant_is_refused_in_words(
    helmsman: CommandLine, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = helmsman.run(*arguments, "--check", "true", "--repo", "repository")
    assert (told.exit_code, told.output) == (2, ""), told.errors
    assert not [word for word in words if word not in told.errors], told.errors


def test_whoever_closes_the_input_at_the_question_has_not_agreed(helmsman: CommandLine) -> None:
    told = helmsman.run_in_terminal("run", "g", "--check", "true", "--name", "asked", "--repo", "repository", typed="\x04")
    assert (told.exit_code, "not started" in told.output) == (2, True), told.output
    assert "asked" not in helmsman.run("list", "--repo", "repository").output


@pytest.mark.parametrize(
    "arguments", [("status", "--repo"), ("align", "g", "--yes", "--repo", "repository", "--out")], ids=" ".join
)
def test_a_name_that_no_file_can_have_is_told_in_words(helmsman: CommandLine, arguments: tuple[str, ...]) -> None:
    told = helmsman.run(*arguments, "x" * 300)
    assert (told.exit_code, "what to do" in told.errors) == (2, True), told.errors
