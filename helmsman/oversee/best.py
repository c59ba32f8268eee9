"""Best, not last: at which tree a loop that ends without completion is left, and which of several loops with one goal did best.

What was measured is completion, from tests, checks, criteria and items (`progress`); of equals the later one counts, and a tree
that games its checks or hurts is never the best (`Oversight.best`). Of several loops every candidate has passed every check. A
model that is asked sees them in one order and then in the other: where its choice depends on the order, it has none (models
prefer what comes first), and the rules decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from pydantic import Field

from helmsman.budget import fence, fit
from helmsman.config import LoopConfig
from helmsman.parsers.answers import StrictAnswer, form_of, printable, read_answer
from helmsman.plain import clean
from helmsman.prompts import render, render_pieces
from helmsman.records.advance import most_tests, taken_back, undone_after
from helmsman.records.checks import Weight
from helmsman.records.control import LATER, Checkpoint, Failed, IterationSummary
from helmsman.records.decision import Outcome
from helmsman.records.iteration import Question
from helmsman.records.request import Choice
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import trim

ENDS = frozenset({Outcome.STOPPED, Outcome.FAILED, Outcome.CANCELLED, Outcome.EJECTED})
"""Ends without completion. A loop that waits for a person is shown as it is."""


def better_to_leave(state: LoopState) -> Checkpoint | None:
    """The tree to leave an ended loop at; None where its last one is the best, or where not all that came after is the loop's."""
    best, steers = state.oversight.best, state.config.ladder.act
    if state.outcome not in ENDS or best is None or best.commit == state.head or not steers:
        return None
    # Work that measures better and has a finding against it is no best. Yet a person may find it honest, so it stays where the
    # loop ended for just that, and where going back would leave nothing of the loop's work at all.
    last, of_findings = _last(state), state.ending is not None and state.ending.rule == "completion.denied"
    nothing_else = best.iteration == 0 and last is not None and last.checked and last.completion >= best.completion
    same_tree = last is not None and last.tree == best.tree
    stays = of_findings or nothing_else or same_tree or not all_ours(state.history, best.commit, state.head)
    return None if stays else best


def _last(state: LoopState) -> IterationSummary | None:
    return next((summary for summary in reversed(state.history) if not summary.undone), None)


def all_ours(history: Sequence[IterationSummary], back: str, now: str) -> bool:
    """Whether nothing but the loop's iterations lies between a commit and now: what a person committed is not ours to take."""
    moments = [summary for summary in history if not summary.undone]
    starts = [at for at, summary in enumerate(moments) if summary.commit == back]
    chain = [summary.commit for summary in moments[starts[-1] :]] if starts else [back, *(summary.commit for summary in moments)]
    begins = [*(summary.start for summary in (moments[starts[-1] + 1 :] if starts else moments)), now]
    return chain == begins or now == back


def why_left(state: LoopState, best: Checkpoint) -> str:
    """In a clause, with the numbers."""
    whose = f"iteration {best.iteration}" if best.iteration else "the tree that it started with"
    last = _last(state)
    if last is None or not last.checked:
        after = "what came after was not measured"
    else:
        gamed = next((one for one in state.findings if one.weight is Weight.BLOCK), None)
        against = f", with {gamed.rule} against it ({clean(gamed.message)[:80]})" if gamed else ""
        after = f"iteration {last.iteration}, the last, measured {last.completion:.0%}{against}"
    return f"{whose} measured best ({best.completion:.0%}); {after}"


def left_at(state: LoopState, best: Checkpoint, kept: Failed) -> LoopState:
    """The ended loop on its best tree. What came after is told to whoever goes on, and stands against nothing."""
    moments = undone_after(state.history, best.commit)
    gone = {summary.iteration for summary in moments if summary.undone}
    report = state.best_checks or state.checks
    told = f"the branch is left at {best.commit[:10]}: {kept.why}"
    ending = state.ending and state.ending.model_copy(update={"reason": f"{state.ending.reason}; {told}", "back_to": best.commit})
    return state.model_copy(
        update={
            "ending": ending,
            "head": best.commit,
            "failed": kept.model_copy(update={"rule": LATER}),
            "checks": report,
            "findings": (),
            "contradictions": (),
            "most_tests": most_tests({}, report),
            "oversight": taken_back(state.oversight, kept),
            "history": moments,
            "plan": state.plan.without(gone),
            "session": None,
        }
    )


