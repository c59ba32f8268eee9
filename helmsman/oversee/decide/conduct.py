"""Decisions that follow from how the loop behaves: pain, a question to a person, another way."""

from helmsman.oversee.decide.situation import BLOWN, Question, Situation, against, go_on, standing, stop
from helmsman.oversee.diagnosis import sentence
from helmsman.oversee.ending import all_ours
from helmsman.records.modes import Ladder, Rung
from helmsman.records.oversight import Diagnosis
from helmsman.records.verdict import Decision, DecisionKind, Outcome

CONFLICTS_TOLD = 2
LEAST_LOSS = 0.01
"""Of completion; below it two tests of 500 that fail by chance would take work back."""


def _pain(s: Situation) -> Decision | None:
    """Whatever else is going on; the work stays on a ref."""
    if not s.pains:
        return None
    back = _last_good(s)
    told = f"; the branch goes back to {back[:10]}, the work stays on a ref" if back else ""
    reason = "; ".join(signal.message for signal in s.pains)
    ejected = stop(s, s.pains[0].rule, f"{reason}{told}; look at it, then: helmsman resume {s.state.loop}", Outcome.EJECTED)
    return ejected.model_copy(update={"back_to": back})


def _last_good(s: Situation) -> str:
    """The best commit, else the one that the loop began with; empty where the branch is there.

    What an iteration made that hurts is never the best one; a blown budget says nothing against the work.
    """
    harmless = all(signal.rule == BLOWN for signal in s.pains)
    best = (s.oversight if harmless else s.state.oversight).best
    good = best.commit if best else s.state.base_commit
    back = good if _all_ours(s, good) else s.evidence.execution.change.start
    return "" if back == s.commit else back


def _critical(s: Situation) -> Decision | None:
    critical = [issue for issue in s.oversight.issues if issue.critical]
    if not critical or not s.steers:
        return None
    reason = "; ".join(issue.message for issue in critical)
    return stop(s, critical[0].rule, f"{reason}; at the end {against(s)}", Outcome.STOPPED)


def _person(s: Situation) -> Decision | None:
    ladder = s.oversight.ladder
    if ladder.rung < Rung.HUMAN or not s.steers:
        return None
    sure = [one for one in s.oversight.conflicts if one.by == "rules" or s.oversight.diagnosis is Diagnosis.DOUBLE_BIND]
    facts = "; ".join(map(sentence, sure[:CONFLICTS_TOLD]))
    objection = f"two orders contradict each other: {facts}; at the end {against(s)}" if facts else against(s)
    reason = f"{objection}; {ladder.rung.title}: {ladder.reason}"
    choices = (
        f"a person has to choose: change the goal, the checks or an order that contradicts another, and go on with"
        f" `helmsman approve {s.state.loop}` (it begins with a redesign); or take the branch over by hand; or leave it"
    )
    return stop(s, "ladder.human", f"{reason}; {choices}", Outcome.WAITING)


def _because_of(ladder: Ladder) -> str:
    return f"{ladder.rung.title}: {ladder.reason}" if ladder.reason else ladder.rung.title


def _watched(s: Situation) -> str:
    return "" if s.steers else "; ladder.act is off, so nothing follows"


def _continue(s: Situation) -> Decision:
    rung = s.oversight.ladder.rung
    climbed = f"; {rung.title}: {s.oversight.ladder.reason}" if rung > Rung.PATCH and s.steers else ""
    return go_on(s, "continue", f"{standing(s)}{climbed}")


def on_better_tree(s: Situation, decision: Decision) -> Decision:
    """The same decision, on a better tree where the work got worse and the loop goes on. One that ends is left at its best."""
    back = _better_tree(s)
    if not back or decision.repeat or decision.kind is DecisionKind.STOP:
        return decision
    told = f"{decision.reason}; the work got worse, so the branch goes back to {back[:10]} and the work stays on a ref"
    return decision.model_copy(update={"back_to": back, "reason": told})


def _better_tree(s: Situation) -> str:
    """The best commit, where the work got worse in too many iterations in a row; empty where the branch stays."""
    best, regressing = s.oversight.best, any(signal.rule == "regressing" for signal in s.signals)
    rolls = regressing and s.steers and s.state.config.ladder.rollback and not s.state.config.completion.force_max
    lost = best.completion - s.oversight.progress.completion if best else 0.0
    goes = rolls and best is not None and best.commit != s.commit and lost >= LEAST_LOSS
    return best.commit if goes and best and _all_ours(s, best.commit) else ""


def _all_ours(s: Situation, back: str) -> bool:
    return s.commit == back or all_ours(s.state.history, back, s.evidence.execution.change.start)


PAIN = Question(
    "pain",
    "Is there pain that ends a loop at once?",
    _pain,
    lambda s: "; ".join(signal.message for signal in s.pains) or "none",
    lambda _: "the cause gone; a person may switch a source of pain off under pain.*",
)
CRITICAL = Question(
    "validation",
    "Did validation find something that makes going on pointless?",
    _critical,
    lambda s: f"{sum(issue.critical for issue in s.oversight.issues)} critical of {len(s.oversight.issues)} issues",
    lambda _: "no critical issue",
)
PERSON = Question(
    "ladder.human",
    "Has the ladder come to a person?",
    _person,
    lambda s: f"the rung is {_because_of(s.oversight.ladder)}{_watched(s)}",
    lambda s: f"progress, or more iterations for a rung than {s.state.config.ladder.patience} (ladder.patience)",
)
GO_ON = Question("continue", "Is there nothing that speaks against going on?", _continue, standing, lambda _: "any yes above")
