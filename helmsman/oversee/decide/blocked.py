"""The decision about an agent that says it is blocked: believed where somebody else sees it too."""

from helmsman.oversee.decide.situation import Question, Situation, stop
from helmsman.records.verdict import Decision, Outcome


def _blocked(s: Situation) -> Decision | None:
    reason, judged = s.evidence.claims.blocked, s.evidence.block_judged
    again = s.state.done.blocked > 0
    if not reason or not (again or (judged and judged.approved)):
        return None
    who = "a fresh session, which was asked to look, says so too" if again else "the judge sees it too"
    choices = (
        f"the work is kept on {s.state.branch}; clear away what stands in the way, or say how to go on:"
        f" helmsman approve {s.state.loop} --guidance TEXT"
    )
    return stop(s, "agent.blocked", f"the agent says that it is blocked, and {who}: {reason}; {choices}", Outcome.BLOCKED)


def _said(s: Situation) -> str:
    if not s.evidence.claims.blocked:
        return "it does not say so"
    judged = s.evidence.block_judged
    seen = f", the judge: {judged.criteria[0].given.replace('_', ' ')}" if judged else ""
    return f"it says so, {s.state.done.blocked + 1} in a row{seen}; two in a row, or the judge's word, end it"


BLOCKED = Question(
    "agent.blocked",
    "Does the agent say that it is blocked, and the judge or a fresh session sees it too?",
    _blocked,
    _said,
    lambda _: "a session that finds a way on",
)
