"""The real codex and the real gemini, driven by the installed command against scripted models on loopback."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.iteration import IterationRecord
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.command_line import CommandLine
from tests.fakes.model_apis import CODEX_SESSION, GEMINI_SESSION, OtherModel, agents_path, gemini, responses
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import Ended
from tests.fakes.repositories import make_repository

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a worker also starts the engine
    pytest.mark.feature("A5"),
    pytest.mark.needs("agents"),
]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}
CHECK = "python3 -c 'import calc; assert calc.add(20, 22) == 42'"


@pytest.fixture(scope="session")
def programs() -> str:
    """Where the agents' programs are, and the Node.js that they run on, as PATH."""
    return agents_path()


@dataclass(frozen=True)
class Helm:
    """The command line, and what is to be seen of the loop that it drove."""

    line: CommandLine
    options: tuple[str, ...]

    def run(self, *more: str) -> Ended:
        goal = "Make add add."
        repo = "--repo", str(self.line.repository)
        return self.line.run("run", goal, "--check", CHECK, "--name", "loop", "--yes", *repo, *self.options, *more)

    @property
    def record(self) -> IterationRecord:
        (record,) = read_records(open_repository(self.line.repository), "loop")
        return record

    def told(self) -> dict[str, Any]:
        return json.loads(self.line.run("status", "loop", "--json", "--repo", str(self.line.repository)).output)


def helm(folder: Path, path: str, server: PrefectServer, agent: Sequence[str], **variables: str) -> Helm:
    make_repository(folder / "repository", FILES)
    (folder / "home").mkdir()
    own = {"HELMSMAN_HOME": str(folder / "state"), "PREFECT_HOME": str(folder / "prefect"), "PREFECT_API_URL": server.url}
    everywhere = {"PATH": path, "HOME": str(folder / "home"), **own, **variables}
    return Helm(CommandLine(folder, everywhere), ("--max-iterations", "3", *agent))


FEW = "request_max_retries=0,stream_max_retries=0"


def codex(folder: Path, path: str, server: PrefectServer, model: OtherModel) -> Helm:
    provider = f'{{name="loop",base_url="{model.url}/v1",wire_api="responses",env_key="OPENAI_API_KEY",{FEW}}}'
    given = ["--ignore-user-config", "-c", "model_provider=loop", "-c", f"model_providers.loop={provider}"]
    options = "--agent", "codex", "--set", f"agent.arguments={json.dumps(given)}", "--set", "agent.model=scripted"
    return helm(folder, path, server, options, OPENAI_API_KEY="dummy")


def gemini_cli(folder: Path, path: str, server: PrefectServer, model: OtherModel) -> Helm:
    options = "--agent", "gemini", "--set", "agent.model=gemini-2.5-flash"
    model_there = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": model.url}
    made = helm(folder, path, server, options, TMPDIR=str(folder / "home"), **model_there)  # it leaves reports of errors there
    settings = folder / "home" / ".gemini" / "settings.json"
    settings.parent.mkdir()
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps({**auth, "privacy": {"usageStatisticsEnabled": False}}))
    return made


def finished(made: Helm) -> None:
    """What holds of any agent whose loop came to a good end."""
    assert made.told()["outcome"] == "completed"
    record, repository = made.record, made.line.repository
    assert (record.execution.call.outcome, record.checks and record.checks.passed) == ("finished", True)
    assert record.execution.change.files == ("calc.py",)
    assert "a + b" in git(repository, "show", "helmsman/loop:calc.py")
    assert git(repository, "log", "-1", "--format=%s", "helmsman/loop").strip() == "Add what is to be added"


def test_codex_edits_by_its_own_tool_until_the_check_passes(tmp_path: Path, programs: str, prefect_server: PrefectServer) -> None:
    with OtherModel(responses, CODEX_SESSION) as model:
        made = codex(tmp_path, programs, prefect_server, model)
        run = made.run()
    assert run.exit_code == 0, run
    finished(made)
    call = made.record.execution.call
    assert (dict(call.tools), call.usage.tokens, call.usage.cost_usd) == ({"file_change": 1, "command_execution": 1}, 330, 0)
    assert [(one.command.split()[1], one.failed) for one in call.commands] == [("commit", False)]
    assert [Path(path).name for path in call.edited] == ["calc.py"]
    assert call.final_text.startswith("add adds now.")
    assert "Make add add." in json.dumps(model.asked[0])
    assert "agent      codex (OpenAI Codex CLI)" in run.output
    assert "it does not report its cost, so a cost limit has no effect" in run.output
    assert "cost unknown, 330 tokens" in run.output


@pytest.mark.slow
def test_gemini_edits_by_its_own_tool_until_the_check_passes(
    tmp_path: Path, programs: str, prefect_server: PrefectServer
) -> None:
    with OtherModel(gemini, GEMINI_SESSION) as model:
        made = gemini_cli(tmp_path, programs, prefect_server, model)
        run = made.run()
    assert run.exit_code == 0, run
    finished(made)
    call = made.record.execution.call
    assert (dict(call.tools), call.usage.tokens) == ({"replace": 1, "run_shell_command": 1}, 330)
    assert (call.model, call.edited, call.commands) == ("gemini-2.5-flash", ("calc.py",), ())
    assert "Make add add." in json.dumps(model.asked[0])
    assert "it does not report exit statuses" in run.output
