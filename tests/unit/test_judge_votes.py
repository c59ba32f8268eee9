"""Votes are read strictly and counted: nothing but a whole, clean answer that finds everything met is an approval."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.config import CriterionConfig
from helmsman.records.base import Reply, Usage
from helmsman.records.checks import CriterionVerdict, Judgement, JudgementOutcome
from helmsman.verify.judge.votes import LONGEST, STRUCTURED, CliReader, UnreadableError, Vote, count_votes, read_vote
from tests.fakes.judge_questions import BAD, GOOD, answer, criterion, undecided

pytestmark = pytest.mark.feature("V7")
IDS = ("c1", "c2")


def read(text: Any, stop: str = "end_turn") -> Vote:
    return read_vote(Reply(text=text if isinstance(text, str) else json.dumps(text), stop=stop), IDS)


def judge(*votes: Vote, **criterion: Any) -> Judgement:
    criteria = [CriterionConfig.model_validate({"id": name, "text": "It works.", **criterion}) for name in IDS]
    return count_votes(criteria, votes)


def test_a_valid_answer_is_a_vote() -> None:
    vote = read(GOOD)
    assert vote.opinions == {
        name: CriterionVerdict(criterion=name, met=True, reason=f"I saw {name} at slugs.py:2.") for name in IDS
    }
    assert vote.principle == "look at the edges"


@pytest.mark.parametrize(
    ("stop", "cause"),
    [
        ("max_tokens", "reached its maximum length"),
        ("model_context_window_exceeded", "context is full"),
        ("refusal", "declined to answer"),
        ("structured_output_retry_exhausted", "an invalid form"),
        ("stop_sequence", "unknown reason: stop_sequence"),
    ],
)
def test_truncated_or_refused_answers_are_unreadable(stop: str, cause: str) -> None:
    with pytest.raises(UnreadableError, match=cause):
        read(GOOD, stop)


MET: dict[str, Any] = criterion("c1")


def test_invalid_answers_are_unreadable_with_the_cause() -> None:
    for text in [
        "",
        "Approved: all criteria are met.",
        "```json\n" + json.dumps(GOOD) + "\n```",
        json.dumps(GOOD) + "\n" + json.dumps(GOOD),
        json.dumps(GOOD)[:-1],
        "{}",
        "[" * 100_000,
        "9" * 5000,
        json.dumps(GOOD) + " " * LONGEST,
        json.dumps(GOOD | {"approved": True}),
        json.dumps({"criteria": GOOD["criteria"]}),
        json.dumps(answer(MET, criterion("c2", verdict="MET"))),
        json.dumps(answer(MET, criterion("c2", met=True) | {"met": True})),
        json.dumps(answer(MET, criterion("c2", need=[1]))),
        json.dumps(answer(MET, criterion("c2"), criterion("c3"))),
        json.dumps(answer(MET, criterion("c2", met=False), criterion("c2"))),
        '{"criteria": [], ' + json.dumps(GOOD)[1:],
        json.dumps(GOOD).replace('"verdict": "met"', '"verdict": "not_met", "verdict": "met"', 1),
        json.dumps(answer(MET)),
        json.dumps(answer(MET, criterion("c2", reason=" "))),
    ]:
        with pytest.raises(UnreadableError) as told:
            read(text)
        assert 0 < len(str(told.value)) < 500
        assert str(told.value).isprintable()


MUTATIONS = st.sampled_from(
    ['"', "not_", "cannot_tell", "{", "}", ",", "c1", "c2", "met", "1", " ", "\n", "\\", "null", "[", "]", ":", "x"]
)


@given(st.integers(0, 400), st.integers(0, 30), MUTATIONS)
def test_damaged_answers_approve_only_if_the_content_is_unchanged(place: int, length: int, instead: str) -> None:
    text = json.dumps(GOOD)
    damaged = text[:place] + instead + text[place + length :]
    with suppress(UnreadableError):
        judgement = judge(read(damaged))
        criteria = json.loads(damaged)["criteria"]
        assert {criterion["id"] for criterion in criteria} == set(IDS)
        assert all(criterion["verdict"] == "met" for criterion in criteria) or not judgement.approved


@given(st.dictionaries(st.sampled_from(IDS), st.booleans()))
def test_only_answers_with_every_criterion_met_approve(met: dict[str, bool]) -> None:
    text = answer(*(criterion(name, met=value) for name, value in met.items()))
    if set(met) == set(IDS):
        assert judge(read(text)).approved is all(met.values())
    else:
        with pytest.raises(UnreadableError, match="no verdict on"):
            read(text)


def test_fixes_belong_to_unmet_and_needed_files_to_undecided_criteria() -> None:
    vote = read(answer(criterion("c1", met=False, fix="Compare.", need=["a.py"]), criterion("c2", fix="x", need=["b.py"])))
    assert [(opinion.fix, opinion.need) for opinion in vote.opinions.values()] == [("Compare.", ()), ("", ())]
    vote = read(answer(undecided("c1", "./a.py", "b.py:7", "a.py", " "), undecided("c2", "b.py", "c.py")))
    assert vote.opinions["c1"].need == ("a.py", "b.py")
    assert vote.needs == ("a.py", "b.py", "c.py")


def test_texts_of_the_judge_are_bounded_and_printable() -> None:
    vote = read(answer(criterion("c1", reason="\x1b[2J" + "x" * 5000), criterion("c2"), principle="one\ntwo" + "y" * 500))
    assert vote.opinions["c1"].reason.startswith("\\x1b[2Jx")
    assert len(vote.opinions["c1"].reason) == 1000
    assert vote.principle.startswith("one twoy")
    assert len(vote.principle) == 300


def votes(*met: bool | None) -> list[Vote]:
    return [read(answer(criterion("c1", met=each) if each is not None else undecided("c1"), criterion("c2"))) for each in met]


@pytest.mark.feature("V12")
@pytest.mark.parametrize(
    ("needed", "met", "outcome"),
    [
        (1, [True], JudgementOutcome.APPROVED),
        (2, [True, True, False], JudgementOutcome.APPROVED),
        (2, [True, False, False], JudgementOutcome.REJECTED),
        (3, [True, True, False], JudgementOutcome.REJECTED),
        (2, [True], JudgementOutcome.REJECTED),
        (1, [None], JudgementOutcome.UNDECIDED),
        (2, [True, None, False], JudgementOutcome.UNDECIDED),
        (2, [False, None, False], JudgementOutcome.REJECTED),
    ],
)
def test_a_criterion_is_met_by_the_needed_number_of_votes(needed: int, met: list[bool | None], outcome: JudgementOutcome) -> None:
    judgement = judge(*votes(*met), needed=needed, votes=3)
    assert judgement.outcome is outcome
    assert bool(judgement.cause) is not judgement.approved


@pytest.mark.feature("V12")
def test_criteria_with_fewer_votes_use_the_first() -> None:
    criteria = [
        CriterionConfig(id="c1", text="It works.", votes=1),
        CriterionConfig(id="c2", text="It is tested.", votes=3, needed=2),
    ]
    judgement = count_votes(criteria, votes(True, False, False))
    assert [(c.met, c.votes_met, c.votes_cast, c.votes_needed) for c in judgement.criteria] == [(True, 1, 1, 1), (True, 3, 3, 2)]
    assert judgement.approved


def test_the_reason_is_from_a_decisive_vote() -> None:
    first = read(answer(criterion("c1", met=False, reason="It fails on the empty text."), criterion("c2")))
    judgement = judge(first, read(GOOD), read(GOOD), votes=3, needed=2)
    assert judgement.criteria[0].reason == "I saw c1 at slugs.py:2."
    assert judge(first, first, read(GOOD), votes=3, needed=2).criteria[0].reason == "It fails on the empty text."


def test_the_score_is_the_weighted_share_of_met_criteria() -> None:
    criteria = [CriterionConfig(id="c1", text="It works.", weight=3), CriterionConfig(id="c2", text="It is tested.")]
    judgement = count_votes(criteria, [read(BAD)])
    assert (judgement.score, judgement.outcome) == (0.75, JudgementOutcome.REJECTED)


def test_unmet_outweighs_undecided() -> None:
    judgement = judge(read(answer(criterion("c1", met=False, fix="Mend it."), undecided("c2", "a.py"))))
    assert (judgement.outcome, judgement.criteria[0].fix) == (JudgementOutcome.REJECTED, "Mend it.")
    assert judgement.cause == "1 of 2 criteria not met: c1; 1 of 2 criteria cannot be decided: c2"
    assert [(criterion.unmet, criterion.cannot_tell, criterion.need) for criterion in judgement.criteria] == [
        (True, False, ()),
        (False, True, ("a.py",)),
    ]


@pytest.mark.parametrize("cause", ["unreadable", "partial", "refused"])
def test_older_records_of_unreadable_answers_say_rejected(cause: str) -> None:
    assert Judgement.model_validate({"outcome": cause, "cause": "no JSON"}).outcome is JudgementOutcome.REJECTED


@pytest.mark.parametrize(
    "text", ['{"a":' * 30_000, "[0," * 30_000, '"' * 90_000, "\\" * 90_000, '{"criteria":[' + "{}," * 30_000]
)
def test_long_hostile_answers_are_parsed_in_seconds(text: str) -> None:
    started = time.monotonic()
    with pytest.raises(UnreadableError):
        read(text)
    assert time.monotonic() - started < 5


# One answer out of the events of a call of the CLI


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


FIELDS = st.sampled_from(["type", "message", "content", "stop_reason", "text", "id", "name", "subtype", "is_error", "api_error"])


KINDS = st.sampled_from(["assistant", "result", "success", "text", 7])


EVENTS = st.lists(st.dictionaries(FIELDS, JSON | KINDS, max_size=6), max_size=6)


@example([{"type": "result", "subtype": []}])
@given(EVENTS)
def test_no_event_breaks_the_reader(events: list[dict[str, Any]]) -> None:
    answer = read_reply(*events)
    assert answer is None or (answer.stop and answer.text.encode() is not None)


def form(given: Any, message: str = "m1") -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"id": message, "content": [{"type": "tool_use", "name": STRUCTURED, "input": given}]},
    }


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "stop_reason": "tool_use", **fields}


def read_reply(*events: dict[str, Any]) -> Reply | None:
    reader = CliReader()
    for event in events:
        reader.feed(event)
    return reader.answer(Usage(output_tokens=3))


def test_the_answer_is_the_form_that_the_cli_accepted() -> None:
    answer = read_reply(form({"ok": "maybe"}, "m1"), form({"ok": True}, "m2"), result(structured_output={"ok": True}))
    assert answer == Reply(text='{"ok": true}', stop="tool_use", usage=Usage(output_tokens=3))


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"is_error": True, "stop_reason": "refusal"}, "refusal"),
        ({"is_error": True, "api_error": "max_output_tokens"}, "max_tokens"),
        ({"is_error": True, "subtype": "error_max_structured_output_retries"}, "structured_output_retry_exhausted"),
        ({"stop_reason": None}, "unknown"),
    ],
)
def test_failures_of_the_model_are_distinguished(fields: dict[str, Any], stop: str) -> None:
    answer = read_reply(result(**fields))
    assert answer is not None
    assert answer.stop == stop


@pytest.mark.parametrize(
    "events", [[], [form({"ok": True})], [result(is_error=True)], [result(subtype="error_during_execution")]]
)
def test_failures_of_others_give_no_answer(events: list[dict[str, Any]]) -> None:
    assert read_reply(*events) is None
