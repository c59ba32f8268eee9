"""Layers of configuration: which one wins, where a value came from, and what is said when one is wrong."""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import CheckConfig, LoopConfig
from helmsman.config.base import STORED
from helmsman.config.layers import (
    RESERVED,
    Layer,
    describe,
    display,
    from_assignments,
    from_environment,
    leaves,
    merge_tables,
    resolve,
)
from helmsman.config.loop import OLD_KEYS
from helmsman.errors import OperatorError
from helmsman.toml_text import parse_toml

pytestmark = pytest.mark.feature("E11")

GOAL = Layer("command line", {"goal": "all tests pass"})
KEYS = list(leaves(LoopConfig(goal="any")))
SOURCES = ["command line", "environment", "helmsman.toml", "RUBRIC.md front matter"]


def toml(text: str) -> Layer:
    return Layer("helmsman.toml", tomllib.loads(text))


def error_text(*layers: Layer) -> str:
    with pytest.raises(OperatorError) as caught:
        resolve(layers)
    return str(caught.value)


def checks(*tables: dict[str, Any]) -> tuple[CheckConfig, ...]:
    return tuple(map(CheckConfig.model_validate, tables))


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        (tree.setdefault(section, {}) if section else tree)[name] = value
    return tree


@given(st.lists(st.sets(st.sampled_from(KEYS)), min_size=len(SOURCES), max_size=len(SOURCES)))
def test_every_leaf_comes_from_the_first_layer_that_has_it(named: list[set[str]]) -> None:
    layers = [Layer(source, nested(values_of(keys, source))) for source, keys in zip(SOURCES, named, strict=True)]
    resolved = resolve([*layers, Layer("last", {"goal": "last"})])
    for key in KEYS:
        ways = [source for source, keys in zip(SOURCES, named, strict=True) if key in keys]
        assert resolved.origins[key] == [*ways, "last" if key == "goal" else "default"][0]
    assert resolved.config.goal == resolved.origins["goal"]
    source = resolved.origins["checks"]
    assert resolved.config.checks == (() if source == "default" else checks({"command": source}))


def values_of(keys: set[str], source: str) -> dict[str, Any]:
    """Values that LoopConfig accepts; text of the source's own where a field takes any text."""
    known = leaves(LoopConfig(goal=source, checks=checks({"command": source})))
    return {key: list(known[key]) if isinstance(known[key], tuple) else known[key] for key in keys}


def test_without_layers_below_it_a_leaf_is_its_default() -> None:
    resolved = resolve([GOAL])
    assert resolved.config == LoopConfig(goal="all tests pass")
    assert set(resolved.origins) == set(KEYS)
    assert {key for key, source in resolved.origins.items() if source != "default"} == {"goal"}


def test_layers_share_a_section_leaf_by_leaf() -> None:
    resolved = resolve([GOAL, Layer("environment", {"limits": {"iterations": 7}}), toml("limits.cost_usd = 3")])
    assert (resolved.config.limits.iterations, resolved.config.limits.cost_usd) == (7, 3.0)
    assert resolved.origins["limits.iterations"] == "environment"
    assert resolved.origins["limits.cost_usd"] == "helmsman.toml"


def test_checks_are_read_as_a_command_a_list_or_tables() -> None:
    written = 'checks = ["make", {command = "pytest -q", timeout_seconds = 60, environment = ["CI"]}]'
    expected = checks({"command": "make"}, {"command": "pytest -q", "timeout_seconds": 60, "environment": ("CI",)})
    assert resolve([GOAL, toml(written)]).config.checks == expected
    assert resolve([GOAL, toml('checks = "make"')]).config.checks == expected[:1]


def test_each_key_that_is_gone_is_refused_with_what_became_of_it_and_a_stored_loop_loses_it() -> None:
    for key, became in OLD_KEYS.items():
        assert f"{key} (helmsman.toml): this key was removed: {became}" in error_text(
            GOAL, Layer("helmsman.toml", nested({key: 1}))
        )
        stored = merge_tables(LoopConfig(goal="any").model_dump(), nested({key: 1}))
        assert LoopConfig.model_validate(stored, context=STORED) == LoopConfig(goal="any")


