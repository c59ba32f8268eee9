"""What a person asks the command line in passing: one key of the configuration, help, the version."""

import pytest

from helmsman.config import LoopConfig
from helmsman.config.layers import leaves
from tests.fakes.command_line import CommandLine, read_object


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
