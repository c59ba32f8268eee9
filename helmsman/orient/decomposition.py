"""When a goal is too much for one loop, and how it could be split. A loop carries 8 to 10 acceptance criteria and some 40
iterations well (S2): what is larger is better done by loops one after the other, each proven before the next one begins.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from helmsman.config import LoopConfig
from helmsman.parsers.alignment_file import own_goal
from helmsman.parsers.markdown_text import blocks
from helmsman.plain import one_line
from helmsman.records.decision import Alert, Severity
from helmsman.records.lessons import Estimate
from helmsman.texts import plural
from helmsman.toml_of import toml_string

MANY_CRITERIA = 8
TOO_MANY_CRITERIA = 10
MANY_ITERATIONS = 40
ONE_LOOPS = 5  # criteria that a proposed loop gets at most: well below what is many

_TICK_BOX = re.compile(r"\A\[[ xX]\]\s+")


def acceptance_criteria(config: LoopConfig) -> tuple[str, ...]:
    """What has to be true at the end, one by one: the judge's criteria or what the goal lists, whichever are more."""
    judged = tuple(criterion.text for criterion in config.judge.criteria)
    listed = tuple(_listed(own_goal(config.goal)))
    return max(listed, judged, key=len)


def too_much(config: LoopConfig, estimate: Estimate | None) -> Alert | None:
    """A warning for the start, where the goal is better split."""
    number, median = len(acceptance_criteria(config)), round(estimate.iterations.median) if estimate else 0
    if number > MANY_CRITERIA:
        weight = "too many" if number > TOO_MANY_CRITERIA else "many"
        what, value, most = f"the goal names {number} criteria, {weight} for one loop", number, MANY_CRITERIA
        instead = f"{plural(len(split(acceptance_criteria(config))), 'loop')} one after the other"
    elif median > MANY_ITERATIONS:
        what, value, most = f"similar work took {median} iterations in the median", median, MANY_ITERATIONS
        instead = "several loops"
    else:
        return None
    message = f"{what}; it is better split into {instead}: `helmsman chain --draft` writes a first split"
    return Alert(rule="decomposition", severity=Severity.WARN, message=message, value=value, threshold=most)


def split(criteria: Sequence[str]) -> list[tuple[str, ...]]:
    """The criteria in their order, in as few loops of equal size as carry them well."""
    loops = -(-len(criteria) // ONE_LOOPS)
    size, more = divmod(len(criteria), max(loops, 1))
    ends = [size * number + min(number, more) for number in range(loops + 1)]
    return [tuple(criteria[begin:end]) for begin, end in pairwise(ends)]


def chain_file(config: LoopConfig) -> str:
    """A first draft of a chain for a person to edit: the goal's first line with some of its criteria, loop by loop.

    What the goal lists is in it even where the rubric, which holds for each of the loops, names more.
    """
    goal = own_goal(config.goal)
    said = (block.text.partition("\n")[0].strip() for block in blocks(goal) if block.kind in {"heading", "text"})
    what = next(filter(None, said), "")
    listed = tuple(_listed(goal))
    parts = split((*listed, *(one for one in acceptance_criteria(config) if one not in listed))) or [()]
    goals = (
        "\n".join((f"{what} (part {number} of {len(parts)})".strip(), *(f"- {criterion}" for criterion in part)))
        for number, part in enumerate(parts, 1)
    )
    return "\n".join(f"[[loops]]\ngoal = {toml_string(goal)}\n" for goal in goals)


def _listed(goal: str) -> Iterator[str]:
    """Entries of lists, wherever they stand."""
    said = (_TICK_BOX.sub("", one_line(block.text)) for block in blocks(goal) if block.kind == "item")
    return filter(None, said)


# --- one goal gone about in several ways: each row is another place to begin, not another standard --------------------

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
