"""The best result: the tree to leave an uncompleted loop at, and the winner among several loops with one goal.

The measure is completion, from tests, checks, criteria and items (`progress`); the later of equals wins, and a tree that games
its checks or has critical events is never the best (`Oversight.best`). Candidates of several loops have passed every check. A
model compares them in both orders; if its choice depends on the order (models prefer the first), the rules decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from pydantic import Field

from helmsman.config import LoopConfig
from helmsman.parsers.answers import StrictAnswer, printable, read_answer, schema_of
from helmsman.plain import clean
from helmsman.prompts import fence, fit, render
from helmsman.records.advance import after_rollback, mark_undone_after, most_tests
from helmsman.records.checks import Weight
from helmsman.records.control import LATER, Checkpoint, IterationSummary, RolledBack
from helmsman.records.decision import Outcome
from helmsman.records.iteration import Question
from helmsman.records.request import Choice
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import trim

INCOMPLETE_OUTCOMES = frozenset({Outcome.STOPPED, Outcome.FAILED, Outcome.CANCELLED, Outcome.EJECTED})
"""Endings without completion. A loop that waits for a person keeps its last tree."""


def best_to_restore(state: LoopState) -> Checkpoint | None:
    """The commit to leave an ended loop at; None if its last one is the best, or if later commits are not all the loop's own."""
    best, acts = state.oversight.best, state.config.ladder.act
    if state.outcome not in INCOMPLETE_OUTCOMES or best is None or best.commit == state.head or not acts:
        return None
    # Better work with a blocking finding is not the best. A person may still find it honest, so the branch stays if the
    # loop ended because of the finding, or if going back would leave none of the loop's work.
    last, ended_by_findings = _last_kept(state), state.ending is not None and state.ending.rule == "completion.denied"
    leaves_no_work = best.iteration == 0 and last is not None and last.checked and last.completion >= best.completion
    same_tree = last is not None and last.tree == best.tree
    stays = ended_by_findings or leaves_no_work or same_tree or not has_only_own_commits(state.history, best.commit, state.head)
    return None if stays else best


def _last_kept(state: LoopState) -> IterationSummary | None:
    return next((summary for summary in reversed(state.history) if not summary.undone), None)


def has_only_own_commits(history: Sequence[IterationSummary], back: str, now: str) -> bool:
    """Whether all commits between `back` and `now` are the loop's own; a person's commits must not be removed."""
    kept = [summary for summary in history if not summary.undone]
    starts = [position for position, summary in enumerate(kept) if summary.commit == back]
    chain = [summary.commit for summary in kept[starts[-1] :]] if starts else [back, *(summary.commit for summary in kept)]
    begins = [*(summary.start for summary in (kept[starts[-1] + 1 :] if starts else kept)), now]
    return chain == begins or now == back


def describe_best(state: LoopState, best: Checkpoint) -> str:
    """The reason, as a clause with the numbers."""
    origin = f"iteration {best.iteration}" if best.iteration else "the tree that it started with"
    last = _last_kept(state)
    if last is None or not last.checked:
        after = "later work was not measured"
    else:
        gamed = next((finding for finding in state.findings if finding.weight is Weight.BLOCK), None)
        against = f", with {gamed.rule} against it ({clean(gamed.message)[:80]})" if gamed else ""
        after = f"iteration {last.iteration}, the last, measured {last.completion:.0%}{against}"
    return f"{origin} measured best ({best.completion:.0%}); {after}"


def restore_best(state: LoopState, best: Checkpoint, kept: RolledBack) -> LoopState:
    """The ended loop on its best tree. Later work is mentioned to whoever continues, and does not count against the loop."""
    history = mark_undone_after(state.history, best.commit)
    undone = {summary.iteration for summary in history if summary.undone}
    report = state.best_checks or state.checks
    note = f"the branch is left at {best.commit[:10]}: {kept.why}"
    ending = state.ending and state.ending.model_copy(update={"reason": f"{state.ending.reason}; {note}", "back_to": best.commit})
    return state.model_copy(
        update={
            "ending": ending,
            "head": best.commit,
            "failed": kept.model_copy(update={"rule": LATER}),
            "checks": report,
            "findings": (),
            "contradictions": (),
            "most_tests": most_tests({}, report),
            "oversight": after_rollback(state.oversight, kept),
            "history": history,
            "plan": state.plan.without(undone),
            "session": None,
        }
    )


