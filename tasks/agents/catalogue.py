"""Files by which people describe hats, presets and agents: a repository's own first, then those that come with Helmsman.

Files of others are read with bounds, and none of them by a link that leads out of the repository.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from helmsman.config.layers import Resolved, display
from helmsman.errors import OperatorError
from helmsman.records.agents import Agent, AgentKind
from helmsman.records.hats import Hat, Preset, Sheet, is_name
from tasks.system.files import read_text, resolve_inside

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
            problem = f"{where} holds another {self.kind} than it says"
            raise OperatorError(problem, expected=expected, found=display(found.name), remedy="rename one")
        return found
