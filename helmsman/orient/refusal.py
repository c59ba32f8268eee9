"""The first section of a prompt after a request to be done: that it was refused, and why."""

from collections.abc import Mapping, Sequence

from helmsman.plain import clean_lines
from helmsman.prompts import Piece, render_pieces
from helmsman.records.state import LoopState

WHY: Mapping[str, str] = {
    "checks": "checks fail",
    "unchanged": "nothing differs from the commit that this loop began with, so nothing is done",
    "unproven": "nothing shows the change; add a test that fails without it and passes with it, and commit that",
    "expectations": "tests of the start fail on your source; make it pass them as they were, unless the goal demands otherwise",
    "looked_up": "functions know the answers of their tests and no others; do what the goal says for every input",
    "invariants": "the diff has findings that block completion; they are listed below",
    "required_tests": "tests that have to run did not run",
    "indicators": "completion has to hold in more than one iteration",
    "plan": "not every item of the plan is proven",
    "processes": "processes that you started are still running",
    "hidden": "a check that you do not see fails; do what the goal says for every input, not only for those of the tests",
    "probes": "a case that you do not see fails; do what the goal says for every input, not only for those of the tests",
    "judge": "a reviewer found criteria that are not met; they are listed below",
}
"""The reasons, in our words."""
DETAILED = frozenset({"unproven", "expectations", "looked_up", "required_tests", "plan", "processes", "hidden", "probes"})
"""Rules whose detail stands here; that of the others has a section of its own."""


def refusal_section(state: LoopState) -> Sequence[Piece]:
    """Nothing where the last iteration did not ask, or where its request was granted."""
    refused = state.done.refused
    if not refused:
        return ()
    reasons = "; ".join(dict.fromkeys(WHY[one.rule] for one in refused if one.rule in WHY))
    details = "\n".join(clean_lines(one.why) for one in refused if one.rule in DETAILED)
    return render_pieces("refusal", iteration=state.iteration, reasons=reasons, details=details)
