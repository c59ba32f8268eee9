"""What the agent reads in 24 situations, and what models are asked: the facts, and each whole text as a file to read.

`UPDATE_SNAPSHOTS=1` writes the files anew.
"""

import os
from pathlib import Path

import pytest

from helmsman.orient.brief import brief
from helmsman.tokens import tokens
from tests.unit.model_requests import REQUESTS
from tests.unit.prompt_situations import SITUATIONS

pytestmark = pytest.mark.feature("O2")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "prompts"
SYSTEM = "system.md"


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
