"""What a rule found, as a finding: bounded, on one line, with what to do instead."""

from typing import NamedTuple

from helmsman.records.checks import SHOWN, Finding, Weight


class Spot(NamedTuple):
    """A place in a changed file."""

    path: str
    line: int | None = None  # counted from 1
    after: str = ""
    before: str = ""


def finding(rule: str, honest: str, weight: Weight, spot: Spot, message: str) -> Finding:
    """`honest`: what to do instead, as an instruction."""
    lines = (" ".join(_whole(text[: 10 * SHOWN]).split()) for text in (spot.before, spot.after, message))
    before, after, said = (line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…" for line in lines)
    told = {"rule": rule, "honest": honest, "weight": weight, "path": _whole(spot.path), "line": spot.line}
    return Finding.model_validate({**told, "before": before, "after": after, "message": said})


def _whole(text: str) -> str:
    """Without halves of characters, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
