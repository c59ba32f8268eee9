"""What the doctor finds, and how it can be fixed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ok, warn or missing."""

    what: str
    verdict: str
    found: str
    remedy: str = ""
    fix: Callable[[], str] | None = field(default=None, compare=False)
    """What `--fix` does; it returns in words what was done. None where only a person can, or where nothing needs it."""

    def plain(self) -> dict[str, Any]:
        told = {"what": self.what, "verdict": self.verdict, "found": self.found, "remedy": self.remedy}
        return {**told, "fixable": self.fix is not None}