def test_a_missing_goal_says_the_three_ways_to_give_one() -> None:
    said = error_text(toml("limits.iterations = 3"))
    assert "command line" in said
    assert "HELMSMAN_GOAL" in said
    assert "goal_file in helmsman.toml" in said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "breaker.half_open_after = 1",
            "breaker.half_open_after (helmsman.toml): this key was removed: lack of progress",
        ),
        ("limits.iteration = 5", "limits.iteration (helmsman.toml): unknown key; did you mean limits.iterations"),
        ("iterations = 5", "iterations (helmsman.toml): unknown key; did you mean limits.iterations"),
        ("limits.model = 5", "limits.model (helmsman.toml): unknown key; did you mean judge.model or claude.model"),
        ("'limits.iterations' = 5", "'limits.iterations' (helmsman.toml): unknown key; did you mean limits.iterations"),
        ("zzz.yyy.xxx = 5", "zzz.yyy (helmsman.toml): unknown key"),
        ("checks = [{comand = 'x'}]", "checks[0].comand (helmsman.toml): unknown key; did you mean command?"),
        ("judge.criteria = [{text = 'x', wieght = 2}]", "criteria[0].wieght (helmsman.toml): unknown key; did you mean weight?"),
    ],
)
def test_an_unknown_key_is_an_error_with_its_source_and_a_suggestion(written: str, said: str) -> None:
    assert said in error_text(GOAL, toml(written))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("goal = 2024-01-01", "goal (helmsman.toml): expected text, found 2024-01-01"),
        ("limits = 5", "limits (helmsman.toml): expected a table, found 5"),
        ("limits.iterations = true", "limits.iterations (helmsman.toml): expected a whole number, found true"),
        ("limits.iterations = 0", "limits.iterations (helmsman.toml): expected at least 1, found 0"),
        ("limits.cost_usd = nan", "limits.cost_usd (helmsman.toml): expected a finite number, found nan"),
        ("retry.attempts = 51", "retry.attempts (helmsman.toml): expected at most 50, found 51"),
        ("completion.promise = 'a'", "completion.promise (helmsman.toml): expected at least 4 characters, found 'a'"),
        ("claude.setting_sources = ['x']", "setting_sources[0] (helmsman.toml): expected 'user', 'project' or 'local'"),
        (
            "claude.allowed_tools = 'Bash'",
            'claude.allowed_tools (helmsman.toml): expected a list, as in ["one", "two"], found \'Bash\'',
        ),
        ("checks = [{name = 'x'}]", "checks[0].command (helmsman.toml): expected a value, found nothing"),
        ("checks = [[1]]", "checks[0] (helmsman.toml): expected a command or a table, found [1]"),
        ("workspace.in_place = 'yes'", "workspace.in_place (helmsman.toml): expected true or false, found 'yes'"),
        ("checks = [' ']", "checks[0].command (helmsman.toml): expected some words, found ' '"),
        ("usage_limit.margin_seconds = 1e10", "(helmsman.toml): expected at most 3162240000.0, found 10000000000.0"),
        ("tracker.kind = 'gitea'", "tracker (helmsman.toml): expected tracker.repository as owner/name"),
    ],
)
def test_a_wrong_value_names_key_source_expected_type_and_what_was_found(written: str, said: str) -> None:
    assert said in error_text(toml(written))


def test_what_is_wrong_with_a_section_as_a_whole_names_every_source_that_had_a_part_in_it() -> None:
    said = error_text(GOAL, Layer("environment", {"tracker": {"kind": "gitea"}}), toml("tracker.repository = 'a/b'"))
    assert "tracker (environment, helmsman.toml): expected tracker.url too" in said


@pytest.mark.parametrize("url", ["postgresql://u:hunter2@db/m", "postgresql://u@db/m?sslmode=require&password=hunter2"])
@pytest.mark.feature("X1")
def test_a_password_is_refused_and_is_in_no_error(url: str) -> None:
    said = error_text(GOAL, Layer("environment", {"memory": {"url": url}}))
    assert "memory.url (environment): expected a URL without a password" in said
    assert "hunter2" not in said


NUMBERS = [key for key, value in leaves(LoopConfig(goal="any")).items() if isinstance(value, float)]


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 1e308, 1e-308])
def test_whatever_number_is_set_can_be_kept_in_a_state_and_read_again(number: float) -> None:
    for key in NUMBERS:
        with suppress(OperatorError):
            config = resolve([GOAL, Layer("helmsman.toml", nested({key: number}))]).config
            assert LoopConfig.model_validate_json(config.model_dump_json()) == config, key


