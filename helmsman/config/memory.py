"""What is found out before the work, what is kept beyond a loop, and what of it an agent is told."""

import re
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import STORED, OperatorKey, Section

_WITH_PASSWORD = re.compile(r"[^:/]*://(?:[^/@:]*:[^/]*@|.*[?&](?:ssl)?password=)", re.IGNORECASE)


class ResearchConfig(Section):
    """A look at goal and code before any source is changed."""

    use: bool = False
    """Begin with an iteration that changes no source and chooses an approach."""
    tries: int = Field(default=3, ge=1, le=10)
    """Iterations that it may take until its result is complete; then the work begins with what there is."""


class MemoryConfig(Section):
    """Lessons, guardrails and estimates of all loops."""

    use: bool = True
    """Keep what loops teach, and tell later ones. A store that does not work never stops a loop."""
    url: OperatorKey[str] = ""
    """Where: `postgresql://user@host/helmsman` for a team, or `sqlite:////path/to/memory.db`. Empty: a file of this
    user's. A URL with a password stands in the variable HELMSMAN_MEMORY_URL instead, which wins and is in no record."""
    tokens: int = Field(default=1200, ge=0, le=20_000)
    """Tokens of a prompt that lessons and guardrails may take."""
    lessons: int = Field(default=5, ge=0, le=50)
    """Strategies and conventions in one prompt at most."""
    antipatterns: int = Field(default=2, ge=0, le=50)
    """Antipatterns in one prompt at most."""
    min_confidence: float = Field(default=0.7, ge=0, le=1)
    """Confidence from which a lesson is told."""
    min_success: float = Field(default=0.6, ge=0, le=1)
    """Share of uses that went well, from which a lesson is told. Of an antipattern: of loops that heeded it."""
    guardrail_after: int = Field(default=3, ge=2, le=50)
    """Iterations of a project in which one class of failure has to be seen until it makes a guardrail."""
    guardrails: int = Field(default=8, ge=0, le=50)
    """Guardrails that stand at a time in one project."""
    extraction: Literal["rules", "model"] = "rules"
    """Who draws lessons from a loop that has ended: rules alone, or a model as well (one cheap call a loop)."""
    backups: int = Field(default=7, ge=1, le=365)
    """Daily copies of the SQLite file that are kept."""
    handoff: bool = True
    """Append what a completed loop leaves to know to its alignment file, for the next one."""
    wiki: bool = False
    """Keep a wiki of the project in `.helmsman/wiki`, and archive each completed loop in it."""
    agents_md: Literal["off", "patch", "commit"] = "patch"
    """What becomes of learnings that belong into the project's AGENTS.md: nothing, a patch file beside the loop's records, or a
    commit on the loop's branch once a person has agreed."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str, info: ValidationInfo) -> str:
        if info.context == STORED:
            return url
        scheme = url.partition(":")[0].partition("+")[0]
        if url and scheme not in {"sqlite", "postgresql"}:
            raise PydanticCustomError("scheme", "a URL that begins with postgresql:// or sqlite://")
        if _WITH_PASSWORD.match(url):
            raise PydanticCustomError(
                "password", "a URL without a password; one with it belongs in the variable HELMSMAN_MEMORY_URL"
            )
        return url
