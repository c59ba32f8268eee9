"""How a rule tells what it found."""

from typing import NamedTuple

from helmsman.records.checks import SHOWN, Finding, Weight
from helmsman.verify.diff import display


class Spot(NamedTuple):
    """A place in a changed file."""

    path: str
    line: int | None = None
    """Counted from 1."""
    after: str = ""
    before: str = ""


class Reporter(NamedTuple):
    """Writes the findings of one rule."""

    rule: str
    honest: str
    """What to do instead, as an instruction."""

    def tell(self, weight: Weight, spot: Spot, message: str) -> Finding:
        return Finding(
            rule=self.rule,
            weight=weight,
            path=_whole(spot.path),
            line=spot.line,
            before=_storable(spot.before),
            after=_storable(spot.after),
            message=_storable(message),
            honest=self.honest,
        )


def _storable(text: str) -> str:
    """One line."""
    return display(_whole(text[: 10 * SHOWN]), SHOWN)


def _whole(text: str) -> str:
    """Without halves of characters, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
