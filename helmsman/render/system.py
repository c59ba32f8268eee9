"""One of the systems that a viable system is made of, as a person sees it: how it stands, and by which numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from helmsman.records.checks import CheckReport
from helmsman.render.cells import stacked, table, wrapped

Row = tuple[str, str]
"""What is told, and what there is to tell; the second is Markdown already, and empty where there is nothing."""
WIDTHS = (26, 80)
"""Of name and content in characters: as much as fits beside the menus of both UIs."""


class Sign(StrEnum):
    """How a system stands."""

    GOOD = "✔"
    WATCH = "▲"
    BAD = "✘"
    IDLE = "–"

    @property
    def words(self) -> str:
        return {Sign.GOOD: "in order", Sign.WATCH: "to watch", Sign.BAD: "in trouble", Sign.IDLE: "nothing yet"}[self]


def worst(signs: Iterable[tuple[bool, Sign]], otherwise: Sign = Sign.GOOD) -> Sign:
    """The gravest of the signs that hold."""
    held = {sign for holds, sign in signs if holds}
    return next((sign for sign in (Sign.BAD, Sign.WATCH) if sign in held), otherwise)


@dataclass(frozen=True)
class System:
    number: str
    name: str
    sign: Sign
    short: str
    """Markdown, one line."""
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        return f"System {self.number} – {self.name}"

    def section(self) -> str:
        """All that it tells, under a heading."""
        rows = [(f"**{name}**", told) for name, told in self.rows if told]
        if not rows:
            return f"## {self.sign} {self.title}\n\n{self.short}"
        return stacked(
            [f"## {self.sign} {self.title}", table((self.sign.words, wrapped(self.short, WIDTHS[1])), rows, WIDTHS)]
        ).rstrip()


def passing_checks(report: CheckReport) -> str:
    """How many of them pass, in a clause."""
    passing, every = sum(result.passed for result in report.results), len(report.results)
    return f"{passing} of {every} {'check passes' if every == 1 else 'checks pass'}" if every else "no check is configured"
