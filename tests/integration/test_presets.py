"""Presets: their settings and hats, files of the repository, and the commands that list, show and create them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deployments.settings import configuration
from helmsman.config.layers import Layer as Said
from helmsman.config.layers import leaves, resolve
from helmsman.errors import OperatorError
from helmsman.orient.hats import CALLED, DEFAULT_REASON, choose
from helmsman.oversee.advice import PERSONAS
from helmsman.oversee.answers import reconfigure
from helmsman.parsers.definitions import read_sheet
from helmsman.records.hats import IMPLEMENTER, Condition, PresetSheet
from helmsman.records.request import LoopRequest
from tasks.agents.catalogue import LoopSettings
from tasks.hats import finding
from tasks.hats.finding import BUILT_IN, INTEGRATOR, add_preset, find_preset, known_presets, preset_text
from tasks.loop.configure import configure
from tasks.loop.start import create_loop, open_loop
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_state
from tasks.system.files import LARGEST_FILE
from tests.fakes.command_line import CommandLine, read_object
from tests.fakes.processes import Ended
from tests.fakes.repositories import make_repository
from tests.unit.hat_scenes import DEBUGGER, QUIET, definition_text, hat, scene_for

pytestmark = pytest.mark.feature("M10")

NOWHERE = Path("nowhere")
PRESETS, HATS = finding.PRESETS.folder, finding.HATS.folder
OURS = {name: find_preset(NOWHERE, name) for name in known_presets(NOWHERE)}
WANTED = {
    "feature", "bugfix", "test-fix", "refactor", "docs", "review", "migration", "research", "performance", "security",
    "dependencies", "types", "coverage", "cleanup",
}  # fmt: skip
NOW = datetime(2026, 11, 22, tzinfo=UTC)
SHEET = PresetSheet(
    name="mine",
    title="Mine",
    about="Ours.",
    hats=("debugger", "scribe"),
    settings={"limits": {"iterations": 5, "cost_usd": 7}},
    guidance="Keep it short.",
)
SCRIBE = hat("scribe", Condition(first=True))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with a preset and hats of its own."""
    make_repository(tmp_path / "repository", {})
    put(tmp_path / "repository", PRESETS, "mine", definition_text(SHEET))
    put(tmp_path / "repository", HATS, "debugger", definition_text(DEBUGGER))
    put(tmp_path / "repository", HATS, "scribe", definition_text(SCRIBE))
    return tmp_path / "repository"


def put(top: Path, folder: str, name: str, text: str) -> Path:
    path = top / folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def configured(top: Path, **settings: Any) -> LoopSettings:
    return configure(top, LoopRequest(repository=str(top), goal="g", checks=("true",), settings=settings))


def refused(top: Path, **settings: Any) -> str:
    with pytest.raises(OperatorError) as caught:
        configured(top, **settings)
    return str(caught.value)


# --- those that come with Helmsman ----------------------------------------------------------------------------------


def test_there_is_a_preset_for_each_common_kind_of_work() -> None:
    assert set(OURS) == WANTED
    assert len({preset.sheet.about for preset in OURS.values()}) == len(WANTED)


def test_the_settings_of_a_preset_are_configuration_that_changes_something() -> None:
    goal = Said("command line", {"goal": "g"})
    plain = leaves(resolve([goal]).config)
    for name, preset in OURS.items():
        given = resolve([goal, Said("preset", preset.sheet.settings)])
        said = {key for key, source in given.origins.items() if source == "preset"}
        assert said, name
        assert not [key for key in said if leaves(given.config)[key] == plain[key]], name


@pytest.mark.feature("S8")
def test_every_hat_of_a_preset_is_worn_in_the_situations_that_it_declares_or_where_the_ladder_asks_for_it() -> None:
    """Alone in that situation; where two hold at once the one of higher priority is worn."""
    for name, preset in OURS.items():
        usual, *others = preset.hats
        assert choose(preset, QUIET) == (usual, DEFAULT_REASON)
        for other in others:
            assert all(choose(preset, scene_for(condition))[0] == other for condition in other.when), (name, other.name)
        worn = {usual.name} | {other.name for other in others if other.when} | set(CALLED.values())
        assert {hat.name for hat in preset.hats} == worn
        for persona in filter(None, PERSONAS):
            assert choose(preset, replace(QUIET, persona=persona))[0].name == CALLED[persona]
        assert choose(preset, replace(QUIET, conflict=True))[0].name == INTEGRATOR


# --- those of a repository ------------------------------------------------------------------------------------------


def test_a_preset_of_the_repository_is_found_with_its_own_hats_and_ours(top: Path) -> None:
    preset = find_preset(top, "mine")
    assert preset.sheet == SHEET
    assert [hat.name for hat in preset.hats[:3]] == [IMPLEMENTER, "debugger", "scribe"]
    assert preset.hats[1] == DEBUGGER
    assert preset.source == f"{PRESETS}/mine.md"
    assert known_presets(top)["bugfix"] == BUILT_IN


def test_what_a_preset_says_is_the_weakest_of_all_that_is_said(top: Path) -> None:
    (top / "helmsman.toml").write_text('preset = "mine"\n[limits]\ncost_usd = 3\n')
    found = configured(top)
    assert (found.config.limits.iterations, found.origins["limits.iterations"]) == (5, "preset mine")
    assert (found.config.limits.cost_usd, found.origins["limits.cost_usd"]) == (3, "helmsman.toml")
    assert found.origins["preset"] == "helmsman.toml"
    other = configured(top, preset="bugfix", limits={"iterations": 4})
    assert other.preset
    assert (other.preset.name, other.config.limits.iterations) == ("bugfix", 4)
    none = configured(top, preset="")
    assert (none.preset, none.origins["limits.iterations"]) == (None, "default")