def test_every_problem_of_every_layer_is_told_at_once_one_line_each() -> None:
    environment = Layer("environment", {"limits": {"iterations": "many"}})
    said = error_text(environment, toml("iterations = 5\nretry.first_delay_seconds = 0\nretry.attempts = -1")).splitlines()
    assert [line.strip().partition(":")[0] for line in said[1:]] == [
        "iterations (helmsman.toml)",
        "goal",
        "limits.iterations (environment)",
        "retry.attempts (helmsman.toml)",
        "retry.first_delay_seconds (helmsman.toml)",
    ]


@pytest.mark.parametrize(
    "value", ["x" * 500, ["x" * 500] * 9, pytest.param(16**9000, id="huge"), {"x": {"x" * 500: "x" * 500}}, "\n" * 500]
)
def test_a_value_in_an_error_is_cut_to_80_characters(value: Any) -> None:
    assert 60 < len(display(value)) <= 80
    assert "..." in display(value)


def test_a_hostile_key_can_neither_flood_nor_steer_the_terminal() -> None:
    said = error_text(GOAL, toml(f'"\\u001b[2J" = 1\n"{"x" * 500}" = 1'))
    assert "'\\x1b[2J' (helmsman.toml)" in said
    assert max(map(len, said.splitlines())) < 150


def test_a_table_of_any_depth_is_one_unknown_key() -> None:
    deep = ".".join(["a"] * 1500)
    said = error_text(GOAL, toml(f"{deep} = 1\n[[checks]]\ncommand = 'x'\n{deep} = 1")).splitlines()
    assert said[1:] == ["  a.a (helmsman.toml): unknown key", "  checks[0].a (helmsman.toml): unknown key"]


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("limits.iterations=5", {"limits": {"iterations": 5}}),
        ("claude.model=haiku", {"claude": {"model": "haiku"}}),
        ('claude.model="4"', {"claude": {"model": "4"}}),
        ('checks=["pytest -q"]', {"checks": ["pytest -q"]}),
        ("checks=pytest -k a=b", {"checks": "pytest -k a=b"}),
        ("goal=1\nretry = 2", {"goal": "1\nretry = 2"}),
        ("goal=" + "[" * 5000, {"goal": "[" * 5000}),
    ],
)
def test_an_assignment_is_read_as_a_toml_value_else_as_plain_text(pair: str, expected: dict[str, Any]) -> None:
    assert from_assignments([pair]) == expected


def test_assignments_build_one_tree_and_the_last_of_the_same_key_counts() -> None:
    pairs = ["limits={iterations = 5}", "limits.tokens=6", "goal=first", "goal=second"]
    assert from_assignments(pairs) == {"limits": {"iterations": 5, "tokens": 6}, "goal": "second"}
    assert from_assignments(["limits=5", "limits.tokens=6"]) == {"limits": {"tokens": 6}}


@pytest.mark.parametrize("pair", ["limits.iterations", "=5", "limits..iterations=5", ".goal=x", "a b=c", "", f"a{'.a' * 10}=1"])
def test_a_malformed_assignment_is_an_error_that_shows_it(pair: str) -> None:
    with pytest.raises(OperatorError) as caught:
        from_assignments(["goal=x", pair])
    assert caught.value.found == repr(pair)
    assert "KEY=VALUE" in caught.value.expected


def test_variables_of_the_environment_are_read_into_their_sections() -> None:
    environment = {
        "HELMSMAN_GOAL": "all tests pass",
        "HELMSMAN_LIMITS__ITERATIONS": "5",
        "HELMSMAN_USAGE_LIMIT__MARGIN_SECONDS": "1.5",
        "HELMSMAN_CHECKS": '["make"]',
        "PATH": "/bin",
        "helmsman_goal": "other",
    }
    assert from_environment(environment) == {
        "goal": "all tests pass",
        "limits": {"iterations": 5},
        "usage_limit": {"margin_seconds": 1.5},
        "checks": ["make"],
    }


def test_every_leaf_has_a_variable_of_its_own() -> None:
    environment = {f"HELMSMAN_{key.upper().replace('.', '__')}": f"<{key}>" for key in KEYS}
    assert from_environment(environment) == nested({key: f"<{key}>" for key in KEYS})


