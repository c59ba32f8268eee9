"""How the agent's sessions went: empty, silent, dear, denied, beside the point."""

from collections.abc import Sequence
from itertools import takewhile

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.detectors.telling import redirect, warning
from helmsman.oversee.detectors.windows import worked
from helmsman.oversee.movement import got_on
from helmsman.records.agents import Capability
from helmsman.records.evidence import AgentOutcome
from helmsman.records.moments import Moment, Movement
from helmsman.records.verdict import Severity, Signal

STRAY = 2
"""Iterations in a row beside the objective; one may be a detour that the work needs."""
USUAL_LEAST, USUAL_MOST = 3, 10
"""Earlier iterations that say what is usual."""
BURN_WINDOW = 50
BURN_LEAST = 3
"""Iterations without gain before their price is looked at: S4's patience."""
BURN_FACTOR = 2
"""A gain that costs more than twice what the dearest one did is out of the ordinary; the mean would call each hard step burnt."""


def off_objective(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """Less than 0.3 of the files had to do with the task (S5) in 2 iterations in a row that changed files; from 3 on REDIRECT.

    Research changes nothing and never trips it; neither does what the evidence calls better than ever.
    """
    stray = list(takewhile(lambda moment: _beside(moment, config.relevance), worked(history, 2 * STRAY)[::-1]))
    if len(stray) < STRAY:
        return None
    newest = stray[0]
    message = (
        f"{newest.relevance:.0%} of the files had to do with the task, below {config.relevance:.0%} "
        f"for {len(stray)} iterations in a row ({STRAY} trip this)"
    )
    lost = len(stray) > STRAY and not got_on(newest)  # words that match badly must not stop what gets on
    instruction = (
        "Read the goal and the failing checks again, name the files that they speak of, and work in those; "
        "note everything else that you come across for later."
    )
    tell = redirect if lost else warning
    return tell("off_objective", message, instruction, value=newest.relevance, threshold=config.relevance)


def resource_burn(history: Sequence[Moment], _config: DetectConfig) -> Signal | None:
    """3 or more iterations without gain cost more than twice what the dearest gain so far did (S5).

    Against the loop's own prices, since no absolute one fits both a typo and a migration; two gains are needed to know them.
    """
    window = worked(history, BURN_WINDOW)
    gains = [at for at, moment in enumerate(window) if got_on(moment)]
    if len(gains) < 2 or len(window) - 1 - gains[-1] < BURN_LEAST:  # noqa: PLR2004 - two prices make a comparison
        return None
    in_dollars = any(moment.cost_usd > 0 for moment in window)
    spent = [moment.cost_usd if in_dollars else moment.tokens for moment in window]
    starts = [0, *(at + 1 for at in gains)]
    prices = [sum(spent[start : at + 1]) for start, at in zip(starts, gains, strict=False)]
    burnt, dearest = sum(spent[gains[-1] + 1 :]), max(prices)
    if burnt <= BURN_FACTOR * dearest:
        return None
    unit = "US dollars" if in_dollars else "tokens"
    message = (
        f"{len(window) - 1 - gains[-1]} iterations without gain used {burnt:.4g} {unit}; "
        f"the dearest gain before them took {dearest:.4g}, and {BURN_FACTOR} times that trips this"
    )
    return Signal(rule="resource_burn", severity=Severity.WARN, message=message, value=burnt, threshold=BURN_FACTOR * dearest)


def empty_sessions(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """2 sessions in a row that ended by themselves called no tool and changed nothing (S5).

    A session that the world cut off is not empty, and one that asks to be done under green checks has nothing left to do.
    """
    window = worked(history, config.empty_sessions)
    if len(window) < config.empty_sessions or not all(map(_empty, window)):
        return None
    message = f"{len(window)} sessions in a row called no tool and changed nothing ({config.empty_sessions} trip this)"
    instruction = (
        "Begin with a tool call: run the failing check, read the first file that it names, make one change, and run it again."
    )
    return redirect("empty_sessions", message, instruction, value=len(window), threshold=config.empty_sessions)


def output_decline(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """The agent wrote over 70 % fewer tokens than usual (median of 3 to 10 iterations; S5) though work is left.

    A short session that got on, ended green, asked to be done or was cut off is nothing of the kind.
    """
    window = worked(history, USUAL_MOST + 1)
    usual = [moment.written for moment in window[:-1] if moment.written > 0]
    if len(usual) < USUAL_LEAST:
        return None
    newest, middle = window[-1], sorted(usual)[len(usual) // 2]
    least = (1 - config.output_decline) * middle
    cut_off = newest.outcome is not AgentOutcome.FINISHED
    if cut_off or newest.written >= least or newest.green or newest.asked or got_on(newest):
        return None
    message = (
        f"the agent wrote {newest.written} tokens where {middle} are usual, "
        f"a loss of more than {config.output_decline:.0%}, and the checks are not green"
    )
    return Signal(rule="output_decline", severity=Severity.WARN, message=message, value=newest.written, threshold=least)


def denied(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """The CLI denied permissions in 2 iterations in a row (S5), which a person has to grant; WARN where one of them got on."""
    window = worked(history, config.denials)
    if len(window) < config.denials or not all(moment.denials for moment in window):
        return None
    total = sum(moment.denials for moment in window)
    message = (
        f"the CLI denied {total} permissions in {len(window)} iterations in a row ({config.denials} trip this); allow what the "
        "work needs with claude.allowed_tools or claude.permission_mode, or take it out of the goal, then resume"
    )
    severity = Severity.WARN if any(map(got_on, window)) else Severity.PAUSE
    instruction = "Work with the tools that you are allowed, and note which denied one the goal needs, and what for."
    return Signal(
        rule="denied", severity=severity, message=message, value=len(window), threshold=config.denials, instruction=instruction
    )


def _beside(moment: Moment, least: float) -> bool:
    return moment.relevance < least and moment.files_changed > 0 and moment.movement is not Movement.FORWARD


def _empty(moment: Moment) -> bool:
    used = moment.tool_calls or Capability.TOOLS in moment.untold  # of what is not told, nothing is held against it
    idle = moment.outcome is AgentOutcome.FINISHED and not used and not moment.files_changed
    return idle and not (moment.green and moment.asked)