def test_a_model_that_the_operator_names_by_hand_wins_over_the_hats(top: Path) -> None:
    def kept(**settings: Any) -> tuple[str | None, str]:
        preset = configured(top, preset="mine", **settings).preset
        assert preset
        return preset.replaces, preset.hats[1].model

    assert kept() == ("", "opus")
    assert kept(claude={"model": "haiku"}) == (None, "")
    assert kept(claude={"model": "haiku"}, hats={"models": {"scribe": "opus"}}) == ("haiku", "")
    (top / "helmsman.toml").write_text('[claude]\nmodel = "sonnet"\n')
    assert kept() == ("sonnet", "opus")


def test_a_loop_keeps_its_preset_whatever_becomes_of_the_files(top: Path) -> None:
    repository, request = open_repository(top), LoopRequest(repository=str(top), goal="g", checks=("true",), loop="one")
    state = open_loop(request.model_copy(update={"settings": {"preset": "mine"}}), "", NOW)
    for path in (top / PRESETS).iterdir():
        path.unlink()
    again = open_loop(request, "", NOW)
    assert again == read_state(repository, "one")[0] == state
    assert again.preset
    assert again.preset.sheet == SHEET
    with pytest.raises(OperatorError, match="keeps the preset that it started with"):
        reconfigure(again, {"preset": "bugfix"})
    assert reconfigure(again, {"preset": "mine", "limits": {"iterations": 9}}).limits.iterations == 9


# --- hostile files, and slips ---------------------------------------------------------------------------------------


BROKEN: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "another name": (definition_text(SHEET).replace('"mine"', '"yours"'), ('name = "mine"', "'yours'")),
    "a hat that is not there": (definition_text(SHEET).replace("scribe", "scribbe"), ("'scribbe'; did you mean scribe?",)),
    "a large one": (definition_text(SHEET) + "x" * LARGEST_FILE, (f"it is larger than {LARGEST_FILE} bytes",)),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_preset_is_refused_with_its_place(what: str, top: Path) -> None:
    text, words = BROKEN[what]
    put(top, PRESETS, "mine", text)
    told = refused(top, preset="mine")
    assert not [word for word in words if word not in told], told


def test_a_misspelled_name_gets_a_suggestion(top: Path) -> None:
    assert "no preset 'bugfixx'; did you mean bugfix?" in refused(top, preset="bugfixx")
    assert "no preset '..'" in refused(top, preset="..")
    assert "'debuger'; did you mean debugger?" in refused(top, preset="mine", hats={"models": {"debuger": "opus"}})
    assert "preset (command line): expected text, found 5" in refused(top, preset=5)


@pytest.mark.parametrize("folder", [PRESETS, HATS, ".helmsman"])
def test_a_link_that_leads_out_of_the_repository_is_refused(folder: str, top: Path, tmp_path: Path) -> None:
    (top / folder).rename(tmp_path / "outside")
    (top / folder).symlink_to(tmp_path / "outside")
    assert "leads out of its repository" in refused(top, preset="mine")


@pytest.mark.parametrize("named", ["../outside/mine.md", "/dev/zero", "link.md"])
def test_a_file_of_the_repository_names_no_preset_outside_of_it(named: str, top: Path, tmp_path: Path) -> None:
    target = put(tmp_path, "outside", "mine", definition_text(SHEET))
    (top / "link.md").symlink_to(target)
    (top / "helmsman.toml").write_text(f'preset = "{named}"\n')
    assert "leads out of its repository" in refused(top)
    assert configured(top, preset=str(target)).preset  # but a person may


# --- new ones -------------------------------------------------------------------------------------------------------


def test_a_new_preset_is_written_once_and_into_the_repository(top: Path, tmp_path: Path) -> None:
    path = add_preset(top, "next", preset_text(top, "mine", "next"))
    assert read_sheet(path.read_text(), "x.md").name == "next"
    with pytest.raises(OperatorError, match="already exists"):
        add_preset(top, "next", "")
    (top / PRESETS).rename(tmp_path / "outside")
    (top / PRESETS).symlink_to(tmp_path / "outside")
    with pytest.raises(OperatorError, match="leads out of its repository"):
        add_preset(top, "third", "")


# --- what they promise ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["protect", "allow"])
def test_patterns_of_a_file_come_on_top_of_the_presets(top: Path, key: str) -> None:
    (top / "helmsman.toml").write_text(f'preset = "review"\n[invariants]\n{key} = ["mine/**"]\n')
    found = configured(top).config.invariants
    assert ("mine/**" in found.protect, "mine/**" in found.allow) == (key == "protect", key == "allow")
    assert "**" in found.protect
    assert "REVIEW.md" in found.allow


def test_patterns_given_by_hand_take_the_place_of_the_presets(top: Path) -> None:
    assert configured(top, preset="review", invariants={"protect": ["mine/**"]}).config.invariants.protect == ("mine/**",)


def test_a_new_loop_never_takes_the_place_of_one_that_was_begun_meanwhile(top: Path) -> None:
    repository, config = open_repository(top), configured(top).config
    create_loop(repository, LoopSettings(config, {}), "same", NOW)
    with pytest.raises(OperatorError, match="a loop named same already exists"):
        create_loop(repository, LoopSettings(config, {}), "same", NOW)


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
        "hat        architect            if the escalation level asks for it",
        "setting    limits.iterations = 15",
        "check      all existing tests",
        "Start with a test that fails because of this bug",
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
