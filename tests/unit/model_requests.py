"""What models other than the agent are asked, one example of each: the whole text is kept in `tests/fixtures/prompts`."""

from collections.abc import Mapping

from helmsman.guardrails.stop import block_message
from helmsman.memory.lessons_question import lessons_request
from helmsman.orient.alignment import align_question
from helmsman.orient.written import compaction_question, focus_question
from helmsman.oversee.best import Candidate, comparison_question
from helmsman.records.alignment import RepositoryFacts
from helmsman.records.control import EscalationLevel
from helmsman.records.iteration import Choice, Question, WorkingMemory
from helmsman.records.proof import PastVerdict
from helmsman.verify.diff import FileDiff
from helmsman.verify.judge.request import build_request
from tests.fakes.judge_questions import SLUGS, judge_config, question
from tests.unit.builders import orientation
from tests.unit.histories import FORWARD, SIDEWAYS, green, history
from tests.unit.histories import red as failing
from tests.unit.memory_builders import episodes, summary
from tests.unit.prompt_situations import COMMITS, COPIED, GOAL, JUDGED, after, on, red

STUCK = after("test_half", "test_mx", oversight=on(EscalationLevel.REFACTOR, "stuck: no gain in 3 iterations"))
NOTES = WorkingMemory(
    notes="Decided: plain expressions; a table hides a missing name", decisions=(Choice(chose="plain expressions"),)
)
LIVED = episodes(history(failing(SIDEWAYS, "test_a"), green(FORWARD, completion=1.0)))
FACTS = RepositoryFacts(
    commit="b" * 40,
    files=("calc.py", "tests/"),
    left_out=3,
    readme="# Calc",
    guides="Never push.",
    commits=("start",),
    commands={"make test": "test; Makefile"},
    checks=("./check.sh",),
    criteria=("Every function in calc.py has a docstring.",),
)


def judged() -> str:
    verdict = PastVerdict(iteration=1, commit="c" * 40, criterion="c2", given="not_met", reason="slugs.py:1 has no test")
    asked = question(
        diff=(FileDiff("slugs.py", "def slug(text):\n    return None\n", SLUGS),),
        commits="85ac3f2..67b1ce5",
        named=(("check.sh", "pytest\n"),),
        paths=("slugs.py", "tests/test_slugs.py", "check.sh"),
        findings=(COPIED,),
        earlier=(verdict,),
    )
    request = build_request(asked, judge_config(envisioning="One clean module."))
    return f"{request.rules}\n\n{request.prompt}"


def whole(asked: Question) -> str:
    return f"{asked.rules}\n\n{asked.task}\n\n{asked.facts}\n\n{asked.closing}"


REQUESTS: Mapping[str, str] = {
    "judge": judged(),
    "stop-hook": block_message(red("test_half", "test_mx").results),
    "align": whole(align_question(GOAL, FACTS, complaint="the answer contains no JSON object")),
    "compare": whole(comparison_question(JUDGED, [Candidate("calc-1", "+return a + b", 1, 1), Candidate("calc-2")])),
    "lessons": whole(lessons_request(STUCK.model_copy(update={"memory": NOTES}), summary(), LIVED)),
    "focus": whole(focus_question(STUCK)),
    "compaction": whole(
        compaction_question(STUCK.model_copy(update={"memory": NOTES, "checks": red("test_half")}), orientation(commits=COMMITS))
    ),
}
