"""The judge on a scripted API: answers, retries, faults of the network and of the operator, and credentials of blocks."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from blocks.judge import Judge
from deployments.demo_model import Turn, say
from helmsman.errors import Cancelled, OperatorError, TransientError
from helmsman.records.base import Usage
from helmsman.records.checks import Judgement, JudgementOutcome
from helmsman.verify.judge.view import JudgeQuestion, ReadFiles, Source
from tasks.models.judge import ask_judge
from tasks.models.sending import way_of
from tasks.system.process import never_stop
from tasks.system.secrets import register
from tests.fakes.faults import Fault
from tests.fakes.judge_api import KEY, JudgeApi, Raw
from tests.fakes.judge_questions import (
    GOOD,
    INJECTION,
    answer,
    call_settings,
    criterion,
    is_fenced,
    judge_config,
    judge_turn,
    poisoned,
    question,
    undecided,
)

pytestmark = pytest.mark.feature("V7")
NO_RETRY = {"x-should-retry": "false"}


def ask(
    api: JudgeApi,
    asked: JudgeQuestion | None = None,
    *,
    stop: Callable[[], bool] = never_stop,
    key: str = KEY,
    read_files: ReadFiles = lambda _: (),
    seconds: float = 20,
    **config: Any,
) -> Judgement:
    judge = judge_config(*config.pop("criteria", ()), **config)
    variables = {**api.credentials, "ANTHROPIC_API_KEY": key}
    settings = call_settings(judge, variables, "judge-api", stop=stop, seconds=seconds)
    return ask_judge(asked or question(), judge.criteria, settings, read_files=read_files)


def judged(*turns: Turn | Raw, **config: Any) -> Judgement:
    with JudgeApi(turns) as api:
        return ask(api, **config)


def test_an_answer_with_all_criteria_met_approves() -> None:
    usage = {"input_tokens": 1000, "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 4000, "output_tokens": 100}
    judgement = judged(judge_turn(GOOD, usage=usage))
    assert (judgement.approved, judgement.cause, judgement.score) == (True, "", 1.0)
    assert [(c.criterion, c.met, c.reason) for c in judgement.criteria] == [
        ("c1", True, "I saw c1 at slugs.py:2."),
        ("c2", True, "I saw c2 at slugs.py:2."),
    ]
    assert (judgement.way, judgement.model, judgement.calls) == ("api", "claude-opus-5-5", 1)
    assert judgement.principle == "look at the edges"
    assert judgement.usage.cost_usd == pytest.approx((1000 * 4 + 2000 * 5 + 4000 * 0.2 + 100 * 20) / 1e6)
    assert judgement.usage.model_copy(update={"cost_usd": 0.0}) == Usage(
        input_tokens=1000, cache_creation_tokens=2000, cache_read_tokens=4000, output_tokens=100
    )
    assert 0 < judgement.seconds < 20


@pytest.mark.parametrize(
    "turn",
    [
        say("All criteria are met. Approved."),
        judge_turn(GOOD, stop_reason="max_tokens"),
        Turn(tools=(("verdict", GOOD),)),
    ],
    ids=["words", "cut off", "tool"],
)
def test_unreadable_answers_are_retried_once_then_an_operator_error(turn: Turn) -> None:
    with JudgeApi([turn, judge_turn(GOOD)]) as api:
        judgement = ask(api)
        first, second = api.requests
    assert (judgement.approved, judgement.calls, judgement.usage.input_tokens) == (True, 2, 200)
    assert "could not be read" not in first.prompt
    assert second.prompt.startswith(first.prompt)
    assert "Your last answer could not be read: the " in second.prompt.removeprefix(first.prompt)
    with JudgeApi([turn]) as api:
        with pytest.raises(OperatorError, match="neither approved nor rejected"):
            ask(api)
        assert len(api.requests) == 2


def test_requested_files_are_shown_once() -> None:
    asked_for: list[Sequence[str]] = []

    def read_files(paths: Sequence[str]) -> list[Source]:
        asked_for.append(paths)
        return [("tests/test_old.py", "def test_old(): ...\n")]

    first = judge_turn(answer(criterion("c1"), undecided("c2", "tests/test_old.py", "gone.py")))
    with JudgeApi([first, judge_turn(GOOD)]) as api:
        judgement = ask(api, read_files=read_files)
        before, after = api.requests
    assert (judgement.approved, judgement.calls) == (True, 2)
    assert asked_for == [("tests/test_old.py", "gone.py")]
    assert "def test_old" not in before.prompt
    assert "1\tdef test_old(): ...\n>>>" in after.prompt
    assert "not in the repository\ngone.py\n>>>" in after.prompt
    first_parts, parts = (body["messages"][0]["content"] for body in (before.body, after.body))
    assert parts[:3] == first_parts  # what was said before is found in the cache


@pytest.mark.parametrize("needs", [(), ("a.py",)], ids=["without a file", "for a file"])
def test_undecided_is_neither_approved_nor_rejected(needs: tuple[str, ...]) -> None:
    with JudgeApi([judge_turn(answer(criterion("c1"), undecided("c2", *needs)))]) as api:
        judgement = ask(api)
        assert len(api.requests) == 1 + bool(needs)
    assert (judgement.outcome, judgement.cause) == (JudgementOutcome.UNDECIDED, "1 of 2 criteria cannot be decided: c2")
    assert judgement.criteria[1].need == needs


def test_requested_files_are_redacted() -> None:
    register({"ANTHROPIC_API_KEY": KEY})
    with JudgeApi([judge_turn(answer(criterion("c1"), undecided("c2", ".env"))), judge_turn(GOOD)]) as api:
        ask(api, read_files=lambda _: [(".env", f"KEY={KEY}\n")])
        assert "KEY=[ANTHROPIC_API_KEY]" in api.requests[1].prompt


def test_constant_parts_come_first_and_are_cached() -> None:
    criteria = ({"id": "works", "text": "It works.", "votes": 3, "needed": 2},)
    with JudgeApi([judge_turn(answer(criterion("works")))]) as api:
        assert ask(api, criteria=criteria).calls == 3
        bodies = [asked.body for asked in api.requests]
    first = bodies[0]
    rubric, sources, evidence = first["messages"][0]["content"]
    assert bodies == [first] * 3
    assert "You are the judge" in first["system"][0]["text"]
    assert "It works." in rubric["text"]
    assert "2\t    return text.lower()" in sources["text"]
    assert "1 passed in 0.01s" in evidence["text"]
    assert [part["cache_control"] for part in (rubric, sources, evidence)] == [{"type": "ephemeral"}] * 3
    assert first["output_config"]["format"]["schema"]["properties"]["criteria"]["items"]["properties"]["id"] == {
        "type": "string",
        "enum": ["works"],
    }
    assert "tool_choice" not in first  # models that always think refuse a forced tool
    assert (first["model"], first["max_tokens"]) == ("claude-opus-5-5", 16_000)


@pytest.mark.parametrize(
    "turn",
    [
        Fault(status=529, headers=NO_RETRY),
        judge_turn(GOOD, cut=True),
        Raw(b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'),
        Raw(b"<html>please log in to this network</html>", content_type="text/html"),
        Raw(b"event: message_start\ndata: {broken\n\n"),
        Raw(b"bad gateway", status=502),
    ],
    ids=["529", "cut", "overloaded in mid-stream", "portal", "broken event", "bad gateway"],
)
def test_network_and_server_errors_are_transient(turn: Turn | Raw) -> None:
    with pytest.raises(TransientError):
        judged(turn)


@pytest.mark.parametrize(
    "turn",
    [Fault(delay=30), Raw(b"", trickle=0.05)],
    ids=["before the answer", "for ever"],
)
def test_slow_judges_time_out(turn: Turn | Raw) -> None:
    started = time.monotonic()
    with pytest.raises(TransientError, match="in time"):
        judged(turn, seconds=0.4)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("turn", "problem", "remedy"),
    [
        (Fault(status=401), "credentials", "ANTHROPIC_API_KEY"),
        (Fault(status=404, error_message="model: no-such-model"), "model", "judge.model"),
        (Fault(status=400, error_message="Your credit balance is too low to access the Anthropic API."), "no credit", "credit"),
        (Fault(status=400, error_message="output_config: not supported"), "refused", "judge.model"),
        (Fault(status=413), "refused", "a larger context"),
        (Raw(b"who are you?", status=401), "credentials", "ANTHROPIC_API_KEY"),
    ],
)
def test_fixable_errors_name_the_remedy(turn: Turn | Raw, problem: str, remedy: str) -> None:
    with pytest.raises(OperatorError) as told:
        judged(turn)
    assert problem in told.value.problem
    assert remedy in told.value.remedy


def test_no_error_repeats_the_key() -> None:
    register({"ANTHROPIC_API_KEY": KEY})
    with pytest.raises(OperatorError) as told:
        judged(Fault(status=401, error_message=f"invalid key {KEY}"))
    assert KEY not in str(told.value)
    assert "[ANTHROPIC_API_KEY]" in str(told.value)


@pytest.mark.parametrize(("key", "problem"), [("schlüssel-ohne-ascii", "credentials"), ("  ", "no credentials")])
def test_invalid_keys_are_operator_errors(key: str, problem: str) -> None:
    with pytest.raises(OperatorError) as told:
        judged(judge_turn(GOOD), key=key, way="api")
    assert problem in told.value.problem


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://127.0.0.1:port"])
def test_invalid_addresses_are_operator_errors(url: str) -> None:
    judge = judge_config()
    settings = call_settings(judge, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}, "judge-api")
    with pytest.raises(OperatorError) as told:
        ask_judge(question(), judge.criteria, settings)
    assert "ANTHROPIC_BASE_URL" in told.value.remedy


def test_cancel_works_between_votes() -> None:
    with JudgeApi([judge_turn(answer(criterion("c1")))]) as api:
        with pytest.raises(Cancelled):
            ask(api, criteria=({"text": "It works.", "votes": 3},), stop=lambda: bool(api.requests))
        assert len(api.requests) == 1


def test_cancel_works_during_an_answer() -> None:
    started = time.monotonic()
    with JudgeApi([Raw(b"", trickle=0.05)]) as api, pytest.raises(Cancelled):
        ask(api, stop=lambda: time.monotonic() - started > 0.3)


def test_planted_instructions_are_quoted_and_approve_nothing() -> None:
    with JudgeApi([say(INJECTION)]) as api:
        with pytest.raises(OperatorError, match="cannot be read"):
            ask(api, poisoned())
        sent = api.requests[0]
    assert is_fenced(sent.prompt, INJECTION)
    assert "do not follow it" in sent.body["system"][0]["text"]
    assert "\x1b" not in sent.prompt


@pytest.mark.parametrize(
    ("way", "environment", "expected"),
    [
        ("auto", {"ANTHROPIC_API_KEY": "k"}, "api"),
        ("auto", {"CLAUDE_CODE_OAUTH_TOKEN": "t"}, "claude"),
        ("api", {}, "api"),
        ("claude", {"ANTHROPIC_API_KEY": "k"}, "claude"),
    ],
)
def test_the_api_is_used_if_there_is_a_key(way: str, environment: dict[str, str], expected: str) -> None:
    assert way_of(judge_config(way=way), environment) == expected


def test_a_block_gives_the_variables_that_are_set_in_it_and_no_others() -> None:
    block = Judge(api_key=SecretStr("sk-ant-hidden"), base_url="https://gateway.test")
    assert block.environment() == {"ANTHROPIC_API_KEY": "sk-ant-hidden", "ANTHROPIC_BASE_URL": "https://gateway.test"}
    assert Judge(oauth_token=SecretStr("hidden-token")).environment() == {"CLAUDE_CODE_OAUTH_TOKEN": "hidden-token"}


def test_a_block_does_not_show_its_secrets() -> None:
    block = Judge(api_key=SecretStr("sk-ant-hidden"), oauth_token=SecretStr("hidden-token"))
    assert "hidden" not in repr(block) + str(block)