GOAL_TOKENS, DIFFS_TOKENS = 5_000, 40_000  # of all candidates together, in equal shares
REASON = 400
LETTERS = tuple(f"{first}{letter}" for first in ("", "A") for letter in ascii_uppercase)  # a, B … Z, AA: loops are at most fifty


class _Answer(StrictAnswer):
    best: str = Field(min_length=1, max_length=20)
    reason: str = Field(max_length=4 * REASON)


@dataclass(frozen=True)
class Candidate:
    """A loop that has completed, and what it did."""

    loop: str
    diff: str = ""
    files: int = 0
    lines: int = 0  # added and removed
    findings: int = 0  # what the invariants warned of at its end
    score: float | None = None  # the judge's, in its own verdict on this work
    cost_usd: float = 0.0


def by_rule(candidates: Sequence[Candidate], because: str = "") -> Choice:
    """The judge's own score, then fewer hints, then the smaller change, then the cheaper one."""
    best = min(candidates, key=lambda one: (-(one.score or 0.0), one.findings, one.lines, one.files, one.cost_usd, one.loop))
    score = "" if best.score is None else f"the judge's score {best.score:.2f}, "
    words = f"{score}{plural(best.findings, 'hint')}, {plural(best.lines, 'line')} changed in {plural(best.files, 'file')}"
    return Choice(loop=best.loop, reason=f"{f'{because}; ' if because else ''}by rule: {words}")


def compare_request(config: LoopConfig, candidates: Sequence[Candidate]) -> Question:
    """What a model is asked about candidates in this order."""
    changed = ((plural(one.lines, "line"), plural(one.files, "file"), one.diff or "(no change)") for one in candidates)
    solutions = [
        {"letter": letter, "lines": lines, "files": files, "diff": diff}
        for letter, (lines, files, diff) in zip(LETTERS, changed, strict=False)
    ]
    criteria = [criterion.text for criterion in config.judge.criteria]
    return Question(
        rules=render("compare_system"),
        task=render("compare_task", goal=fence(trim(config.goal.strip(), GOAL_TOKENS)), criteria=criteria),
        facts=fit(render_pieces("compare_facts", solutions=solutions), DIFFS_TOKENS),
        closing=render("compare_form"),
        form=form_of(_Answer),
    )


def read_choice(text: str, candidates: Sequence[Candidate]) -> Choice | str:
    """The candidate that an answer names, with the reason; or why it names none. Never raises."""
    answer = read_answer(text, "best", _Answer)
    if isinstance(answer, str):
        return answer
    letter = answer.best.strip().removeprefix("Solution ").strip()
    named = dict(zip(LETTERS, candidates, strict=False)).get(letter)
    if named is None:
        return f"the answer names no solution: {clean(answer.best)[:20]}"
    return Choice(loop=named.loop, reason=" ".join(printable(answer.reason).split())[:REASON])


def agreed(one: Choice | str, other: Choice | str, candidates: Sequence[Candidate]) -> Choice:
    """What both answers name; else what the rules say, of the two where they named two."""
    if isinstance(one, str) or isinstance(other, str):
        why = one if isinstance(one, str) else other
        return by_rule(candidates, f"no model could choose ({why})")
    if one.loop == other.loop:
        return Choice(loop=one.loop, reason=f"a model preferred it whatever the order: {one.reason}")
    named = [candidate for candidate in candidates if candidate.loop in {one.loop, other.loop}]
    return by_rule(named, "a model's choice changed with the order")
