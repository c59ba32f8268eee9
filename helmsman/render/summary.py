"""A loop on one screen: is it done, what proves it, what fails, what it cost, where its work is, what comes next. Markdown."""

from collections.abc import Iterator

from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.cells import BREAK, code, prose, stacked, table
from helmsman.render.dashboard import standing
from helmsman.render.first_facts import Code, Line, first_facts
from helmsman.render.next_steps import next_steps

WIDTHS = (10, 70)


def summary(state: LoopState) -> str:
    """What a person asks first."""
    facts = ((name, BREAK.join(map(_text, lines))) for name, lines in first_facts(state))
    rows = (*facts, ("Next", BREAK.join(_next(state))))
    return stacked([
        f"# {state.loop}: {standing(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        table(("", ""), ((f"**{name}**", text) for name, text in rows if text), WIDTHS),
    ])  # fmt: skip


def _text(line: Line) -> str:
    return " ".join(code(piece, 160) if isinstance(piece, Code) else prose(piece, 400) for piece in line if piece)


def _next(state: LoopState) -> Iterator[str]:
    if state.gate is not None:
        yield f"answer: Resume in the menu of the run's page, or {code(f'helmsman answer {state.loop}')}"
    elif state.outcome is None:
        yield "the loop works; nothing is asked of you"
    else:
        yield from (code(command) for _, command in next_steps(result_of(state, "")))