def test_reserved_variables_are_no_configuration() -> None:
    names = ("TAG", "HOME", "DEPTH", "HOOK_TOKEN", "TRACKER_TOKEN", "TRACKER_HOSTS", "WEBHOOK_SECRET", "MEMORY_URL", "STATE_KEY")
    assert {f"HELMSMAN_{name}" for name in names} == RESERVED
    assert from_environment(dict.fromkeys(RESERVED, "1")) == {}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HELMSMAN_LIMITS_ITERATIONS", "HELMSMAN_LIMITS__ITERATIONS"),
        ("HELMSMAN_LIMIT__ITERATIONS", "HELMSMAN_LIMITS__ITERATIONS"),
        ("HELMSMAN_MODEL", "HELMSMAN_JUDGE__MODEL or HELMSMAN_CLAUDE__MODEL"),
        ("HELMSMAN_GAOL", "HELMSMAN_GOAL"),
    ],
)
def test_an_unknown_variable_is_an_error_that_suggests_the_right_one_and_tells_no_values(name: str, meant: str) -> None:
    with pytest.raises(OperatorError) as caught:
        from_environment({name: "secret-1", "API_KEY": "secret-2"})
    assert f"{name}: unknown variable; did you mean {meant}" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_every_leaf_is_described() -> None:
    assert [key for key in KEYS if len(describe(key)) <= 10] == []


def test_an_unknown_key_is_not_described_but_suggested() -> None:
    with pytest.raises(OperatorError, match=r"unknown key 'limits\.iteration'; did you mean limits\.iterations"):
        describe("limits.iteration")


# --- nested settings in one ---------------------------------------------------------------------------------------

SAID = st.sets(st.sampled_from([key for key in KEYS if key != "goal"]))


@given(SAID, SAID)
def test_two_nested_settings_in_one_come_to_the_same_as_two_layers_of_which_the_second_is_the_stronger(
    weak: set[str], strong: set[str]
) -> None:
    below, above = nested(values_of(weak, "weak")), nested(values_of(strong, "strong"))
    one, two = (
        resolve([GOAL, *layers]) for layers in ([Layer("", merge_tables(below, above))], [Layer("", above), Layer("", below)])
    )
    assert (one.config, one.origins) == (two.config, two.origins)


def test_a_setting_takes_nothing_away_that_is_said_beside_it_and_both_stay_as_they_were() -> None:
    weak, strong = {"limits": {"cost_usd": 3, "iterations": 5}, "checks": ["make"]}, {"limits": {"iterations": 9}}
    assert merge_tables(weak, strong) == {"limits": {"cost_usd": 3, "iterations": 9}, "checks": ["make"]}
    assert merge_tables(strong, {}) == merge_tables({}, strong) == strong == {"limits": {"iterations": 9}}
    assert weak == {"limits": {"cost_usd": 3, "iterations": 5}, "checks": ["make"]}


def test_without_a_limit_is_said_by_inf_where_there_may_be_none() -> None:
    assert resolve([GOAL, toml("[limits]\ncost_usd = inf")]).config.limits.cost_usd is None


def test_hidden_checks_are_numbered_and_their_folder_is_absolute() -> None:
    read = resolve([Layer("x", {"goal": "x", "hidden": ["make fuzz", {"command": "pytest", "name": "more"}]})]).config
    assert [one.title for one in read.hidden] == ["hidden 1", "more"]
    with pytest.raises(OperatorError, match=r"hidden\[0\].folder \(x\): expected an absolute path"):
        resolve([Layer("x", {"goal": "x", "hidden": [{"command": "pytest", "folder": "here"}]})])


# TOML with keys that take the parser hours


PARTS = ("a", "a-1", '""', '"a b"', "'a'", "''", r'"\""', r'"\\"', r'"\u0041"', r'"\\\" . \""', '"\'"', "'\"'")


BEFORE = ("", "x = 1\n", "[", "x = {", "x = '''\n\\\n'''\n")


@pytest.mark.feature("X4")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("between", [".", " . "])
def test_a_key_of_too_many_parts_is_refused_before_it_is_parsed(part: str, between: str) -> None:
    for before in BEFORE:
        with pytest.raises(ValueError, match="a dotted name of more than 50 parts"):
            parse_toml(before + between.join([part] * 40_000) + " = 1")


@pytest.mark.feature("X4")
@pytest.mark.parametrize("part", [r"\"", '"', r'"\"', r"\\\"", "'", r'."\"', r'"."\"', r'\"."'])
def test_what_looks_like_keys_without_end_is_read_at_once(part: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        parse_toml(part * 100_000)
