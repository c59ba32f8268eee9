"""The command line without engine or agent: rejected mistakes, and read-only commands."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.config.layers import leaves
from tasks.agents.project_settings import names_key_program
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import write_state
from tests.fakes.command_line import HELMSMAN, RESULT_KEYS, CommandLine, read_object
from tests.unit import builders

COMMANDS = (
    "run", "resume", "status", "watch", "list", "log", "explain", "report", "approve", "reject", "answer", "cancel", "config",
    "init", "align", "deploy", "receive", "doctor", "demo", "rubric", "chain", "parallel", "memory", "presets", "trust",
    "prompt", "verify",
)  # fmt: skip
HEAVY = {"prefect", "pydantic", "rich", "git", "httpx", "sqlalchemy", "yaml", "psutil"}

Arrange = Callable[[Path], object]


# --- mistakes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    arguments: Sequence[str]
    words: Sequence[str]
    """What the message has to say: what is wrong, what was found, what to do."""
    arrange: Arrange = lambda _: None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


def started(*arguments: str, goal: str | None = "g", check: str | None = "true", repo: str = "repository") -> list[str]:
    named = [*([goal] if goal is not None else []), *(["--check", check] if check is not None else [])]
    return ["run", *named, *arguments, "--repo", repo]


def write(name: str, text: str = "") -> Arrange:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def start_a_loop(folder: Path) -> None:
    keep(open_repository(folder / "repository"))


MISTAKES = {
    "no folder": Mistake(started(repo="nowhere"), ("does not exist", "nowhere", "--repo DIR")),
    "no goal": Mistake(started(goal=None), ("goal", "missing", "HELMSMAN_GOAL", "helmsman.toml")),
    "no checks": Mistake(started("--yes", check=None), ("no check is configured", "--check", "--no-checks")),
    "a check and none": Mistake(started("--no-checks"), ("--check and --no-checks exclude", "omit one of them")),
    "a bad value in the repository": Mistake(
        started(), ("claude.timeout_minutes (helmsman.toml)", "at most 240", "found 500"),
        write("repository/helmsman.toml", "claude.timeout_minutes = 500"),
    ),
    "no agent": Mistake(started("--set", "claude.binary=nowhere/claude"), ("claude.binary", "nowhere/claude", "give the path")),
    "no git": Mistake(started(), ("git is not installed", "install git"), variables={"PATH": "home"}),
    "an unknown iteration": Mistake(
        ["log", "mend-it", "9", "--repo", "repository"], ("no finished iteration 9", "helmsman log mend-it"), start_a_loop
    ),
    "an unknown loop in a repository that is not trusted": Mistake(
        ["resume", "gone", "--repo", "repository"], ("there is no loop 'gone'", "git fetch origin refs/helmsman/gone/state")
    ),
    "an unknown key": Mistake(
        ["config", "limits.iteration", "--repo", "repository"], ("did you mean limits.iterations", "`helmsman config` lists")
    ),
    "no file of a group": Mistake(["parallel", "gone.toml", "--repo", "repository"], ("gone.toml: No such file", "--goal")),
    "a state folder that cannot be made": Mistake(
        ["trust", "--yes", "--repo", "repository"], ("the state folder cannot be used", "/dev/null/state", "set HELMSMAN_HOME"),
        variables={"HELMSMAN_HOME": "/dev/null/state"},
    ),
    "no file of memory": Mistake(["memory", "import", "gone.json"], ("gone.json: No such file", "correct its path")),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_exits_with_2_and_names_the_value_and_the_remedy(what: str, helmsman: CommandLine) -> None:
    mistake = MISTAKES[what]
    mistake.arrange(helmsman.folder)
    told = helmsman.run(*mistake.arguments, "--json", **mistake.variables)
    assert told.exit_code == 2, told.errors
    assert told.errors.startswith("operator error: ")
    assert not [word for word in mistake.words if word not in told.errors], told.errors
    assert "Traceback" not in told.errors
    result = read_object(told.output)
    assert set(result) == RESULT_KEYS
    assert (result["outcome"], result["rule"]) == ("failed", "error.operator")
    assert result["reason"] in told.errors


@pytest.mark.parametrize("arguments", [["run", "--max-iterations", "abc"], ["log"], ["run", "--bad"]], ids=" ".join)
def test_an_invalid_option_is_reported_as_json_too(arguments: list[str], helmsman: CommandLine) -> None:
    told = helmsman.run(*arguments, "--json")
    assert told.exit_code == 2
    assert "--help" in told.errors
    assert set(read_object(told.output)) == RESULT_KEYS


@pytest.mark.needs("root")
def test_root_outside_a_sandbox_is_rejected_before_a_loop_starts(helmsman: CommandLine) -> None:
    told = helmsman.run(*started(), "--json", IS_SANDBOX="")
    assert told.exit_code == 2
    assert not [word for word in ("root", "IS_SANDBOX=1", "claude.permission_mode") if word not in told.errors]
    assert set(read_object(told.output)) == RESULT_KEYS


@pytest.mark.parametrize("further", [(), ("--detach",)])
def test_an_unreachable_engine_is_rejected_before_a_loop_starts(helmsman: CommandLine, further: tuple[str, ...]) -> None:
    told = helmsman.run(*started("--yes", *further), PREFECT_API_URL="localhost:4200/api")
    assert told.exit_code == 2
    assert not [word for word in ("PREFECT_API_URL", "http://HOST:PORT/api", "localhost:4200/api") if word not in told.errors]
    assert "no loop was started" in helmsman.run("list", "--repo", helmsman.repository).output


# --- configuration ------------------------------------------------------------------------------------------------

LAYERS = {
    "RUBRIC.md": "---\nlimits:\n  iterations: 5\n  tokens: 55\n  cost_usd: 5.5\n  wall_clock_hours: 5.0\n---\n# What is good\n",
    "helmsman.toml": "[limits]\niterations = 4\ntokens = 44\ncost_usd = 4.4\n",
}


@pytest.mark.feature("E11")
def test_config_shows_the_layer_of_each_value(helmsman: CommandLine) -> None:
    for name, text in LAYERS.items():
        (helmsman.repository / name).write_text(text)
    own = helmsman.operator_sets("[limits]\niterations = 6\nagent_failures = 6\nwall_clock_hours = 6.0\n")
    arguments = ["config", "--repo", helmsman.repository, "--set", "limits.iterations=2", "--json"]
    told = helmsman.run(*arguments, HELMSMAN_LIMITS__ITERATIONS="3", HELMSMAN_LIMITS__TOKENS="33")
    assert told.exit_code == 0, told.errors
    shown = {key: (row["value"], row["source"]) for key, row in read_object(told.output).items()}
    assert shown["limits.iterations"] == (2, "command line")
    assert shown["limits.tokens"] == (33, "environment")
    assert shown["limits.cost_usd"] == (4.4, "helmsman.toml")
    assert shown["limits.wall_clock_hours"] == (5.0, "RUBRIC.md front matter")
    assert shown["limits.agent_failures"] == (6, str(own))
    assert shown["limits.calls_per_hour"] == (100, "default")


@pytest.mark.feature("E11")
def test_config_shows_every_key_without_a_goal(helmsman: CommandLine) -> None:
    told = helmsman.run("config", "--repo", helmsman.repository, "--json")
    assert told.exit_code == 0, told.errors
    shown = read_object(told.output)
    assert set(shown) == set(leaves(LoopConfig(goal="g")))
    assert shown["goal"]["source"] == "not given yet"


@pytest.mark.parametrize("arguments", [["config", "goal"], ["presets", "new", "ours"]], ids=" ".join)
def test_a_repository_without_a_commit_can_be_configured(arguments: list[str], helmsman: CommandLine) -> None:
    subprocess.run(["git", "init", "--quiet", helmsman.folder / "new"], check=True)
    told = helmsman.run(*arguments, "--repo", "new")
    assert (told.exit_code, told.errors) == (0, "")


def test_trust_shows_once_what_was_agreed_to(helmsman: CommandLine) -> None:
    helmsman.run("trust", "--yes", "--repo", helmsman.repository)
    told = helmsman.run("trust", "--repo", helmsman.repository)
    assert (told.exit_code, told.errors) == (0, "")
    assert [line.split()[0] for line in told.output.splitlines()] == ["repository", "commands"]


# --- doctor -------------------------------------------------------------------------------------------------------


def findings(told: str) -> dict[str, str]:
    """What the doctor looked at and its sign."""
    rows = [line.split()[:2] for line in told.splitlines() if line[:1].strip()]
    return {what: sign for sign, what in rows}


@pytest.mark.feature("H4")
def test_the_doctor_finds_nothing_if_everything_is_installed(helmsman: CommandLine) -> None:
    (helmsman.repository / "helmsman.toml").write_text('checks = ["make test"]\n')
    told = helmsman.run("doctor", "--repo", helmsman.repository, ANTHROPIC_API_KEY="sk-very-secret")
    assert told.exit_code == 0
    assert set(findings(told.output).values()) == {"✔"}
    assert "sk-very-secret" not in told.output
    assert "make test" in told.output


def looked_at(repository: str = "repository") -> list[str]:
    return ["doctor", "--repo", repository]


DISEASES = {
    "repository": Mistake(looked_at("home"), ("git init",)),
    "agent": Mistake(looked_at(), ("give the path",), variables={"HELMSMAN_CLAUDE__BINARY": "nowhere/claude"}),
    "git": Mistake(looked_at(), ("install git",), variables={"PATH": "home"}),
    "engine": Mistake(looked_at(), ("prefect server start",), variables={"PREFECT_API_URL": "http://127.0.0.1:1/api"}),
    "checks": Mistake(looked_at(), ("fix the file",), write("repository/helmsman.toml", "checks =")),
    "disk": Mistake(looked_at(), ("set HELMSMAN_HOME",), variables={"HELMSMAN_HOME": "/dev/null/state"}),
}


@pytest.mark.feature("H4")
@pytest.mark.parametrize("what", DISEASES)
def test_the_doctor_names_what_is_missing_and_the_remedy(what: str, helmsman: CommandLine) -> None:
    disease = DISEASES[what]
    disease.arrange(helmsman.folder)
    told = helmsman.run(*disease.arguments, **disease.variables)
    assert told.exit_code == 2, told.errors
    assert findings(told.output)[what] == "✘"
    assert not [word for word in disease.words if word not in told.output]


@pytest.mark.feature("H4")
@pytest.mark.parametrize("broken", ["no repository", "checks"])
def test_the_doctor_looks_for_the_operator_s_agent_whatever_the_repository_has(broken: str, helmsman: CommandLine) -> None:
    helmsman.operator_sets('[agent]\nkind = "template"\ncommand = ["an-agent-of-mine"]\n')
    (helmsman.repository / "helmsman.toml").write_text("limits.iteration = 3\nlimits.token = 3\n")
    told = helmsman.run(*looked_at("home" if broken == "no repository" else "repository"))
    assert findings(told.output)["agent"] == "✘"
    assert "an-agent-of-mine" in told.output
    assert ("the configuration is not valid: limits.iteration (helmsman.toml): " in told.output) == (broken == "checks")


@pytest.mark.feature("H4")
def test_a_loop_is_refused_before_its_start_if_claude_code_itself_reports_no_credentials(helmsman: CommandLine) -> None:
    command = ("run", "g", "--check", "true", "--yes", "--repo", helmsman.repository)
    told = helmsman.run(*command, CLAUDE_CODE_OAUTH_TOKEN="")
    assert (told.exit_code, "the agent has no credentials" in told.errors) == (2, True), told
    assert not (helmsman.repository / ".git/helmsman/loops").exists()
    assert findings(helmsman.run(*looked_at(), CLAUDE_CODE_OAUTH_TOKEN="").output)["credentials"] == "!"


def test_a_login_by_a_program_that_the_project_s_settings_name_is_left_to_the_agent(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"apiKeyHelper": "key.sh"}')
    assert names_key_program(tmp_path)
    assert not names_key_program(tmp_path / ".claude")


@pytest.mark.feature("H4")
def test_the_doctor_warns_of_a_memory_file_that_cannot_be_read(helmsman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("no database")
    told = helmsman.run("doctor", "--repo", helmsman.repository, HELMSMAN_MEMORY_URL=f"sqlite:///{tmp_path}/memory.db").output
    assert "! memory       the memory store fails" in told


@pytest.mark.feature("H4", "L6")
def test_the_doctor_warns_of_an_unreachable_memory_without_its_password(helmsman: CommandLine) -> None:
    told = helmsman.run(*looked_at(), HELMSMAN_MEMORY_URL="postgresql://me:very-secret@127.0.0.1:1/memory")
    assert (told.exit_code, findings(told.output)["memory"]) == (0, "!")
    assert "loops continue without memory" in told.output
    assert "very-secret" not in told.output


@pytest.mark.feature("H4")
@pytest.mark.needs("root")
def test_the_doctor_names_root_outside_a_sandbox(helmsman: CommandLine) -> None:
    told = helmsman.run(*looked_at(), IS_SANDBOX="")
    assert (told.exit_code, findings(told.output)["permissions"]) == (2, "✘")
    assert "IS_SANDBOX=1" in told.output


# --- looking ------------------------------------------------------------------------------------------------------


EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews"
"""Sets the title, clears the screen, returns to the line's begin, colours by an eight-bit code, and writes from right to left."""


