"""Choosing the best of finished works: real diffs, the real client, a model that is scripted."""

import json
from pathlib import Path

import pytest

from deployments.demo_model import Turn
from helmsman.records.request import Choice
from helmsman.records.state import LoopState
from tasks.groups.members import best_of
from tasks.repository.git import open_repository
from tests.fakes.faults import Fault
from tests.fakes.judge_api import JudgeApi, Raw
from tests.fakes.processes import unique_tag
from tests.fakes.repositories import commit, loop_state, make_repository, sh
from tests.unit.builders import config

pytestmark = pytest.mark.feature("M5")

SECRET = "a-secret-of-the-test-0123456789"
SMALL, LARGE = "g-1", "g-2"


def says(letter: str) -> Turn:
    answer = json.dumps({"best": letter, "reason": "its tests prove more"})
    return Turn(text=answer, usage={"input_tokens": 1000, "output_tokens": 100})


@pytest.fixture
def works(tmp_path: Path) -> list[LoopState]:
    """Two works that pass: a line, and ten."""
    top = make_repository(tmp_path / "repository", {"a.py": "1\n"})
    start = sh(top, "rev-parse", "HEAD")
    wanted = config(judge={"criteria": [{"id": "stable", "text": "The order is stable."}], "model": "claude-sonnet-4-6"})
    states: list[LoopState] = []
    for loop, lines in ((SMALL, 1), (LARGE, 10)):
        sh(top, "checkout", "--quiet", "--detach", start)
        head = commit(top, loop, {f"{loop}.py": "".join(f"{loop} {line} {SECRET}\n" for line in range(lines))})
        states.append(loop_state(start, loop=loop, config=wanted, head=head))
    return states


def chosen(
    works: list[LoopState], folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: Turn | Raw
) -> tuple[Choice, list[str]]:
    """The choice, and the prompts that it took."""
    with JudgeApi(answers) as api, unique_tag() as tag:
        for name, value in (("ANTHROPIC_API_KEY", SECRET), ("ANTHROPIC_BASE_URL", api.url)):
            monkeypatch.setenv(name, value)
        choice = best_of(open_repository(folder / "repository"), works, tag, lambda: False)
    return choice, [asked.prompt for asked in api.requests]


def test_a_model_sees_every_diff_in_both_orders_and_what_it_prefers_in_both_is_kept_and_paid_for(
    works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice, prompts = chosen(works, tmp_path, monkeypatch, says("B"), says("A"))
    assert choice.loop == LARGE
    assert "its tests prove more" in choice.reason
    assert choice.cost_usd > 0
    first, second = prompts
    assert first.index("+g-1 0") < first.index("+g-2 0")
    assert second.index("+g-2 0") < second.index("+g-1 0")
    assert "The order is stable." in first


@pytest.mark.feature("X1")
def test_no_secret_of_ours_is_shown_to_it(works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, prompts = chosen(works, tmp_path, monkeypatch, says("A"), says("B"))
    assert all("+g-1 0" in prompt and SECRET not in prompt for prompt in prompts)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((says("A"), says("A")), "depends on the order"),
        ((says("B"), Fault(status=400, error_message="no credit", headers={"x-should-retry": "false"})), "no model chose"),
    ],
)
def test_where_it_has_no_preference_of_its_own_or_cannot_be_asked_rules_decide_and_what_was_asked_is_paid_for(
    works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: tuple[Turn, Turn], why: str
) -> None:
    choice, _ = chosen(works, tmp_path, monkeypatch, *answers)
    assert choice.loop == SMALL
    assert why in choice.reason
    assert "1 line changed in 1 file" in choice.reason
    assert choice.cost_usd > 0


def test_without_criteria_nobody_is_asked(works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [state.model_copy(update={"config": config()}) for state in works]
    choice, prompts = chosen(plain, tmp_path, monkeypatch, says("B"))
    assert (choice.loop, prompts, choice.cost_usd) == (SMALL, [], 0.0)
