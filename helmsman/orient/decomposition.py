"""Detection of goals that are too large for one loop, and drafts of a split. A loop handles 8 to 10 acceptance criteria and some
40 iterations well (S2); larger goals need consecutive loops, each proven before the next one starts.
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
from helmsman.toml_text import toml_string

MANY_CRITERIA = 8
MANY_ITERATIONS = 40
ONE_LOOPS = 5  # most criteria of a proposed loop: well below MANY_CRITERIA

_TICK_BOX = re.compile(r"\A\[[ xX]\]\s+")


def acceptance_criteria(config: LoopConfig) -> tuple[str, ...]:
    """Acceptance criteria: the judge's or those listed in the goal, whichever are more."""
    of_judge = tuple(criterion.text for criterion in config.judge.criteria)
    of_goal = tuple(_list_items(own_goal(config.goal)))
    return max(of_goal, of_judge, key=len)


def oversize_warning(config: LoopConfig, estimate: Estimate | None) -> Alert | None:
    """Warning at the start if the goal should be split."""
    number, median = len(acceptance_criteria(config)), round(estimate.iterations.median) if estimate else 0
    if number > MANY_CRITERIA:
        problem, value, most = f"the goal has {number} criteria, too many for one loop", number, MANY_CRITERIA
        replacement = f"{plural(len(split(acceptance_criteria(config))), 'loop')} in sequence"
    elif median > MANY_ITERATIONS:
        problem, value, most = f"similar work took {median} iterations (median)", median, MANY_ITERATIONS
        replacement = "several loops"
    else:
        return None
    message = f"{problem}; split it into {replacement}: `helmsman chain --draft` writes a draft"
    return Alert(rule="decomposition", severity=Severity.WARN, message=message, value=value, threshold=most)


def split(criteria: Sequence[str]) -> list[tuple[str, ...]]:
    """Divide the criteria in order among the fewest loops of equal size."""
    loops = -(-len(criteria) // ONE_LOOPS)
    size, more = divmod(len(criteria), max(loops, 1))
    ends = [size * number + min(number, more) for number in range(loops + 1)]
    return [tuple(criteria[begin:end]) for begin, end in pairwise(ends)]


def chain_file(config: LoopConfig) -> str:
    """Draft of a chain for a person to edit: the goal's first line with some of its criteria for each loop.

    The goal's own list is included even if the rubric, which applies to each of the loops, has more criteria.
    """
    goal = own_goal(config.goal)
    texts = (block.text.partition("\n")[0].strip() for block in blocks(goal) if block.kind in {"heading", "text"})
    headline = next(filter(None, texts), "")
    of_goal = tuple(_list_items(goal))
    parts = split((*of_goal, *(criterion for criterion in acceptance_criteria(config) if criterion not in of_goal))) or [()]
    goals = (
        "\n".join((f"{headline} (part {number} of {len(parts)})".strip(), *(f"- {criterion}" for criterion in part)))
        for number, part in enumerate(parts, 1)
    )
    return "\n".join(f"[[loops]]\ngoal = {toml_string(goal)}\n" for goal in goals)


def _list_items(goal: str) -> Iterator[str]:
    """Entries of all lists in the goal."""
    items = (_TICK_BOX.sub("", one_line(block.text)) for block in blocks(goal) if block.kind == "item")
    return filter(None, items)


# --- several approaches to one goal: each row is another starting point, not another standard -------------------------

APPROACHES = (
    "Make the smallest change that reaches the goal. Leave structure and names as they are, and touch as few files as you can.",
    "Begin with tests: write down what the goal means as failing tests first, then make them pass, then tidy.",
    "Begin with the structure: find the one place where this belongs, shape the code so that the goal is easy there, then do it.",
    "Begin with what is there: look for something in this repository that already does most of it, and build on that.",
    "Begin with the data: settle types, formats and invariants first, and let the code follow from them.",
    "Begin at the outside: make the thinnest path through all layers work, and then fill in each of them.",
    "Begin with what can go wrong: list the edge cases and failures, and choose the design that has the fewest of them.",
    "Start over: write the part concerned as if it did not exist yet, and replace the old one once the checks pass.",
)
"""In order of assignment: the first ones differ most from each other."""
LONGEST_APPROACH = 2_000


def approaches(given: Sequence[str], count: int) -> tuple[str, ...]:
    """One approach for each loop: the given ones, then others of the table, then none, which leaves it to the agent."""
    chosen = (*given, *(approach for approach in APPROACHES if approach not in given))[:count]
    return (*chosen, *[""] * (count - len(chosen)))
