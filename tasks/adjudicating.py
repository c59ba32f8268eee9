"""The last gate: what has to be true before a loop is done, and the judge's word where all the rest is."""

from collections.abc import Callable, Mapping

from helmsman.records.iteration import Evidence
from helmsman.records.proof import Verdict
from helmsman.records.state import LoopState
from helmsman.verify.completion import prove
from helmsman.verify.judge.question import CheckOutput, JudgeQuestion
from tasks.diffs import read_diff
from tasks.judge import ask_judge
from tasks.workplace import Workplace

Credentials = Callable[[], Mapping[str, str]]
"""Looked up only where the judge is asked."""


def adjudicate(place: Workplace, state: LoopState, evidence: Evidence, credentials: Credentials) -> Verdict:
    """Weigh the gates; ask the judge only where nothing but its word is missing, because it costs money."""
    proof = prove(state.config, state.done, evidence)
    if not proof.open or not state.config.judge.criteria:
        return Verdict(proof=proof)
    judgement = ask_judge(
        _question(place, state, evidence),
        state.config.judge,
        credentials=credentials(),
        claude=state.config.claude,
        tag=f"{place.tag(state)}/judge",
        stop=place.folder.cancel.exists,
    )
    return Verdict(proof=proof, judgement=judgement)


def _question(place: Workplace, state: LoopState, evidence: Evidence) -> JudgeQuestion:
    diff = read_diff(place.worktree, state.base_commit, evidence.execution.change.commit)
    results = evidence.checks.results if evidence.checks else ()
    return JudgeQuestion(
        goal=state.config.goal,
        outputs=tuple(CheckOutput(result.name, result.passed, result.head, result.tail) for result in results),
        sources=tuple((file.path, file.after) for file in diff if file.status != "D"),
        deleted=tuple(file.path for file in diff if file.status == "D"),
        notes=state.judge.notes,
    )
