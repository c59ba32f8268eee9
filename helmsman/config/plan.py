"""The plan: a list of work in the repository that the loop follows item by item."""

import posixpath
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import Section

Kind = Literal["json", "markdown", "toml"]
ENDINGS: Mapping[str, Kind] = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".toml": "toml"}
"""What kind of plan a file is, by the end of its name."""
_OURS = (".git", ".helmsman")


class PlanConfig(Section):
    """Whether the loop works from a plan, and from which."""

    file: str = Field(default="", max_length=500)
    """A committed file, by its path from the top: `prd.json`, checkboxes in Markdown, or `plan.toml` (docs/plans.md). The loop
    takes its items one by one, ticks each by evidence, and completes only when all are ticked. Empty: there is no plan."""
    item: str = Field(default="", max_length=60)
    """Id of the one item that this loop is for. Empty: all of them."""
    tries: int = Field(default=5, ge=1, le=100)
    """Iterations that one item may take before a person is asked."""

    @field_validator("file")
    @classmethod
    def _lies_in_the_repository(cls, file: str) -> str:
        parts = file.split("/")
        if file and (file != posixpath.normpath(file) or file.startswith("/") or ".." in parts or not file.isprintable()):
            raise PydanticCustomError("outside", "a path from the top of the repository, without . and ..")
        if parts[0] in _OURS:
            raise PydanticCustomError("ours", "a committed file; .git and .helmsman are no place for one")
        if file and not file.lower().endswith(tuple(ENDINGS)):
            raise PydanticCustomError("no_plan", "a file that ends with .json, .md or .toml")
        return file
