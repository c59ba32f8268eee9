"""The last gate: what has to be true before a loop is done, and the judge's word where all the rest is."""

from collections.abc import Callable, Mapping

from helmsman.records.iteration import Evidence
from helmsman.records.proof import Verdict
from helmsman.records.state import LoopState
from helmsman.verify.completion import prove
from helmsman.verify.items import criterion_of, judged, prove_item, taken_as_proven
from helmsman.verify.judge.question import CheckOutput, JudgeQuestion
from tasks.models.judge import ask_judge
from tasks.repository.diffs import read_diff
from tasks.worktrees.workplace import Workplace

Credentials = Callable[[], Mapping[str, str]]
"""Looked up only where the judge is asked."""


def adjudicate(place: Workplace, state: LoopState, evidence: Evidence, credentials: Credentials) -> Verdict:
    """Weigh the gates; ask the judge only where nothing but its word is missing, because it costs money."""
    item = prove_item(state, evidence)
    of_item = (
        criterion_of(evidence.plan.item if evidence.plan else None, state.config.judge) if item and item.needs_word else None
    )
    evidence = evidence.model_copy(update={"item": taken_as_proven(item) if item and of_item else item})
    proof = prove(state.config, state.done, evidence)  # what is left to the judge of the whole, if it finds the item done
    criteria = (*(state.config.judge.criteria if proof.open else ()), *([of_item] if of_item else ()))
    if not criteria:
        return Verdict(proof=proof, item=item)
    judgement = ask_judge(
        _question(place, state, evidence),
        state.config.judge.model_copy(update={"criteria": criteria}),
        credentials=credentials(),
        claude=state.config.claude,
        tag=f"{place.tag(state)}/judge",
        stop=place.folder.cancel.exists,
    )
    if item is None or of_item is None:
        return Verdict(proof=proof, judgement=judgement, item=item)
    item = judged(item, of_item, judgement)
    proof = prove(state.config, state.done, evidence.model_copy(update={"item": item}))
    return Verdict(proof=proof, judgement=judgement, item=item)


def _question(place: Workplace, state: LoopState, evidence: Evidence) -> JudgeQuestion:
    whole = read_diff(place.worktree, state.base_commit, evidence.execution.change.commit)
    diff = [file for file in whole if file.path != state.config.plan.file]  # ticks are no evidence
    results = evidence.checks.results if evidence.checks else ()
    return JudgeQuestion(
        goal=state.config.goal,
        outputs=tuple(CheckOutput(result.name, result.passed, result.head, result.tail) for result in results),
        sources=tuple((file.path, file.after) for file in diff if file.status != "D"),
        deleted=tuple(file.path for file in diff if file.status == "D"),
        notes=state.judge.notes,
    )
