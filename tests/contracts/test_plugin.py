"""The plugin of the editor: what the real command line says of it, and that it grants no more than it needs."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from deployments.cli import app
from tests.contracts.source import ROOT
from tests.fakes.claude_cli import bundled_cli

pytestmark = pytest.mark.feature("A6")

PLUGIN = ROOT / "plugin"
MARKETPLACE = ROOT / ".claude-plugin" / "marketplace.json"
COMMANDS = sorted((PLUGIN / "commands").glob("*.md"))
GRANTED: Mapping[str, set[str]] = {
    "align": {"align --yes"},
    "answer": {"status", "list"},  # the answer itself is a person's to permit
    "cancel": {"cancel", "list"},
    "explain": {"explain", "log", "list"},
    "resume": {"resume --detach", "list"},
    "start": {"run --detach"},
    "status": {"status", "list"},
}
"""What runs without being asked about, as the beginnings of commands after `helmsman`."""
GRANT = re.compile(r"Bash\(helmsman ([a-z]+(?: --[a-z]+)?):\*\)")
NAMED = re.compile(r"(?:`|^)helmsman ([a-z]+)([^`\n]*)", re.MULTILINE)
OURS = get_command(app)
assert isinstance(OURS, TyperGroup)
OPTIONS = {name: {option for given in one.params for option in given.opts} for name, one in OURS.commands.items()}


def parts(command: Path) -> tuple[dict[str, Any], str]:
    """The front matter of a command, and its prompt."""
    _, front, told = command.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), told


def grants(command: Path) -> set[str]:
    said = str(parts(command)[0]["allowed-tools"]).split(", ")
    return {found[1] if (found := GRANT.fullmatch(one)) else one for one in said}


def validated(path: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """What the real command line says of a plugin or a marketplace."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "DISABLE_AUTOUPDATER": "1"}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1"}
    return subprocess.run(
        [bundled_cli(), "plugin", "validate", "--strict", path],
        cwd=home,
        env={**environment, **quiet},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- the real command line ----------------------------------------------------------------------------------------


def test_the_real_command_line_accepts_the_plugin_and_the_marketplace(tmp_path: Path) -> None:
    plugin, marketplace = validated(PLUGIN, tmp_path), validated(ROOT, tmp_path)
    assert (plugin.returncode, marketplace.returncode) == (0, 0), plugin.stdout + marketplace.stdout
    assert "hooks: SessionStart startup|resume command sh" in plugin.stdout
    found = re.findall(r"commands: helmsman:(\S+)", plugin.stdout)
    assert sorted(found) == sorted(GRANTED)


def test_the_real_command_line_refuses_a_broken_plugin_or_marketplace(tmp_path: Path) -> None:
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    hooks = tmp_path / "plugin" / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"SessionStart"', '"SessionStarted"'))
    (tmp_path / ".claude-plugin").mkdir()
    said = {name: value for name, value in json.loads(MARKETPLACE.read_text()).items() if name != "owner"}
    (tmp_path / ".claude-plugin" / "marketplace.json").write_text(json.dumps(said))
    assert [validated(place, tmp_path).returncode for place in (tmp_path / "plugin", tmp_path)] == [1, 1]


# --- what it is ---------------------------------------------------------------------------------------------------


def test_it_has_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    (offered,) = json.loads(MARKETPLACE.read_text())["plugins"]
    assert {manifest["version"], offered["version"]} == {project["version"]}
    assert {manifest["license"], offered["license"]} == {project["license"]}
    assert (ROOT / offered["source"]).resolve() == PLUGIN


def test_its_commands_grant_what_each_needs_and_nothing_else() -> None:
    assert {command.stem: grants(command) for command in COMMANDS} == GRANTED


@pytest.mark.parametrize("command", COMMANDS, ids=lambda path: path.stem)
def test_only_a_person_invokes_a_command_and_its_arguments_reach_no_shell(command: Path) -> None:
    front, told = parts(command)
    assert front["disable-model-invocation"] is True
    assert "!`" not in told  # what stands behind it would run before anybody has looked at what was typed
    assert told.count("$") == 1
    assert "<typed>\n$ARGUMENTS\n</typed>" in told


@pytest.mark.parametrize("command", COMMANDS, ids=lambda path: path.stem)
def test_every_command_and_option_that_it_names_is_one_of_ours(command: Path) -> None:
    named = NAMED.findall(parts(command)[1])
    assert named
    for name, rest in named:
        assert set(re.findall(r"--[a-z-]+", rest)) <= OPTIONS[name]
