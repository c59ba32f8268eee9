"""What the agent reads in 24 situations, and what models are asked: the facts, and each whole text as a file to read.

`UPDATE_SNAPSHOTS=1` writes the files anew.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from helmsman.guardrails.stop import block_message
from helmsman.memory.lessons_question import lessons_request
from helmsman.orient.alignment import align_question
from helmsman.orient.brief import brief
from helmsman.orient.written import compaction_question, focus_question
from helmsman.oversee.best import Candidate, comparison_question
from helmsman.records.alignment import RepositoryFacts
from helmsman.records.control import EscalationLevel
from helmsman.records.iteration import Choice, Question, WorkingMemory
from helmsman.records.proof import PastVerdict
from helmsman.tokens import tokens
from helmsman.verify.diff import FileDiff
from helmsman.verify.judge.request import build_request
from tests.fakes.judge_questions import SLUGS, judge_config, question
from tests.unit.builders import orientation
from tests.unit.histories import FORWARD, SIDEWAYS, green, history
from tests.unit.histories import red as failing
from tests.unit.memory_builders import episodes, summary
from tests.unit.prompt_situations import COMMITS, COPIED, GOAL, JUDGED, SITUATIONS, after, on, red

pytestmark = pytest.mark.feature("O2")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "prompts"
SYSTEM = "system.md"
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


def prompt_of(name: str) -> str:
    situation = SITUATIONS[name]
    return brief(situation.state, situation.orientation).prompt


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_prompt_has_no_internal_words_the_goal_once_and_at_most_one_paragraph_of_advice(name: str) -> None:
    words, situation = prompt_of(name), SITUATIONS[name]
    assert [word for word in situation.silent if word in words] == []
    assert words.count("# Advice") <= 1
    assert words.count(situation.state.config.goal) == 1


def test_after_a_refused_claim_the_first_words_are_that_it_was_refused_and_why() -> None:
    for name in [name for name in SITUATIONS if name.startswith("claim-")]:
        before, _, after = prompt_of(name).partition("\n# ")
        assert before.rstrip().endswith("on commit bbbbbbbbbb.")
        assert after.startswith("Completion was refused\nYou asked for completion in iteration 2. It was refused: ")


def test_the_texts_are_those_that_a_person_has_read() -> None:
    texts = {f"{name}.md": prompt_of(name) for name in SITUATIONS}
    texts |= {f"model-{name}.md": f"{text}\n" for name, text in REQUESTS.items()}
    texts[SYSTEM] = brief(SITUATIONS["first"].state, SITUATIONS["first"].orientation).system + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        for name, text in texts.items():
            (FIXTURES / name).write_text(text)
    assert {path.name: path.read_text() for path in FIXTURES.iterdir()} == texts, "UPDATE_SNAPSHOTS=1 writes them anew"


def test_beside_goal_and_failures_an_iteration_is_told_less_than_900_tokens_with_the_constant_text() -> None:
    system = tokens((FIXTURES / SYSTEM).read_text())
    assert all(system + tokens(prompt_of(name)) < 1_300 for name in SITUATIONS)
    assert system < 600


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
