"""Approaches: what loops with one goal are told beforehand, so that they do not all try the same.

Each row is another place to begin, not another standard: checks, criteria and limits are the same for all of them.
"""

from collections.abc import Sequence

APPROACHES = (
    "Make the smallest change that reaches the goal. Leave structure and names as they are, and touch as few files as you can.",
    "Begin with tests: write down what the goal means as failing tests first, then make them pass, then tidy.",
    "Begin with the structure: find the one place where this belongs, shape the code so that the goal is easy there, then do it.",
    "Begin with what is there: look for something in this repository that already does most of it, and build on that.",
    "Begin with the data: settle types, formats and invariants first, and let the code follow from them.",
    "Begin at the outside: make the thinnest path through all layers work, and then fill in each of them.",
    "Begin with what can go wrong: list the edge cases and failures, and choose the design that has the fewest of them.",
    "Begin anew: write the part concerned as if it did not exist yet, and replace the old one once the checks pass.",
)
"""In the order in which they are given out: the first ones differ most from each other."""
LONGEST_APPROACH = 2_000


def approaches(given: Sequence[str], count: int) -> tuple[str, ...]:
    """One for each loop: those that were given, of the table what they leave open, each once, and then none: as it likes."""
    known = (*given, *(one for one in APPROACHES if one not in given))[:count]
    return (*known, *[""] * (count - len(known)))
