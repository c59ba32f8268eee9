"""Generate the tables of docs/agents.md from the agents' files: `python tools/agents.py [--check]`.

--check writes nothing, and exits with 1 if the document is stale.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by path, like every tool

from helmsman.agents import CAPABILITY_TEXTS
from helmsman.parsers.definitions import read_kind
from helmsman.records.agents import TELLS, AgentKind, Capability
from tasks.agents.catalogue import AGENTS
from tools.generated_parts import ROOT, update_document

DOCUMENT = ROOT / "docs" / "agents.md"
_VERIFICATIONS = {
    "runs": "a run against a scripted model",
    "help": "its help and error messages",
    "documentation": "its documentation",
}


def tables() -> Mapping[str, str]:
    agents = [AGENTS.read(path, None, read_kind) for path in AGENTS.built_in_files().values()]
    parts = {
        "capabilities": _capabilities(agents),
        "commands": _commands(agents),
        "lacks": _missing_capabilities(),
        "formats": _formats(),
    }
    return {name: "\n".join(rows) for name, rows in parts.items()}


def _capabilities(agents: list[AgentKind]) -> Iterator[str]:
    yield f"| | claude | {' | '.join(agent.name for agent in agents)} |"
    yield f"|---|{'---|' * (len(agents) + 1)}"
    for capability, lack in CAPABILITY_TEXTS.items():
        cells = ("yes", *("yes" if capability in agent.capabilities else "no" for agent in agents))
        yield f"| {lack.short} | {' | '.join(cells)} |"


def _commands(agents: list[AgentKind]) -> Iterator[str]:
    yield "| agent | command | prompt | login variables | verified by |\n|---|---|---|---|---|"
    for agent in agents:
        model = f" (model: `{' '.join(agent.model_options)}`)" if agent.model_options else ""
        login = ", ".join(f"`{name}`" for name in agent.login)
        verification = f"[{_VERIFICATIONS[agent.known_by]}]({agent.documentation})" if agent.known_by else ""
        version = f"{agent.version}, " if agent.version else ""
        yield f"| {agent.name} | `{' '.join(agent.command)}`{model} | {agent.prompt} | {login} | {version}{verification} |"


def _missing_capabilities() -> Iterator[str]:
    yield "| without | what that means |\n|---|---|"
    yield from (f"| {lack.short} | {lack.words} |" for lack in CAPABILITY_TEXTS.values())


def _formats() -> Iterator[str]:
    yield "| `output` | tells |\n|---|---|"
    for name, capabilities in TELLS.items():
        names = ", ".join(CAPABILITY_TEXTS[capability].short for capability in Capability if capability in capabilities)
        yield f"| `{name}` | {names or 'the final text and the exit status'} |"


if __name__ == "__main__":
    sys.exit(update_document(DOCUMENT, tables(), __file__, sys.argv[1:]))
