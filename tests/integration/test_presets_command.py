"""`helmsman presets` and `run --preset` as a person uses them."""

from pathlib import Path
from typing import Any

import pytest

from deployments.settings import configuration
from helmsman.records.hats import Condition, PresetSheet
from tasks.hats.finding import find_preset
from tasks.loop.start import create_loop
from tasks.repository.git import open_repository
from tests.fakes.command_line import CommandLine, read_object
from tests.fakes.definition_files import definition_text
from tests.fakes.processes import Ended
from tests.integration.test_presets import NOW, WANTED, put
from tests.unit.hat_scenes import hat

pytestmark = pytest.mark.feature("M10")

EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202enews"


def tell(helmsman: CommandLine, *arguments: str, code: int = 0) -> Ended:
    told = helmsman.run("presets", *arguments, "--repo", helmsman.repository)
    assert told.exit_code == code, (told.output, told.errors)
    assert "Traceback" not in told.errors
    return told


def plain(helmsman: CommandLine, *arguments: str) -> dict[str, Any]:
    return read_object(tell(helmsman, *arguments, "--json").output)


def test_a_list_has_every_preset_the_repository_s_own_with_their_files_and_broken_ones_with_the_reason(
    helmsman: CommandLine,
) -> None:
    put(helmsman.repository, ".helmsman/presets", "broken", "nothing")
    tell(helmsman, "new", "ours", "--from", "bugfix")
    rows = tell(helmsman, "list").output.splitlines()
    assert {row.split()[0] for row in rows if row[0] != " "} == WANTED | {"ours", "broken"}
    assert "               in .helmsman/presets/ours.md" in rows
    assert any(row.startswith("broken") and "cannot be used: .helmsman/presets/broken.md:1:" in row for row in rows)
    listed = {one["name"]: one for one in plain(helmsman, "list")["presets"]}
    assert listed["bugfix"]["source"] == "built in"
    assert "+++" in listed["broken"]["problem"]


def test_a_preset_is_shown_in_full(helmsman: CommandLine) -> None:
    told = tell(helmsman, "show", "bugfix").output
    for words in (
        "preset     bugfix: Bug fix (built in)",
        "hat        debugger             if no other hat's condition holds",
        "hat        tester               nothing is done yet",
        "hat        architect            if the ladder asks for it",
        "setting    limits.iterations = 15",
        "check      all existing tests",
        "First comes a test that fails because of this bug",
    ):
        assert words in told
    shown = plain(helmsman, "show", "bugfix")
    assert shown["sheet"]["name"] == "bugfix"
    assert "did you mean bugfix?" in tell(helmsman, "show", "bugfx", code=2).errors


def test_a_new_preset_is_a_copy_or_a_usable_template(helmsman: CommandLine) -> None:
    assert "helmsman run GOAL --preset our-api" in tell(helmsman, "new", "our-api").output
    copied = plain(helmsman, "new", "our-bugs", "--from", "bugfix")
    assert copied["name"] == "our-bugs"
    ours, theirs = (find_preset(helmsman.repository, name).sheet for name in ("our-bugs", "bugfix"))
    assert ours == theirs.model_copy(update={"name": "our-bugs"})
    assert Path(copied["file"]).is_file()
    for name in ("our-api", "our-bugs"):
        assert configuration(open_repository(helmsman.repository), {"goal": "g", "check": ["true"], "preset": name}).preset
    assert "already exists" in tell(helmsman, "new", "our-api", code=2).errors
    assert "not a valid name for a preset" in tell(helmsman, "new", "../x", code=2).errors


def test_a_start_takes_the_preset_by_name_or_by_a_path_from_where_it_was_given(helmsman: CommandLine) -> None:
    put(
        helmsman.folder,
        "team",
        "shared",
        definition_text(PresetSheet(name="shared", title="S", about="A.", settings={"limits": {"tokens": 9}})),
    )
    arguments = ("run", "g", "--check", "true", "--repo", "repository", "--set", "claude.binary=nowhere/claude")
    assert "nowhere/claude" in helmsman.run(*arguments, "--preset", "team/shared.md").errors  # everything before that was right
    assert "did you mean bugfix?" in helmsman.run(*arguments, "--preset", "bugfx").errors
    assert (
        "for a bugfix: a test that fails"
        in helmsman.run("run", "g", "--yes", "--repo", "repository", "--preset", "bugfix").errors
    )
    shown = helmsman.run("config", "--repo", "repository", "--set", "preset=team/../bugfix", "--json")
    assert shown.exit_code == 2
    shown = helmsman.run("config", "--repo", "repository", "--set", "preset=bugfix", "--json")
    assert read_object(shown.output)["limits.iterations"] == {"value": 15, "source": "preset bugfix", "owner": "repository"}


def test_untrusted_text_is_printed_without_control_characters(helmsman: CommandLine) -> None:
    hostile = hat("evil", Condition(first=True), prompt=EVIL)
    put(helmsman.repository, ".helmsman/hats", "evil", definition_text(hostile))
    sheet = PresetSheet(name="mine", title="Mine", about="Ours.", hats=("evil",), settings={"claude": {"model": EVIL}})
    put(helmsman.repository, ".helmsman/presets", "mine", definition_text(sheet.model_copy(update={"guidance": EVIL})))
    put(helmsman.repository, ".helmsman/presets", "broken", f"+++\nname = '{EVIL}'\n+++\n")
    for arguments in (("list",), ("show", "mine")):
        told = tell(helmsman, *arguments)
        assert not {character for character in told.output if not character.isprintable()} - {"\n"}
    assert "wiped" in told.output


def test_status_shows_the_next_hat(helmsman: CommandLine) -> None:
    repository = open_repository(helmsman.repository)
    resolved = configuration(repository, {"goal": "g", "check": ["true"], "preset": "bugfix"})
    create_loop(repository, resolved, "one", NOW)
    told = helmsman.run("status", "one", "--repo", "repository")
    assert "hat        tester: nothing is done yet (bugfix)" in told.output.splitlines()