def keep(repository: Repository, evil: str = "plain") -> None:
    """A loop with one iteration, in which everything that others wrote is this text."""
    bad = builders.check(passed=False, name=evil, command=evil, head=evil, tail=evil, error=evil)
    commit = builders.execution().change.commit
    done = builders.execution(builders.call(final_text=evil, error=evil, model=evil))
    change = {"commits": [{"id": commit, "subject": evil}], "files": [evil]}
    done = done.model_copy(update={"change": done.change.model_validate({**done.change.model_dump(), **change})})
    ending = builders.STOP.model_copy(update={"reason": evil})
    counts = {"counts": {"failed": 1, "failing": [evil]}}
    report = builders.report(bad, builders.check(passed=False, name=evil, **counts))
    warning = builders.LIMIT_REACHED.model_copy(update={"message": evil})
    claims = builders.ASKED.model_copy(update={"how": evil})
    record = builders.record(ending, execution=done, checks=report, claims=claims, signals=(warning,))
    config = builders.config(evil, checks=({"command": evil, "name": evil},))
    state = builders.state(config, branch=f"b{evil}", iteration=1, checks=report, ending=ending)
    write_state(repository, state, over=None, record=record, subject="start")


LOOKS = (
    ("status", "mend-it"),
    ("watch", "mend-it", "--once"),
    ("list",),
    ("log", "mend-it"),
    ("log", "mend-it", "1"),
    ("config",),
    ("doctor",),
)


