"""Where completion goes: nowhere, to and fro, down."""

from collections.abc import Sequence
from itertools import pairwise, takewhile

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.detectors.telling import redirect
from helmsman.oversee.detectors.windows import fewer_fail, in_vain, worked, worked_from
from helmsman.oversee.movement import got_on, is_base
from helmsman.records.moments import Moment, Movement
from helmsman.records.verdict import Signal
from helmsman.texts import counted

DEADBAND = 0.05
"""Change of completion that counts as none; S4's 5 %, and the default of `control.deadband`."""
SWING_WINDOW = 3
"""Iterations looked at for each change of direction: a swing may pause between two turns."""


def stuck(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """3 iterations in a row gained less than 5 % of completion together and none of them got on (S4).

    A green run with a tree never seen in each iteration gets on (see `got_on`); so does a fall of failing tests.
    """
    seen = [moment for moment in worked_from(history, config.stuck_iterations + 2) if not _looked_around(moment)]
    window = seen[-config.stuck_iterations - 1 :]  # with the one before them, where there is one
    steps = [moment for moment in window[-config.stuck_iterations :] if not is_base(moment)]
    if len(steps) < config.stuck_iterations or not in_vain(steps) or fewer_fail(window[0], window[-1]):
        return None
    gain = window[-1].completion - window[0].completion
    if gain >= config.stuck_gain:
        return None
    message = f"{len(steps)} iterations in a row gained {gain:.1%} of completion together ({config.stuck_gain:.0%} is enough)"
    instruction = (
        "The last iterations moved nothing. Write down in two sentences why, choose the smallest failing piece of the goal, "
        "solve it in another way than before, and run its check before you go on."
    )
    return redirect("stuck", message, instruction, value=gain, threshold=config.stuck_gain)


def oscillating(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """Completion changed its direction 3 times since it was last better than ever (S4), each time by more than 5 %.

    Red and green in turn are a way of working where each green tree is new.
    """
    window = _since_best(worked(history, SWING_WINDOW * (config.sign_changes + 1)))
    steps = [after.completion - before.completion for before, after in pairwise(window)]
    if not steps or abs(steps[-1]) <= DEADBAND or _recovers(window):
        return None
    moves = [step > 0 for step in steps if abs(step) > DEADBAND]
    turns = sum(before != after for before, after in pairwise(moves))
    if turns < config.sign_changes:
        return None
    low, high = min(moment.completion for moment in window), max(moment.completion for moment in window)
    message = (
        f"completion changed its direction {turns} times in {len(window)} iterations ({config.sign_changes} are allowed), "
        f"between {low:.0%} and {high:.0%}"
    )
    instruction = (
        "The work swings: one iteration undoes what another won. Begin from the best state, change one thing only, run all "
        "checks after it, and commit it when everything that passed before still passes."
    )
    return redirect("oscillating", message, instruction, value=turns, threshold=config.sign_changes)


def regressing(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """2 iterations in a row made the evidence worse (S4). One alone is how a refactor begins."""
    falls = list(takewhile(_falls, worked(history, 2 * config.falls + 1)[::-1]))
    if len(falls) < config.falls:
        return None
    newest = falls[0]
    counts = f", {counted(newest.failing_tests, 'test')} failing" if newest.failing_tests or newest.passing_tests else ""
    message = (
        f"{counted(len(falls), 'iteration')} in a row made it worse ({config.falls} trip this): "
        f"completion is {newest.completion:.0%}{counts}"
    )
    instruction = (
        "The last changes made things worse. Look at the diff since the best commit, keep what a check proves useful, "
        "take the rest back, and fix what broke before anything new."
    )
    return redirect("regressing", message, instruction, value=len(falls), threshold=config.falls)


def plateau(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """Nothing was better than ever for 8 iterations (S5, eigenform), and no green run made anything new either."""
    window = worked(history, config.plateau)
    if len(window) < config.plateau or not in_vain(window):
        return None
    message = (
        f"nothing was better than ever before for {len(window)} iterations ({config.plateau} trip this); "
        f"completion is {window[-1].completion:.0%}"
    )
    instruction = (
        "This approach has given what it can. Write a new plan from the goal alone: another design for what still fails, "
        "its first step small enough for one iteration, and begin with that step."
    )
    return redirect("plateau", message, instruction, value=len(window), threshold=config.plateau)


def _looked_around(moment: Moment) -> bool:
    """A first iteration may read and change nothing: research (M6)."""
    return moment.iteration <= 1 and not moment.files_changed and moment.tool_calls > 0


def _falls(moment: Moment) -> bool:
    """What was taken back has been dealt with."""
    return moment.movement is Movement.BACK and not moment.undone


def _since_best(window: Sequence[Moment]) -> Sequence[Moment]:
    """From the last iteration on that was better than ever."""
    best = [at for at, moment in enumerate(window) if moment.movement is Movement.FORWARD]
    return window[best[-1] :] if best else window


def _recovers(window: Sequence[Moment]) -> bool:
    """Red and green in turn, each green tree a new one: what breaks on the way is fixed."""
    green = [moment for moment in window if moment.green]
    return bool(green) and all(map(got_on, green))
