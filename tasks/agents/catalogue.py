"""Catalogues of the files that define hats, presets and agents: a repository's own first, then the built-in ones.

Also finds agents and their programs.

A repository's files are read with size limits, and never through a link that leads out of the repository.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from helmsman.agents import fit_configuration, unused_settings
from helmsman.config.infrastructure import AgentConfig
from helmsman.config.layers import Resolved, did_you_mean, display
from helmsman.errors import OperatorError
from helmsman.parsers.definitions import read_kind, template_kind
from helmsman.records.agents import CLAUDE, TEMPLATE, Agent, AgentKind
from helmsman.records.hats import Hat, Preset, PresetSheet, is_name
from tasks.system.files import read_text, resolve_inside

OF_A_TEMPLATE = "command", "prompt", "output"
OF_ANY_OTHER = "binary", "model", "arguments", "environment"

MOST_FILES = 100
"""Files read per folder."""
T = TypeVar("T", Hat, PresetSheet, AgentKind)


@dataclass(frozen=True)
class LoopSettings(Resolved):
    """The resolved configuration of a loop, with the preset and the agent that it stores."""

    preset: Preset | None = None
    agent: Agent | None = None
    """None: Claude Code. For another agent, settings that it does not support are removed from the configuration."""


class Catalogue(NamedTuple):
    """The definition files of one kind."""

    kind: str
    folder: str
    """Folder in a repository."""
    built_in: Path
    ending: str
    form: str
    """Description of the format, for messages."""

    def built_in_files(self) -> dict[str, Path]:
        """The built-in files, by name."""
        return {path.stem: path for path in sorted(self.built_in.glob(f"*{self.ending}"))}

    def repository_files(self, top: Path) -> dict[str, Path]:
        """The repository's own files, by name; each replaces a built-in one."""
        place = top / self.folder
        files = sorted(place.glob(f"*{self.ending}"))[:MOST_FILES] if place.is_dir() else []
        return {path.stem: path for path in files if is_name(path.stem)}

    def all_files(self, top: Path) -> dict[str, Path]:
        return dict(sorted((self.built_in_files() | self.repository_files(top)).items()))

    def display_name(self, path: Path) -> str:
        """The name of one of these files in messages."""
        return path.name if path.is_relative_to(self.built_in) else f"{self.folder}/{path.name}"

    def read(self, path: Path, top: Path | None, make: Callable[[str, str], T]) -> T:
        """Read a definition. Raises OperatorError where it is invalid, or its name differs from the file's."""
        where = self.display_name(path)
        if top is not None and not path.is_relative_to(self.built_in):
            path = resolve_inside(top, path.relative_to(top), where)
        definition = make(read_text(path, self.form), where)
        if definition.name != Path(where).stem:
            expected = f'name = "{Path(where).stem}"'
            problem = f"{where}: its {self.kind} has another name than the file"
            raise OperatorError(problem, expected=expected, found=display(definition.name), remedy="rename one")
        return definition


AGENTS = Catalogue("agent", ".helmsman/agents", Path(__file__).parent / "presets", ".toml", "a file in TOML")


def with_agent(resolved: LoopSettings, top: Path) -> LoopSettings:
    """The settings with the loop's agent, without what that does not support. Raises OperatorError."""
    kind = find_agent(top, resolved.config.agent)
    if resolved.config.agent.kind != TEMPLATE:
        remedy = f"set it, or remove them; to change a kind, write {AGENTS.folder}/NAME.toml"
        _refuse(resolved, OF_A_TEMPLATE, "a template", f'agent.kind = "{TEMPLATE}"', remedy)
    if kind is None:
        expected = "agent.kind, or claude.binary, claude.model and claude.environment"
        _refuse(resolved, OF_ANY_OTHER, "another agent", expected, "name the agent (--agent NAME), or remove them")
        return resolved
    config, changed = fit_configuration(resolved.config, resolved.origins, kind)
    agent = Agent(kind=kind, unused=unused_settings(config, resolved.origins))
    return replace(resolved, config=config, origins={**resolved.origins, **changed}, agent=agent)


def find_agent(top: Path, config: AgentConfig) -> AgentKind | None:
    """The configured agent; None for Claude Code, which has its own adapter. Raises OperatorError."""
    if config.kind == CLAUDE:
        return None
    if config.kind == TEMPLATE:
        return template_kind(config)
    path = (AGENTS.built_in_files() | repository_agents(top)).get(config.kind)
    if path is None:
        names = agent_names(top)
        raise OperatorError(
            f"there is no agent {display(config.kind)}{did_you_mean(config.kind, names)}",
            expected=f"one of {', '.join(names)}",
            remedy=f"correct agent.kind, or write {AGENTS.folder}/{config.kind if is_name(config.kind) else 'NAME'}.toml",
        )
    return AGENTS.read(path, top, read_kind)


def agent_names(top: Path) -> list[str]:
    return [CLAUDE, *sorted({*AGENTS.built_in_files(), *repository_agents(top)}), TEMPLATE]


def find_program(kind: AgentKind, config: AgentConfig, top: Path) -> Path:
    """Path of `agent.binary`, or of the kind's program: from PATH or relative to the repository. Raises OperatorError."""
    program = config.binary or kind.program
    path = os.path.expanduser(program)  # noqa: PTH111 - a bare name must stay bare to be looked up on PATH
    path_of_program = shutil.which(str(top / path) if "/" in path else path)
    if path_of_program is None:
        raise OperatorError(
            f"the program of {kind.name} was not found",
            expected="agent.binary, or its usual name on PATH",
            found=f"no program {display(program)}",
            remedy=f"install it{f' ({kind.install})' if kind.install else ''}, or set agent.binary",
        )
    return Path(path_of_program).absolute()


def _refuse(resolved: LoopSettings, names: Sequence[str], owner: str, expected: str, remedy: str) -> None:
    """Raise OperatorError for settings of another agent, which would be ignored silently."""
    keys = [key for key in (f"agent.{name}" for name in names) if resolved.origins[key] != "default"]
    if keys:
        problem = f"{' and '.join(keys)}: only {owner} uses this, but agent.kind is {resolved.config.agent.kind}"
        raise OperatorError(problem, expected=expected, remedy=remedy)


def repository_agents(top: Path) -> dict[str, Path]:
    """The repository's agent files, by name, without the two reserved names."""
    return {name: path for name, path in AGENTS.repository_files(top).items() if name not in {CLAUDE, TEMPLATE}}
