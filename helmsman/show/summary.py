"""A loop on one screen: is it done, what proves it, what fails, what it cost, where its work is, what comes next. Markdown."""

from collections.abc import Iterator

from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.show.asking import LISTED, failing
from helmsman.show.cells import BREAK, code, prose, stacked, table
from helmsman.show.dashboard import standing
from helmsman.show.next_steps import next_steps
from helmsman.texts import counted, dollars_told, duration, merged_text, money, tokens_told

WIDTHS = (10, 70)


def summary(state: LoopState) -> str:
    """What a person asks first."""
    rows = (
        ("Done", _done(state)),
        ("Proof", _proof(state)),
        ("Fails", BREAK.join(_fails(state))),
        ("Cost", _cost(state)),
        ("Branch", _branch(state)),
        ("Next", BREAK.join(_next(state))),
    )
    return stacked([
        f"# {state.loop}: {standing(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        table(("", ""), ((f"**{name}**", text) for name, text in rows if text), WIDTHS),
    ])  # fmt: skip


def _done(state: LoopState) -> str:
    if state.outcome is None:
        return f"not yet: {prose(state.gate.question)}" if state.gate else "not yet"
    reason = prose(state.ending.reason if state.ending else state.waiting.reason if state.waiting else "", 400)
    return f"{'yes' if state.outcome is Outcome.COMPLETED else 'no'}: {reason}"


def _proof(state: LoopState) -> str:
    if not state.config.checks:
        return "no check is configured: nothing is verified"
    if state.checks is None:
        return "none yet: no check has run"
    results = state.checks.results
    counts = [result.counts for result in results if result.counts]
    tests = f", {sum(one.passed for one in counts)} tests passed" if counts else ""
    green = f"{len(results) - len(state.checks.failures)} of {counted(len(results), 'check')} green{tests}"
    return f"{green}; proven at {code(state.verified[:12])}" if state.verified else f"{green}; not proven yet"


def _fails(state: LoopState) -> Iterator[str]:
    found = list(failing(state.checks)) if state.checks else []
    yield from found[:LISTED]
    if len(found) > LISTED:
        yield f"… and {len(found) - LISTED} more"


def _cost(state: LoopState) -> str:
    limits, spent = state.config.limits, state.spending
    of = f" of {money(limits.cost_usd)}" if limits.cost_usd else ""
    iterations = f"{state.iteration} of {counted(limits.iterations, 'iteration')}"
    tokens = tokens_told(spent.tokens, state.untold)
    return f"{dollars_told(spent.cost_usd, state.untold)}{of}, {iterations}, {duration(spent.seconds)}, {tokens}"


def _branch(state: LoopState) -> str:
    return f"{code(state.branch)} at {code(state.head[:12])}" + (f"; {prose(merged_text(state.merged))}" if state.merged else "")


def _next(state: LoopState) -> Iterator[str]:
    if state.gate is not None:
        yield f"answer: Resume in the menu of the run's page, or {code(f'helmsman answer {state.loop}')}"
    elif state.outcome is None:
        yield "the loop works; nothing is asked of you"
    else:
        yield from (code(command) for _, command in next_steps(result_of(state, "")))
