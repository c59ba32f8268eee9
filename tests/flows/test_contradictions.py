"""A loop that goes to and fro between two orders, which only a model reads as a contradiction."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Turn
from helmsman.records.decision import Outcome, Severity
from helmsman.records.iteration import IterationRecord
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.agents import Call, says
from tests.fakes.judge_api import JudgeApi
from tests.flows.conftest import Drive, Driven

pytestmark = pytest.mark.feature("S11")
RULES = "# Rules\n\n- Answers must be odd.\n- Stored values must be even.\n- Commit every step.\n"
READ = {"conflicts": [{"first": 2, "second": 3, "kind": "pattern", "about": "whether the answer is odd"}]}
ANSWER = Turn(text=json.dumps(READ), usage={"input_tokens": 900, "output_tokens": 100})
TO_AND_FRO = 'if [ "$(cat answer)" = 7 ]; then echo 8 > answer; else echo 7 > answer; fi; git add answer; git commit -qm Try'
IN_VAIN = 'echo "$(date +%N)" > answer; git add answer; git commit -qm Try'
Swing = Callable[..., tuple[Driven, JudgeApi]]


@pytest.fixture
def asked(drive: Drive, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Swing:
    """Drive a loop in a repository with these rules, and see what its model was asked."""
    (repository / "AGENTS.md").write_text(RULES)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "rules")

    def run(turn: Turn, *calls: Call, contradictions: bool = True, **settings: Any) -> tuple[Driven, JudgeApi]:
        with JudgeApi([turn]) as api:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-test")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
            given = {"limits": {"iterations": 9}, **settings}
            return drive(calls, prompt={"contradictions": contradictions}, **given), api

    return run


def records(driven: Driven) -> list[IterationRecord]:
    return list(read_records(open_repository(driven.repository), "loop"))[::-1]


def test_a_loop_that_goes_to_and_fro_asks_a_person_with_the_two_orders_that_a_model_named(asked: Swing) -> None:
    driven, api = asked(ANSWER, says(shell=TO_AND_FRO))
    ending, oversight = driven.state.ending, driven.state.oversight
    assert ending
    assert (ending.outcome, ending.rule, oversight.diagnosis) == (Outcome.WAITING, "ladder.human", "double_bind")
    for part in (
        "as a model reads it",
        "AGENTS.md:3 says 'Answers must be odd.'",
        "AGENTS.md:4 says 'Stored values must be even.'",
    ):
        assert part in ending.reason
    lived = records(driven)
    (asking,) = [record for record in lived if record.sought]
    assert len(api.requests) == 1
    assert "3. AGENTS.md:4 (must): Stored values must be even." in api.requests[0].prompt
    assert [record.writing.tokens for record in lived] == [1000 * (record is asking) for record in lived]
    assert driven.state.spending.tokens == 1000 + 100 * len(lived)


@pytest.mark.slow
def test_a_loop_that_only_stands_is_told_once_and_goes_on(asked: Swing) -> None:
    driven, api = asked(ANSWER, says(shell=IN_VAIN), limits={"iterations": 7})
    lived = records(driven)
    told = [signal for record in lived for signal in record.signals if signal.rule == "orders.conflict"]
    assert [signal.severity for signal in told] == [Severity.WARN]
    assert "a model reads two orders as a contradiction" in told[0].message
    assert "double_bind" not in {record.oversight.diagnosis for record in lived}
    prompts = [path.read_text() for path in sorted(driven.agent.glob("*.prompt"), key=lambda path: int(path.stem))]
    assert ["by a model's reading: look at AGENTS.md:3 and AGENTS.md:4." in prompt for prompt in prompts].count(True) == 1
    assert len(api.requests) == 1
