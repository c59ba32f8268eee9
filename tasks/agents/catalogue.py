"""Files by which people describe hats, presets and agents: a repository's own first, then those that come with Helmsman.

Here agents are found as well, and their programs.

Files of others are read with bounds, and none of them by a link that leads out of the repository.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from helmsman.agents.fitting import fitted, unused
from helmsman.config.infrastructure import AgentConfig
from helmsman.config.layers import Resolved, did_you_mean, display
from helmsman.errors import OperatorError
from helmsman.parsers.definitions import read_kind, template
from helmsman.records.agents import CLAUDE, TEMPLATE, Agent, AgentKind
from helmsman.records.hats import Hat, Preset, Sheet, is_name
from tasks.system.files import read_text, resolve_inside

OF_A_TEMPLATE = "command", "prompt", "output"
OF_ANY_OTHER = "binary", "model", "arguments", "environment"

MOST_FILES = 100
"""Of a folder's files those that are looked at."""
T = TypeVar("T", Hat, Sheet, AgentKind)


@dataclass(frozen=True)
class LoopSettings(Resolved):
    """The resolved configuration of a loop, with the preset and the agent that it keeps."""

    preset: Preset | None = None
    agent: Agent | None = None
    """None: Claude Code. What another agent cannot do is taken out of the configuration."""


class Catalogue(NamedTuple):
    """The files of one kind."""

    kind: str
    folder: str
    """Of a repository."""
    built_in: Path
    ending: str
    form: str
    """In words."""

    def ours(self) -> dict[str, Path]:
        """Those that come with Helmsman, by name."""
        return {path.stem: path for path in sorted(self.built_in.glob(f"*{self.ending}"))}

    def theirs(self, top: Path) -> dict[str, Path]:
        """The repository's own; each takes the place of ours."""
        place = top / self.folder
        files = sorted(place.glob(f"*{self.ending}"))[:MOST_FILES] if place.is_dir() else []
        return {path.stem: path for path in files if is_name(path.stem)}

    def all(self, top: Path) -> dict[str, Path]:
        return dict(sorted((self.ours() | self.theirs(top)).items()))

    def where(self, path: Path) -> str:
        """How messages name one of these files."""
        return path.name if path.is_relative_to(self.built_in) else f"{self.folder}/{path.name}"

    def read(self, path: Path, top: Path | None, make: Callable[[str, str], T]) -> T:
        """What one of these files describes. Raises OperatorError where it is none, or is called otherwise than it says."""
        where = self.where(path)
        if top is not None and not path.is_relative_to(self.built_in):
            path = resolve_inside(top, path.relative_to(top), where)
        found = make(read_text(path, self.form), where)
        if found.name != Path(where).stem:
            expected = f'name = "{Path(where).stem}"'
            problem = f"{where} holds another {self.kind} than its name says"
            raise OperatorError(problem, expected=expected, found=display(found.name), remedy="rename one")
        return found


AGENTS = Catalogue("agent", ".helmsman/agents", Path(__file__).parent / "presets", ".toml", "a file in TOML")


def with_agent(resolved: LoopSettings, top: Path) -> LoopSettings:
    """With the agent that a loop keeps, and without what that cannot do. Raises OperatorError."""
    kind = find_agent(top, resolved.config.agent)
    if resolved.config.agent.kind != TEMPLATE:
        remedy = f"set it, or remove them; for changes to a kind write {AGENTS.folder}/NAME.toml"
        _refuse(resolved, OF_A_TEMPLATE, "a template", f'agent.kind = "{TEMPLATE}"', remedy)
    if kind is None:
        expected = "agent.kind, or claude.binary, claude.model and claude.environment"
        _refuse(resolved, OF_ANY_OTHER, "another agent", expected, "name the agent (--agent NAME), or remove them")
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