@pytest.mark.feature("X3")
@pytest.mark.parametrize("look", LOOKS, ids=" ".join)
def test_untrusted_text_is_printed_without_control_characters(look: tuple[str, ...], helmsman: CommandLine) -> None:
    keep(open_repository(helmsman.repository), EVIL)
    escaped = EVIL.encode("unicode_escape").decode().replace("\\x", "\\u00")
    (helmsman.repository / "helmsman.toml").write_text(f'goal = "{escaped}"\nchecks = ["{escaped}"]\n')
    told = helmsman.run(*look, "--repo", helmsman.repository)
    assert told.exit_code == 0, told.errors
    assert "good" in told.output
    assert not {character for character in told.output if not character.isprintable()} - {"\n"}


def test_the_log_tells_interruptions_with_times_like_all_others(helmsman: CommandLine) -> None:
    repository, subject = open_repository(helmsman.repository), "iteration 1 attempt 1 was interrupted: nothing to keep"
    write_state(repository, builders.state(), over=None, record=None, subject=subject)
    told = helmsman.run("log", "mend-it", "--repo", helmsman.repository)
    assert re.search(rf"cut off +\d{{4}}-\d\d-\d\d \d\d:\d\d \w+ {subject}", told.output), told.output


@pytest.mark.feature("X3")
def test_a_hostile_file_name_in_an_error_is_sanitised(helmsman: CommandLine) -> None:
    (helmsman.repository / EVIL).touch()
    told = helmsman.run(*started("--in-place", "--yes"))
    assert told.exit_code == 2
    assert "good" in told.errors
    assert not {character for character in told.errors if not character.isprintable()} - {"\n"}


# --- help ---------------------------------------------------------------------------------------------------------


def test_every_command_has_help(helmsman: CommandLine) -> None:
    for command in COMMANDS:
        told = helmsman.run(command, "--help")
        assert (told.exit_code, told.errors) == (0, "")
        assert f"Usage: helmsman {command}" in told.output


def test_the_commands_are_those_that_help_lists(helmsman: CommandLine) -> None:
    listed, _, example = helmsman.run("--help").output.partition("Start:\n")[2].partition("Example:\n")
    assert sorted(line.split()[0] for line in listed.splitlines() if line.startswith("  ")) == sorted(COMMANDS)
    assert "  helmsman run " in example


def test_help_imports_nothing_heavy(helmsman: CommandLine) -> None:
    command = [sys.executable, "-X", "importtime", HELMSMAN, "--help"]
    ended = subprocess.run(command, cwd=helmsman.folder, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert {"deployments", "typer"} <= imported
    assert not HEAVY & imported
