"""Environment of agents and checks, programs that are looked up, and a closed output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from tasks.sandbox.probe import find_bubblewrap
from tasks.system.environment import (
    AGENT_DEFAULTS,
    AGENT_FIXED,
    AGENT_VARIABLES,
    BASIC_VARIABLES,
    DEPTH,
    NEVER_PASSED,
    agent_environment,
    check_environment,
    find_binary,
    inner_depth,
    refuse_nested,
)
from tests.fakes.processes import ROOT
from tests.unit.builders import config

REAL = {"GIT_NO_REPLACE_OBJECTS": "1"}
BASICS = {
    name: f"the {name}"
    for name in (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR"),
        *("COLUMNS", "http_proxy", "HTTPS_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
        *("NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
    )
}
AGENTS = {
    name: f"the {name}"
    for name in (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "API_TIMEOUT_MS"),
        *("AWS_BEARER_TOKEN_BEDROCK", "IS_SANDBOX", "DISABLE_TELEMETRY"),
    )
}
NOBODYS = {
    name: f"the {name}"
    for name in (
        *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PREFECT_API_KEY", "PREFECT_API_URL", "HELMSMAN_HOME", "DATABASE_URL"),
        *("GIT_DIR", "GIT_INDEX_FILE", "GIT_SSH_COMMAND", "SSH_AUTH_SOCK", "PYTHONPATH", "VIRTUAL_ENV", "LD_PRELOAD"),
        *("path", "HOMEBREW_PREFIX", "MY_PATH", "XANTHROPIC_API_KEY", "BASH_ENV", "PS1", "OPENAI_API_KEY"),
    )
}
NESTED = {name: f"the {name}" for name in NEVER_PASSED}
EVERYTHING = BASICS | AGENTS | NOBODYS | NESTED


@pytest.mark.feature("X1")
def test_the_agent_sees_the_basic_variables_its_own_and_those_that_are_named() -> None:
    seen = agent_environment(EVERYTHING, ["DATABASE_URL", "AWS_*"])
    named = ("DATABASE_URL", "AWS_SECRET_ACCESS_KEY")
    assert seen == BASICS | AGENTS | {name: NOBODYS[name] for name in named} | AGENT_DEFAULTS | AGENT_FIXED


@pytest.mark.feature("X1")
def test_a_check_sees_no_credentials_of_the_agent_but_those_that_are_named() -> None:
    assert check_environment(EVERYTHING, ["PYTHONPATH"]) == BASICS | {"PYTHONPATH": "the PYTHONPATH", "CI": "1", **REAL}
    assert check_environment(EVERYTHING, ["ANTHROPIC_API_KEY"])["ANTHROPIC_API_KEY"] == "the ANTHROPIC_API_KEY"
    assert check_environment({"CI": "woodpecker"}, [])["CI"] == "woodpecker"


@pytest.mark.feature("X1")
@pytest.mark.parametrize("names", [[], ["*"], ["CLAUDE*"], list(NEVER_PASSED)])
def test_variables_that_describe_the_session_are_never_passed_on(names: list[str]) -> None:
    for environment in (agent_environment(EVERYTHING, names), check_environment(EVERYTHING, names)):
        assert not environment.keys() & NESTED.keys()


@pytest.mark.feature("X1")
def test_what_must_not_change_while_a_loop_runs_wins_over_the_operators_environment() -> None:
    seen = agent_environment({"DISABLE_AUTOUPDATER": "0", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "0"}, [])
    assert seen == {**AGENT_DEFAULTS, "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}


@pytest.mark.feature("X1", "O3")
@pytest.mark.parametrize(("said", "seen"), [({}, "1"), ({"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "0"}, "0")])
def test_git_status_precedes_no_message_unless_the_operator_wants_it(said: dict[str, str], seen: str) -> None:
    assert agent_environment(said, [])["CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"] == seen


@pytest.mark.feature("X1")
@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_a_variable_that_no_pattern_names_never_passes(source: dict[str, str]) -> None:
    exact = {pattern for pattern in (*BASIC_VARIABLES, *AGENT_VARIABLES) if "*" not in pattern}
    starts = tuple(pattern[:-1] for pattern in (*BASIC_VARIABLES, *AGENT_VARIABLES) if pattern.endswith("*"))
    ends = tuple(pattern[1:] for pattern in BASIC_VARIABLES if pattern.startswith("*"))
    for name in agent_environment(source, []).keys() - AGENT_FIXED.keys() - AGENT_DEFAULTS.keys():
        assert name in exact or name.startswith(starts) or name.endswith(ends)


DRIVER = """
import logging, sys
from prefect.logging.handlers import PrefectConsoleHandler
from tasks.system.environment import survive_broken_pipe
survive_broken_pipe()
log = logging.getLogger("driver")
log.addHandler(PrefectConsoleHandler(stream=getattr(sys, sys.argv[1])))
for _ in range(3):
    log.warning("something happens")
sys.exit(7)
"""


@pytest.mark.feature("E3", "D3")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_driver_whose_output_is_closed_continues_to_its_end(stream: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", DRIVER, stream]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd="/",
        env=environment,
        stdout=writer if stream == "stdout" else subprocess.DEVNULL,
        stderr=writer if stream == "stderr" else subprocess.DEVNULL,
    ) as driver:
        os.close(writer)
    assert driver.returncode == 7


def test_a_relative_path_of_the_agents_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would mean another file in each process that looks for it."""
    (tmp_path / "claude").touch(0o755)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OperatorError, match="an absolute path"):
        find_binary(config(claude={"binary": "./claude"}).claude)


@pytest.mark.parametrize("folder", ["tools", ".", "./tools"])
def test_a_relative_folder_in_path_is_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    here = tmp_path / folder
    here.mkdir(exist_ok=True)
    for name in ("claude", "bwrap"):
        (here / name).touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", folder)
    for found in (find_binary(config().claude), find_bubblewrap()):
        assert found.is_absolute()
        assert found.samefile(here / found.name)


# --- a loop in a loop ---------------------------------------------------------------------------------------------------


def allowing(nesting: int) -> LoopConfig:
    return LoopConfig.model_validate({"goal": "x", "limits": {"nesting": nesting}})


@pytest.mark.feature("E12")
def test_outside_of_any_loop_nothing_is_refused() -> None:
    refuse_nested({})
    refuse_nested({DEPTH: "nonsense"})


@pytest.mark.feature("E12")
def test_by_default_a_loop_inside_of_a_loop_is_refused_with_what_to_do() -> None:
    inside = inner_depth(LoopConfig(goal="x"), {})
    with pytest.raises(OperatorError, match="inside a loop") as caught:
        refuse_nested(inside)
    assert caught.value.found == "depth 1"


@pytest.mark.feature("E12")
def test_the_outermost_loop_says_how_deep_it_may_go_whatever_an_inner_one_is_configured_to() -> None:
    once = inner_depth(allowing(1), {})
    refuse_nested(once)
    twice = inner_depth(allowing(9), once)
    assert twice == {DEPTH: "2/1"}
    with pytest.raises(OperatorError):
        refuse_nested(twice)
