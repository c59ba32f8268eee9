"""docs/agents.md and docs/presets.md show the current built-in files."""

import re
import subprocess
import sys
import tomllib

import pytest

from helmsman.config.layers import Layer, resolve
from helmsman.parsers.definitions import read_hat, read_kind, read_sheet, template_kind
from helmsman.records.agent import AgentOutcome, FailureClass
from helmsman.records.hats import Condition
from tools import agents, presets

AGENTS, PRESETS = (tool.DOCUMENT.read_text(encoding="utf-8") for tool in (agents, presets))


@pytest.mark.feature("A5", "M10")
@pytest.mark.parametrize("name", ["agents", "presets"])
def test_the_document_is_up_to_date_and_the_tool_says_so(name: str) -> None:
    tool = [sys.executable, "-P", str(agents.ROOT / "tools" / f"{name}.py"), "--check"]
    ended = subprocess.run(tool, cwd=agents.ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"docs/{name}.md is up to date\n"), ended.stderr


@pytest.mark.feature("A5")
def test_the_examples_of_agents_can_be_read() -> None:
    settings, described, file, stream = re.findall(r"^```toml\n(.*?)^```$", AGENTS, re.DOTALL | re.MULTILINE)
    assert resolve([Layer("it", {"goal": "g", **tomllib.loads(settings)})]).config.agent.kind == "codex"
    assert template_kind(resolve([Layer("it", {"goal": "g", **tomllib.loads(described)})]).config.agent).prompt == "file"
    assert read_kind(file, "it").exits == {"75": AgentOutcome.RATE_LIMITED}
    output, _, rest = stream.partition("\n")
    assert read_kind(file.replace('output = "text"\n', f"{output}\n") + rest, "it").stream is not None


@pytest.mark.feature("M10")
def test_the_examples_of_presets_can_be_read_and_every_condition_and_class_of_failure_is_explained() -> None:
    sheet, hat = re.findall(r"^```\n(\+\+\+\n.*?)^```$", PRESETS, re.DOTALL | re.MULTILINE)
    assert read_sheet(sheet, "example").name
    assert read_hat(hat, "example").name
    assert set(Condition.model_fields) <= {line.split("`")[1] for line in PRESETS.splitlines() if line.startswith("| `")}
    assert not [kind for kind in FailureClass if f"`{kind}`" not in PRESETS]
