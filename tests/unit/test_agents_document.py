"""docs/agents.md shows the agents that come with Helmsman as they are now."""

import re
import subprocess
import sys
import tomllib

import pytest

from helmsman.config.layers import Layer, resolve
from helmsman.parsers.definitions import read_kind, template
from helmsman.records.agent import AgentOutcome
from tools.agents import DOCUMENT, ROOT

pytestmark = pytest.mark.feature("A5")

TEXT = DOCUMENT.read_text(encoding="utf-8")
BLOCKS: list[str] = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_document_is_up_to_date_and_the_tool_says_so() -> None:
    tool = [sys.executable, "-P", str(ROOT / "tools" / "agents.py"), "--check"]
    ended = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "docs/agents.md is up to date\n"), ended.stderr


def test_the_examples_can_be_read() -> None:
    settings, described, file, stream = BLOCKS
    assert resolve([Layer("it", {"goal": "g", **tomllib.loads(settings)})]).config.agent.kind == "codex"
    assert template(resolve([Layer("it", {"goal": "g", **tomllib.loads(described)})]).config.agent).prompt == "file"
    assert read_kind(file, "it").exits == {"75": AgentOutcome.RATE_LIMITED}
    assert (
        read_kind(file.replace('output = "text"\n', stream.partition("\n")[0] + "\n") + stream.partition("\n")[2], "it").stream
        is not None
    )