GOAL_TOKENS, DIFFS_TOKENS = 5_000, 40_000  # limit for all candidates together, shared equally
REASON = 400
LETTERS = tuple(f"{first}{letter}" for first in ("", "A") for letter in ascii_uppercase)  # A … Z, AA …: at most 50 loops


class _Answer(StrictAnswer):
    best: str = Field(min_length=1, max_length=20)
    reason: str = Field(max_length=4 * REASON)


@dataclass(frozen=True)
class Candidate:
    """A completed loop and its work."""

    loop: str
    diff: str = ""
    files: int = 0
    lines: int = 0  # added and removed
    findings: int = 0  # warnings of the invariants at its end
    score: float | None = None  # from the judge's verdict on this work
    cost_usd: float = 0.0


def choose_by_rule(candidates: Sequence[Candidate], because: str = "") -> Choice:
    """Choose by the judge's score, then fewer hints, the smaller change, and the lower cost."""
    best = min(
        candidates,
        key=lambda candidate: (
            -(candidate.score or 0.0),
            candidate.findings,
            candidate.lines,
            candidate.files,
            candidate.cost_usd,
            candidate.loop,
        ),
    )
    score = "" if best.score is None else f"the judge's score {best.score:.2f}, "
    measures = f"{score}{plural(best.findings, 'hint')}, {plural(best.lines, 'line')} changed in {plural(best.files, 'file')}"
    return Choice(loop=best.loop, reason=f"{f'{because}; ' if because else ''}by rule: {measures}")


def comparison_question(config: LoopConfig, candidates: Sequence[Candidate]) -> Question:
    """Ask a model to compare the candidates in this order."""
    changed = (
        (plural(candidate.lines, "line"), plural(candidate.files, "file"), candidate.diff or "(no change)")
        for candidate in candidates
    )
    solutions = [
        {"letter": letter, "lines": lines, "files": files, "diff": diff}
        for letter, (lines, files, diff) in zip(LETTERS, changed, strict=False)
    ]
    criteria = [criterion.text for criterion in config.judge.criteria]
    return Question(
        rules=render("compare_system"),
        task=render("compare_task", goal=fence(trim(config.goal.strip(), GOAL_TOKENS)), criteria=criteria),
        facts=fit(render("compare_facts", solutions=solutions), DIFFS_TOKENS),
        closing=render("compare_form"),
        form=schema_of(_Answer),
    )


def read_choice(text: str, candidates: Sequence[Candidate]) -> Choice | str:
    """Parse an answer: the chosen candidate with the reason, or why there is none. Never raises."""
    answer = read_answer(text, "best", _Answer)
    if isinstance(answer, str):
        return answer
    letter = answer.best.strip().removeprefix("Solution ").strip()
    chosen = dict(zip(LETTERS, candidates, strict=False)).get(letter)
    if chosen is None:
        return f"the answer names no solution: {clean(answer.best)[:20]}"
    return Choice(loop=chosen.loop, reason=" ".join(printable(answer.reason).split())[:REASON])


def combine_choices(first: Choice | str, second: Choice | str, candidates: Sequence[Candidate]) -> Choice:
    """The choice of both answers; if they differ, the rules decide between the named candidates."""
    if isinstance(first, str) or isinstance(second, str):
        why = first if isinstance(first, str) else second
        return choose_by_rule(candidates, f"no model chose ({why})")
    if first.loop == second.loop:
        return Choice(loop=first.loop, reason=f"a model preferred it in both orders: {first.reason}")
    named = [candidate for candidate in candidates if candidate.loop in {first.loop, second.loop}]
    return choose_by_rule(named, "a model's choice depends on the order")
