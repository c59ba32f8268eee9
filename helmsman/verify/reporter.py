"""How a rule tells what it found."""

from dataclasses import dataclass

from helmsman.records.findings import SHOWN, Finding, Weight
from helmsman.verify.diff import shown


@dataclass(frozen=True)
class Spot:
    """A place in a changed file."""

    path: str
    line: int | None = None
    """Counted from 1."""
    after: str = ""
    before: str = ""


@dataclass(frozen=True)
class Reporter:
    """Writes the findings of one rule."""

    rule: str
    honest: str
    """What to do instead, as an instruction, unless a finding says it better."""

    def block(self, spot: Spot, message: str, honest: str = "") -> Finding:
        return self.tell(Weight.BLOCK, spot, message, honest)

    def hint(self, spot: Spot, message: str, honest: str = "") -> Finding:
        return self.tell(Weight.HINT, spot, message, honest)

    def tell(self, weight: Weight, spot: Spot, message: str, honest: str = "") -> Finding:
        return Finding(
            rule=self.rule,
            weight=weight,
            path=spot.path.encode("utf-8", "replace").decode("utf-8"),
            line=spot.line,
            before=_storable(spot.before),
            after=_storable(spot.after),
            message=_storable(message),
            honest=honest or self.honest,
        )


def _storable(text: str, longest: int = SHOWN) -> str:
    """One line, without halves of characters, which UTF-8 cannot hold."""
    return shown(text[: 10 * longest].encode("utf-8", "replace").decode("utf-8"), longest)
