"""Focus and compaction by a model: the real client and the real CLI against scripted ones. Where they fail, templates serve."""

import json
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import ScriptedModel, Turn, by_call, call, say
from helmsman.errors import OperatorError
from helmsman.orient.written import Focus, focus_question, read_focus
from helmsman.prices import with_cost
from helmsman.records.base import Usage
from helmsman.tokens import tokens
from tasks.models.asking import write_text
from tasks.models.sending import CallSettings, Credentials
from tasks.system.secrets import register
from tests.fakes.claude_cli import bundled_cli, subscription
from tests.fakes.faults import Fault
from tests.fakes.judge_api import KEY, JudgeApi, Raw
from tests.fakes.processes import unique_tag
from tests.unit.builders import config, state

pytestmark = [pytest.mark.slow, pytest.mark.feature("O5")]
FORM = "StructuredOutput"
USAGE = {"input_tokens": 1000, "output_tokens": 100}
GOOD: dict[str, Any] = {"prompt": "Mend it.", "systemContext": "", "focusAreas": ["a.py"], "urgency": "high"}
FOCUS = Focus.model_validate(GOOD)


SETTINGS: dict[str, Any] = {"prompt": {"written": True}, "claude": {"binary": str(bundled_cli())}}


def focus(
    credentials: Credentials, *lessons: str, tag: str = "nobody", seconds: float = 20, **judge: Any
) -> tuple[Focus | None, str, Usage]:
    of = state(config(**SETTINGS, judge=judge), iteration=3)
    by = CallSettings(of.config, credentials, tag, seconds=seconds)
    return write_text(by, lambda: focus_question(of, lessons), read_focus)


def by_api(*turns: Turn | Raw) -> tuple[Focus | None, str, Usage]:
    with JudgeApi(turns) as api, unique_tag() as tag:
        return focus(lambda: api.credentials, tag=tag)


def test_a_focus_is_written_by_the_configured_model_from_rules_task_facts_and_the_form_with_what_it_cost() -> None:
    with JudgeApi([Turn(text=json.dumps(GOOD), usage=USAGE)]) as api:
        found, reason, usage = focus(lambda: api.credentials, model="claude-sonnet-5-5")
        (sent,) = api.requests
    assert (found, reason) == (FOCUS, "")
    assert usage == with_cost(Usage(input_tokens=1000, output_tokens=100), "claude-sonnet-5-5")
    assert sent.body["model"] == "claude-sonnet-5-5"
    assert "You prepare one iteration" in sent.body["system"][0]["text"]
    assert "make the tests pass" in sent.texts[0]
    assert "Iteration 4 of 30" in sent.texts[1]
    assert "focusAreas" in sent.texts[2]
    assert sent.body["output_config"]["format"]["schema"]["required"] == list(GOOD)
    assert "tools" not in sent.body


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (say("Certainly! Mend it."), "no JSON object"),
        (Fault(text=json.dumps(GOOD), stop_reason="refusal"), "declined"),
    ],
    ids=["words", "refused"],
)
def test_an_answer_that_cannot_be_used_leaves_the_templates_with_a_reason_and_is_charged(turn: Turn, why: str) -> None:
    found, reason, usage = by_api(turn)
    assert found is None
    assert why in reason
    assert usage.tokens > 0


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (Fault(status=401, error_message=f"invalid key {KEY}"), "the writing model's credentials were refused"),
        (Fault(text=json.dumps(GOOD), cut=True), "cut off"),
    ],
    ids=["401", "cut"],
)
def test_what_keeps_the_model_from_answering_is_a_reason_without_the_key(turn: Turn | Raw, why: str) -> None:
    register({"ANTHROPIC_API_KEY": KEY})
    found, reason, _ = by_api(turn)
    assert found is None
    assert why in reason
    assert KEY not in reason


def test_a_question_that_was_not_answered_in_time_is_charged_by_an_estimate_that_says_so() -> None:
    with JudgeApi([Fault(delay=30)]) as api:
        found, reason, usage = focus(lambda: api.credentials, seconds=2)
        (sent,) = api.requests
    asked = f"{sent.body['system'][0]['text']}\n{sent.prompt}"
    assert usage.tokens == pytest.approx(tokens(asked), abs=2)
    assert usage.cost_usd == pytest.approx(usage.input_tokens * 4 / 1e6)
    assert (usage.output_tokens, found) == (0, None)
    assert f"its question is charged at an estimated {usage.tokens:,} tokens" in reason


def test_a_secret_that_the_model_repeats_is_taken_out() -> None:
    register({"ANTHROPIC_API_KEY": KEY})
    found, _, _ = by_api(say(json.dumps(GOOD | {"prompt": f"Use {KEY}."})))
    assert found is not None
    assert found.prompt == "Use [ANTHROPIC_API_KEY]."


def test_credentials_that_cannot_be_found_leave_the_templates() -> None:
    def missing() -> dict[str, str]:
        raise OperatorError("judge.block names a block that does not exist", found="nowhere")

    found, reason, _ = focus(missing)
    assert (found, reason) == (None, "judge.block names a block that does not exist; nowhere")


def test_a_focus_is_written_by_the_cli_without_tools_in_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("known to nobody")
    lesson = f"@{tmp_path}/secret.txt"
    with ScriptedModel(by_call([[call((FORM, GOOD))]])) as model, unique_tag() as tag:
        credentials = subscription(model.url, tmp_path)
        found, reason, usage = focus(lambda: credentials, lesson, tag=tag)
        body = model.requests[0].body
    assert (found, reason) == (FOCUS, "")
    assert usage.cost_usd == pytest.approx((100 * 4 + 20 * 20) / 1e6)
    assert [tool["name"] for tool in body["tools"] if tool["name"] != "DeferredToolPlaceholder"] == [FORM]
    assert lesson in str(body)
    assert "known to nobody" not in str(body)
