"""Finding agents: the repository's own files first, then those that come with Helmsman; and their programs."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from helmsman.agents.fitting import fitted, unused
from helmsman.config.infrastructure import AgentConfig
from helmsman.config.layers import did_you_mean, display
from helmsman.errors import OperatorError
from helmsman.parsers.definitions import read_kind, template
from helmsman.records.agents import CLAUDE, TEMPLATE, Agent, AgentKind
from helmsman.records.hats import is_name
from tasks.agents.catalogue import Catalogue, LoopSettings

AGENTS = Catalogue("agent", ".helmsman/agents", Path(__file__).parent / "presets", ".toml", "a file in TOML")
OF_A_TEMPLATE = "command", "prompt", "output"
OF_ANY_OTHER = "binary", "model", "arguments", "environment"


def settled(resolved: LoopSettings, top: Path) -> LoopSettings:
    """With the agent that a loop keeps, and without what that cannot do. Raises OperatorError."""
    kind = find_agent(top, resolved.config.agent)
    if resolved.config.agent.kind != TEMPLATE:
        remedy = f"set that, or take them out; for changes to a kind write {AGENTS.folder}/NAME.toml"
        _refuse(resolved, OF_A_TEMPLATE, "a template", f'agent.kind = "{TEMPLATE}"', remedy)
    if kind is None:
        expected = "agent.kind, or claude.binary, claude.model and claude.environment"
        _refuse(resolved, OF_ANY_OTHER, "another agent", expected, "name the agent (--agent NAME), or take them out")
        return resolved
    config, changed = fitted(resolved.config, resolved.origins, kind)
    agent = Agent(kind=kind, unused=unused(config, resolved.origins))
    return replace(resolved, config=config, origins={**resolved.origins, **changed}, agent=agent)


def find_agent(top: Path, config: AgentConfig) -> AgentKind | None:
    """The configured agent; None for Claude Code, which has an adapter of its own. Raises OperatorError."""
    if config.kind == CLAUDE:
        return None
    if config.kind == TEMPLATE:
        return template(config)
    path = (AGENTS.ours() | named_in(top)).get(config.kind)
    if path is None:
        names = agent_names(top)
        raise OperatorError(
            f"there is no agent {display(config.kind)}{did_you_mean(config.kind, names)}",
            expected=f"one of {', '.join(names)}",
            remedy=f"correct agent.kind, or write {AGENTS.folder}/{config.kind if is_name(config.kind) else 'NAME'}.toml",
        )
    return AGENTS.read(path, top, read_kind)


def agent_names(top: Path) -> list[str]:
    return [CLAUDE, *sorted({*AGENTS.ours(), *named_in(top)}), TEMPLATE]


def built_in() -> Iterator[AgentKind]:
    """The agents that come with Helmsman, by name."""
    return (AGENTS.read(path, None, read_kind) for path in AGENTS.ours().values())


def find_program(kind: AgentKind, config: AgentConfig, top: Path) -> Path:
    """`agent.binary`, else the kind's own name: on PATH, a path from the repository's top. Raises OperatorError."""
    named = config.binary or kind.program
    path = os.path.expanduser(named)  # noqa: PTH111 - a bare name must stay bare to be looked up on PATH
    found = shutil.which(str(top / path) if "/" in path else path)
    if found is None:
        raise OperatorError(
            f"the program of {kind.name} was not found",
            expected="agent.binary, or its usual name on PATH",
            found=display(named),
            remedy=f"install it{f' ({kind.install})' if kind.install else ''}, or set agent.binary",
        )
    return Path(found).absolute()


def _refuse(resolved: LoopSettings, names: Sequence[str], owner: str, expected: str, remedy: str) -> None:
    """What is meant for another agent would be passed over in silence."""
    said = [key for key in (f"agent.{name}" for name in names) if resolved.origins[key] != "default"]
    if said:
        problem = f"{' and '.join(said)}: only {owner} has that, and agent.kind is {resolved.config.agent.kind}"
        raise OperatorError(problem, expected=expected, remedy=remedy)


def named_in(top: Path) -> dict[str, Path]:
    """Those of the repository; two names are taken."""
    return {name: path for name, path in AGENTS.theirs(top).items() if name not in {CLAUDE, TEMPLATE}}
