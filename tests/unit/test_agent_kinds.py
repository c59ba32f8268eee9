"""Other agents before a call: their files, command lines, and behaviour without missing capabilities."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.agents import (
    CAPABILITY_TEXTS,
    LONGEST_ARGUMENT,
    NEEDS,
    command_line,
    describe_briefly,
    fit_configuration,
    introduction,
    missing_capabilities,
    unused_settings,
    value_of,
)
from helmsman.config import LoopConfig
from helmsman.config.infrastructure import AgentConfig
from helmsman.config.layers import Layer, resolve
from helmsman.errors import OperatorError
from helmsman.memory.handoff import handoff_of
from helmsman.oversee.answers import reconfigure
from helmsman.parsers.definitions import read_kind, template_kind
from helmsman.records.agents import Agent, AgentKind, Capability
from helmsman.render.lines import list_lines
from tests.fakes.repositories import loop_state

pytestmark = pytest.mark.feature("A5")

PRESETS = Path(__file__).parents[2] / "tasks" / "agents" / "presets"
NAMES = sorted(path.stem for path in PRESETS.glob("*.toml"))


def kind(name: str) -> AgentKind:
    return read_kind((PRESETS / f"{name}.toml").read_text("utf-8"), name)


def command_of(kind: AgentKind, *, model: str = "", further: tuple[str, ...] = (), prompt: str = "do it") -> list[str]:
    return command_line(kind, program="/bin/it", model=model, further=further, prompt=prompt, prompt_file="/p/prompt.md")


def kind_of(**values: Any) -> AgentKind:
    return template_kind(AgentConfig.model_validate({"kind": "template", "command": ("my-agent",), **values}))


# --- files --------------------------------------------------------------------------------------------------------------


def test_six_agents_come_with_helmsman_each_with_where_its_flags_are_from() -> None:
    assert NAMES == ["amp", "codex", "copilot", "cursor-agent", "gemini", "opencode"]
    for name in NAMES:
        one = kind(name)
        assert (one.name, bool(one.title), one.documentation[:8]) == (name, True, "https://")
        assert one.known_by in {"runs", "help", "documentation"}
        assert bool(one.version) == (one.known_by != "documentation")
        assert one.login, "a person must be told which variable lets it log in"


def test_a_file_that_describes_no_agent_is_refused_with_what_is_wrong() -> None:
    for text, complaint in [
        ("name = ", "x.toml:1: Invalid value"),
        ('name = "x"', "command: expected a value"),
        ('name = "x"\ncommand = ["x"]\npromt = "file"', "'promt': unknown key; did you mean prompt"),
        ('name = "x"\ncommand = ["x"]\nprompt = "file"', "{prompt_file} in the command"),
        ('name = "x"\ncommand = ["x", "{prompt}"]', 'prompt = "argument" if'),
        ('name = "x"\ncommand = ["x"]\nenvironment = ["*"]', "x.toml:3: environment.0: "),
        ('name = "x"\ncommand = ["x"]\n[exits]\n1 = "finished"', "exits.1: "),
        ('name = "x"\ncommand = ["x"]\n[words]\n"gone" = "unknown_session"', "words.gone: "),
        ("#" * 20_000, "longer than"),
    ]:
        with pytest.raises(OperatorError, match=re.escape(complaint)):
            read_kind(text, ".helmsman/agents/x.toml")


# --- command lines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("codex", "exec --json --dangerously-bypass-approvals-and-sandbox --ephemeral --model m -c a=b -"),
        ("gemini", "--output-format stream-json --approval-mode yolo --skip-trust --model m -c a=b"),
        ("opencode", "run --format json --auto --model m -c a=b"),
        ("copilot", "--output-format json --allow-all --no-ask-user --no-auto-update --no-color --model m -c a=b"),
        (
            "amp",
            "--execute --stream-json --dangerously-allow-all --no-color --no-ide --no-notifications --mode m -c a=b",
        ),
        ("cursor-agent", "--print --output-format stream-json --force --trust --model m -c a=b PROMPT"),
    ],
)
def test_each_agent_is_called_by_the_flags_of_its_documentation(name: str, expected: str) -> None:
    assert command_of(kind(name), model="m", further=("-c", "a=b"), prompt="PROMPT") == ["/bin/it", *expected.split()]
    assert "" not in command_of(kind(name))  # no flag for a model that nobody chose


def test_an_agent_gets_its_prompt_as_it_wants_it() -> None:
    assert command_of(kind_of()) == ["/bin/it"]
    assert command_of(kind_of(prompt="argument")) == ["/bin/it", "do it"]
    assert command_of(kind_of(prompt="argument"), further=("-v",)) == ["/bin/it", "-v", "do it"]
    assert command_of(kind_of(command=("a", "-p", "{prompt}", "-x"), prompt="argument")) == ["/bin/it", "-p", "do it", "-x"]
    given = kind_of(command=("a", "--file={prompt_file}", "--model", "{model}"), prompt="file")
    assert command_of(given, model="large one") == ["/bin/it", "--file=/p/prompt.md", "--model", "large one"]


@given(prompt=st.text(max_size=60), model=st.text(min_size=1, max_size=20))
def test_whatever_is_filled_in_stays_one_argument_and_is_not_filled_in_again(prompt: str, model: str) -> None:
    given = kind_of(command=("a", "{model}", "x{prompt}y"), prompt="argument")
    assert command_of(given, model=model, prompt=prompt) == ["/bin/it", model, "x" + prompt.replace("\0", "\ufffd") + "y"]


def test_a_zero_byte_in_the_prompt_is_replaced_where_an_argument_must_hold_it() -> None:
    assert command_of(kind_of(prompt="argument"), prompt="binary \0 output") == ["/bin/it", "binary \ufffd output"]


def test_a_prompt_that_no_argument_can_hold_is_refused_with_what_to_do() -> None:
    given = kind_of(prompt="argument")
    assert len(command_of(given, prompt="x" * LONGEST_ARGUMENT)) == 2
    with pytest.raises(OperatorError, match="too long for template") as told:
        command_of(given, prompt="ä" * (LONGEST_ARGUMENT // 2 + 1))
    assert "stdin or file" in told.value.remedy
    with pytest.raises(OperatorError, match="too long for template"):
        command_of(kind_of(command=("a", "--prompt={prompt}"), prompt="argument"), prompt="x" * LONGEST_ARGUMENT)
    assert len(command_of(kind_of(), prompt="x" * 10 * LONGEST_ARGUMENT)) == 1


# --- what is missing ------------------------------------------------------------------------------------------------------


def fitted_for(**settings: Any) -> tuple[LoopConfig, Mapping[str, str]]:
    found = resolve([Layer("helmsman.toml", {"goal": "g", **settings})])
    return found.config, found.origins


@pytest.mark.parametrize("name", NAMES)
def test_what_an_agent_lacks_is_taken_out_of_the_configuration_and_its_source_says_so(name: str) -> None:
    one = kind(name)
    config, changed = fit_configuration(*fitted_for(), one)
    for need in NEEDS:
        lacking = need.capability not in one.capabilities
        assert (value_of(config, need.key) == need.without) or not lacking
    assert changed["steering.hooks"] == f"agent {name}"
    assert ("limits.cost_usd" in changed) == (Capability.COST not in one.capabilities)
    assert (config.limits.cost_usd is None) == (Capability.COST not in one.capabilities)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"claude": {"session": "resume"}}, "claude.session"),
        ({"steering": {"hooks": True}}, "steering.hooks"),
        ({"limits": {"cost_usd": 5}}, "limits.cost_usd"),
        ({"limits": {"tokens": 5}}, "limits.tokens"),
        ({"agent": {"model": "m"}}, "agent.model"),
    ],
)
def test_what_the_operator_relies_on_is_refused_where_the_agent_cannot_do_it(settings: dict[str, Any], key: str) -> None:
    with pytest.raises(OperatorError, match=f"{key} is set, but template does not support it") as told:
        fit_configuration(*fitted_for(**settings), kind_of())
    assert told.value.remedy
    able = AgentKind(name="able", command=("a", "{model}"), output="opencode")
    if key in {"limits.cost_usd", "limits.tokens", "agent.model"}:
        assert value_of(fit_configuration(*fitted_for(**settings), able)[0], key) == value_of(fitted_for(**settings)[0], key)


def test_a_preset_s_budget_is_no_word_of_the_operator_s() -> None:
    found = resolve([Layer("preset bugfix", {"goal": "g", "limits": {"cost_usd": 5}})])
    assert fit_configuration(found.config, found.origins, kind_of())[0].limits.cost_usd is None


def test_settings_of_claude_code_that_somebody_made_are_named_where_nothing_uses_them() -> None:
    settings = ("claude.binary", "claude.permission_mode", "claude.timeout_minutes", "steering.hooks", "limits.iterations")
    origins = {**dict.fromkeys(settings, "helmsman.toml"), "claude.block": "default", "claude.session": "preset bugfix"}
    assert unused_settings(LoopConfig(goal="x"), origins) == ("claude.binary", "claude.permission_mode")
    for asking in ({"judge": {"criteria": ["It reads well."]}}, {"prompt": {"written": True}}):
        assert unused_settings(LoopConfig.model_validate({"goal": "x", **asking}), origins) == ("claude.permission_mode",)


def test_every_capability_has_words_and_every_lack_is_told() -> None:
    assert set(CAPABILITY_TEXTS) == set(Capability)
    bare, able = kind_of(), AgentKind(name="able", command=("a", "{model}"), output="opencode")
    assert len(missing_capabilities(bare)) == len(Capability)
    assert set(missing_capabilities(able)) == {CAPABILITY_TEXTS[one] for one in set(Capability) - able.capabilities}
    told = list(introduction(Agent(kind=able, unused=("claude.session",))))
    assert told[0] == "able"
    assert "claude.session" in told[-1]
    assert describe_briefly(able).startswith("able, without guard rails, its context")


# --- a loop keeps its agent -------------------------------------------------------------------------------------------------


def test_a_loop_keeps_its_agent_and_what_that_cannot_do_stays_off() -> None:
    one = kind("codex")
    config, _ = fit_configuration(*fitted_for(agent={"kind": "codex"}), one)
    state = loop_state("b" * 40, config=config, agent=Agent(kind=one))
    assert reconfigure(state, {"agent": {"model": "another"}}).agent.model == "another"
    for settings in ({"agent": {"kind": "gemini"}}, {"agent": {"command": ["x"]}}):
        with pytest.raises(OperatorError, match="keeps the agent that it started with"):
            reconfigure(state, settings)
    for settings in ({"limits": {"cost_usd": 5}}, {"claude": {"session": "resume"}}):
        with pytest.raises(OperatorError, match="codex does not support it"):
            reconfigure(state, settings)
    assert type(state).model_validate_json(state.model_dump_json()) == state
    assert "cost" in state.untold
    assert "unknown" in list(list_lines([(state, "", "")]))[1]
    assert "cost unknown" in handoff_of(state).text


def test_a_loop_of_claude_code_does_not_become_another_s() -> None:
    with pytest.raises(OperatorError, match="keeps the agent"):
        reconfigure(loop_state("b" * 40), {"agent": {"kind": "codex"}})
