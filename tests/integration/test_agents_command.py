"""`--agent` and the doctor with an agent other than Claude Code."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from deployments.live import LiveView
from helmsman.records.events import AgentIntroduced, IterationRecorded
from helmsman.records.request import LoopRequest
from tasks.loop.configure import configure
from tasks.loop.start import create_loop
from tasks.repository.git import open_repository
from tests.fakes.command_line import CommandLine, offline_command_line, read_object
from tests.fakes.repositories import NOW, make_repository
from tests.unit.full_records import full_record

pytestmark = pytest.mark.feature("A5")


@pytest.fixture
def helmsman(tmp_path: Path) -> CommandLine:
    """With a program named codex of an unknown version."""
    make_repository(tmp_path / "repository", {})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").write_text("#!/bin/sh\necho codex-cli 99.0\n")
    (tmp_path / "bin" / "codex").chmod(0o755)
    return offline_command_line(tmp_path, PATH=os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"])))


def test_the_doctor_checks_the_agent_in_use(helmsman: CommandLine) -> None:
    helmsman.operator_sets('checks = ["make test"]\nagent.kind = "codex"\n')
    told = helmsman.run("doctor", "--repo", helmsman.repository)
    assert told.exit_code == 0, told
    assert "! agent        codex (OpenAI Codex CLI), without guard rails, dollars" in told.output
    assert f"codex-cli 99.0 at {helmsman.folder / 'bin' / 'codex'}" in told.output
    assert "Helmsman is tested with" in told.output
    assert "--dangerously-bypass-approvals-and-sandbox" in told.output
    assert "log in with `codex login`" in told.output
    known = helmsman.run("doctor", "--repo", helmsman.repository, CODEX_API_KEY="dummy")
    assert "✔ credentials  CODEX_API_KEY is set" in known.output


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--agent", "codxe"), "there is no agent 'codxe'; did you mean codex?"),
        (("--agent", "codex", "--set", "limits.cost_usd=5"), "limits.cost_usd is set, but codex does not support it"),
        (("--set", 'agent.command=["a"]'), "agent.command: only a template uses this, but agent.kind is claude"),
        (("--agent", "template", "--set", 'agent.command=["a", "{promt}"]'), "promt"),
    ],
)
def test_mistakes_are_rejected_before_anything_starts(helmsman: CommandLine, options: tuple[str, ...], complaint: str) -> None:
    told = helmsman.run("run", "g", "--check", "true", "--repo", helmsman.repository, "--yes", *options)
    assert (told.exit_code, told.output) == (2, ""), told
    assert complaint in told.errors
    assert "what to do" in told.errors
    assert not list(helmsman.folder.glob("repository/.git/refs/helmsman/*"))


def test_the_live_view_counts_no_unreported_dollars() -> None:
    view = LiveView(Console(file=io.StringIO(), width=100))
    assert "$0.00" in view.render().plain
    view(AgentIntroduced(lines=("codex",), untold=("cost",)))
    assert "cost unknown" in view.render().plain
    assert "$" not in view.render().plain


def test_the_live_view_includes_the_cost_of_judge_and_writer() -> None:
    view = LiveView(Console(file=io.StringIO(), width=100))
    record = full_record()
    assert record.usage.cost_usd > record.execution.call.usage.cost_usd
    view(IterationRecorded(record=record))
    assert f"${record.usage.cost_usd:.2f} " in view.render().plain


def test_a_running_loop_keeps_its_agent_and_says_so_at_once(helmsman: CommandLine) -> None:
    repository = open_repository(helmsman.repository)
    settings = {"agent": {"kind": "codex"}, "checks": ["true"]}
    resolved = configure(repository.top, LoopRequest(repository=str(repository.top), goal="g", settings=settings))
    create_loop(repository, resolved, "loop", NOW)
    for setting, complaint in (
        ("agent.kind=gemini", "loop loop keeps the agent that it started with"),
        ("limits.cost_usd=5", "limits.cost_usd is set, but codex does not support it"),
    ):
        told = helmsman.run("resume", "loop", "--repo", helmsman.repository, "--set", setting)
        assert (told.exit_code, told.output) == (2, ""), told
        assert complaint in told.errors
    status = helmsman.run("status", "loop", "--repo", helmsman.repository)
    assert "agent      codex (OpenAI Codex CLI), without guard rails" in status.output
    assert "cost unknown, 0 tokens" in status.output
    plain = helmsman.run("status", "loop", "--repo", helmsman.repository, "--json")
    assert "cost" in read_object(plain.output)["untold"]


JUDGED = """
checks = ["make test"]
agent.kind = "codex"
judge.criteria = ["it is so"]
claude.binary = "no-such-claude"
"""


def test_a_judge_without_claude_code_is_rejected_before_the_agent_starts(helmsman: CommandLine) -> None:
    helmsman.operator_sets(JUDGED)
    told = helmsman.run("run", "g", "--repo", helmsman.repository, "--yes")
    assert (told.exit_code, told.output) == (2, ""), told
    assert "the judge uses Claude Code: claude.binary does not name an executable program" in told.errors
    assert "ANTHROPIC_API_KEY" in told.errors
    doctor = helmsman.run("doctor", "--repo", helmsman.repository)
    assert doctor.exit_code == 2
    assert "✘ judge        the judge uses Claude Code" in doctor.output
    known = helmsman.run("doctor", "--repo", helmsman.repository, ANTHROPIC_API_KEY="dummy")
    assert (known.exit_code, "✔ judge        through the Messages API" in known.output) == (0, True)
