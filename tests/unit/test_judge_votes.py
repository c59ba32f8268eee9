"""Votes are read strictly and counted: nothing but a whole, clean answer that finds everything met is an approval."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import CriterionConfig
from helmsman.records.judgement import Judgement, JudgementOutcome
from helmsman.verify.judge.answers import LONGEST, Answer
from helmsman.verify.judge.view import View
from helmsman.verify.judge.votes import Opinion, Vote, count_votes, read_vote
from tests.fakes.judge_questions import BAD, GOOD, answer, one

pytestmark = pytest.mark.feature("V7")
IDS = ("c1", "c2")
VIEW = View("", {"slugs.py": 10, "empty.py": 0}, frozenset({"old.py"}))
UNREADABLE, PARTIAL, REFUSED = JudgementOutcome.UNREADABLE, JudgementOutcome.PARTIAL, JudgementOutcome.REFUSED


def read(text: Any, stop: str = "end_turn") -> Vote:
    return read_vote(Answer(text if isinstance(text, str) else json.dumps(text), stop), IDS, VIEW)


def judge(*votes: Vote, **criterion: Any) -> Judgement:
    criteria = [CriterionConfig.model_validate({"id": name, "text": "It works.", **criterion}) for name in IDS]
    return count_votes(criteria, votes)


def test_a_clean_answer_is_read_as_it_is() -> None:
    vote = read(GOOD)
    assert vote.spoiled is None
    assert vote.opinions == {name: Opinion(met=True, reason=f"I saw {name}.", evidence="slugs.py:2") for name in IDS}
    assert vote.principle == "look at the edges"


@pytest.mark.parametrize("stop", ["end_turn", "tool_use"])
def test_only_an_ordinary_end_lets_an_answer_be_read(stop: str) -> None:
    assert judge(read(GOOD, stop)).approved


@pytest.mark.parametrize(
    ("stop", "outcome"),
    [
        ("max_tokens", PARTIAL),
        ("model_context_window_exceeded", PARTIAL),
        ("pause_turn", PARTIAL),
        ("refusal", REFUSED),
        ("structured_output_retry_exhausted", UNREADABLE),
        ("stop_sequence", UNREADABLE),
        ("", UNREADABLE),
        ("end_turn\n", UNREADABLE),
    ],
)
def test_an_answer_that_ended_in_any_other_way_is_a_rejection_even_if_all_is_met(stop: str, outcome: JudgementOutcome) -> None:
    judgement = judge(read(GOOD, stop))
    assert (judgement.outcome, judgement.criteria, judgement.score) == (outcome, (), None)
    assert judgement.cause


MET: dict[str, Any] = one("c1")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", UNREADABLE),
        (" \n\t", UNREADABLE),
        ("Approved: all criteria are met.", UNREADABLE),
        ("```json\n" + json.dumps(GOOD) + "\n```", UNREADABLE),
        (json.dumps(GOOD) + "\n" + json.dumps(GOOD), UNREADABLE),
        (json.dumps(GOOD)[:-1], UNREADABLE),
        ("null", UNREADABLE),
        ("true", UNREADABLE),
        ("[]", UNREADABLE),
        ("{}", UNREADABLE),
        ("[" * 100_000, UNREADABLE),
        ("9" * 5000, UNREADABLE),
        (json.dumps(GOOD) + " " * LONGEST, UNREADABLE),
        (json.dumps([GOOD]), UNREADABLE),
        (json.dumps({"approved": True}), UNREADABLE),
        (json.dumps(GOOD | {"approved": True}), UNREADABLE),
        (json.dumps({"criteria": GOOD["criteria"]}), UNREADABLE),
        (json.dumps(answer(MET, one("c2", met="true"))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", met="yes"))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", met=1))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", met=None))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", met=[True]))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", reason=None))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", evidence_line="2"))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", evidence_line=2.5))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", evidence_line=True))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", evidence_file=None))), UNREADABLE),
        (json.dumps(answer(MET, one("c2"), principle=7)), UNREADABLE),
        (json.dumps(answer(MET, one("c2"), one("c3"))), UNREADABLE),
        (json.dumps(answer(MET, one("C2"))), UNREADABLE),
        (json.dumps(answer(MET, one("c2"), one("c2", met=False))), UNREADABLE),
        (json.dumps(answer(MET, one("c2", met=False), one("c2"))), UNREADABLE),
        ('{"criteria": [], ' + json.dumps(GOOD)[1:], UNREADABLE),
        (json.dumps(GOOD).replace('"met": true', '"met": false, "met": true', 1), UNREADABLE),
        (json.dumps(answer()), PARTIAL),
        (json.dumps(answer(MET)), PARTIAL),
        (json.dumps(answer(MET, one("c2", reason=" "))), PARTIAL),
    ],
)
def test_whatever_is_no_clean_answer_is_a_rejection_with_its_cause(text: str, outcome: JudgementOutcome) -> None:
    judgement = judge(read(text))
    assert (judgement.outcome, judgement.approved) == (outcome, False)
    assert 0 < len(judgement.cause) < 500
    assert judgement.cause.isprintable()


def test_the_same_answer_twice_on_a_criterion_is_no_contradiction() -> None:
    assert judge(read(answer(one("c1"), one("c2"), one("c2", reason="again")))).approved


def test_a_name_that_json_gives_twice_is_no_way_to_say_both() -> None:
    assert "twice" in read('{"criteria": [], "criteria": [], "principle": ""}').cause


MUTATIONS = st.sampled_from(
    ['"', "true", "false", "{", "}", ",", "c1", "c2", "met", "1", " ", "\n", "\\", "null", "[", "]", ":", "x"]
)


@given(st.integers(0, 400), st.integers(0, 30), MUTATIONS)
def test_an_answer_that_was_damaged_is_approved_only_if_it_still_says_the_same(place: int, length: int, instead: str) -> None:
    text = json.dumps(GOOD)
    damaged = text[:place] + instead + text[place + length :]
    judgement = judge(read(damaged))
    if judgement.approved:
        criteria = json.loads(damaged)["criteria"]
        assert all(criterion["met"] is True for criterion in criteria)
        assert {criterion["id"] for criterion in criteria} == set(IDS)
    else:
        assert judgement.cause


@given(st.text(st.characters(codec=None), max_size=200), st.text(max_size=20))
def test_no_text_is_an_approval_by_chance(text: str, stop: str) -> None:
    assert not judge(read(text, stop)).approved
    assert not judge(read(text)).approved


@given(st.dictionaries(st.sampled_from(IDS), st.booleans()))
def test_an_answer_is_approved_exactly_where_every_criterion_is_there_and_met(met: dict[str, bool]) -> None:
    judgement = judge(read(answer(*(one(name, met=value) for name, value in met.items()))))
    assert judgement.approved is (set(met) == set(IDS) and all(met.values()))


@pytest.mark.parametrize(
    ("file", "line", "evidence"),
    [
        ("slugs.py", 2, "slugs.py:2"),
        ("slugs.py", 10, "slugs.py:10"),
        ("./slugs.py", 1, "./slugs.py:1"),
        ("slugs.py", 0, "slugs.py"),
        ("empty.py", 0, "empty.py"),
        ("old.py", 0, "old.py"),
        ("", 0, ""),
        ("", 7, ""),
    ],
)
def test_evidence_that_was_shown_is_kept(file: str, line: int, evidence: str) -> None:
    vote = read(answer(one("c1", evidence_file=file, evidence_line=line), one("c2")))
    assert vote.opinions["c1"] == Opinion(met=True, reason="I saw c1.", evidence=evidence)


@pytest.mark.parametrize("line", [11, -1, 10**30])
def test_a_line_that_was_not_shown_is_noted_and_the_file_still_counts(line: int) -> None:
    opinion = read(answer(one("c1", evidence_line=line), one("c2"))).opinions["c1"]
    assert (opinion.met, opinion.evidence) == (True, "slugs.py")
    assert opinion.reason == f"[no such evidence: slugs.py has no line {line}] I saw c1."


@pytest.mark.parametrize("file", ["invented.py", "slugs.pyc", "../slugs.py", "SLUGS.py", "a\nb"])
def test_what_is_met_on_the_evidence_of_a_file_that_was_not_shown_is_not_met(file: str) -> None:
    vote = read(answer(one("c1", evidence_file=file), one("c2")))
    assert vote.opinions["c1"].met is False
    assert vote.opinions["c1"].reason.startswith("[no such evidence: ")
    assert vote.opinions["c1"].reason.isprintable()
    assert judge(vote).outcome is JudgementOutcome.REJECTED


def test_what_the_judge_says_is_bounded_and_shows_what_it_is() -> None:
    vote = read(answer(one("c1", reason="\x1b[2J" + "x" * 5000), one("c2"), principle="one\ntwo" + "y" * 500))
    assert vote.opinions["c1"].reason.startswith("\\x1b[2Jx")
    assert len(vote.opinions["c1"].reason) == 1000
    assert vote.principle.startswith("one twoy")
    assert len(vote.principle) == 300


def test_half_a_letter_can_be_stored() -> None:
    judgement = judge(read(answer(one("c1", reason="half \udc80"), one("c2"), principle="\ud800")))
    assert judgement.criteria[0].reason == "half \\udc80"
    assert Judgement.model_validate_json(judgement.model_dump_json()) == judgement


def votes(*met: bool | None) -> list[Vote]:
    spoiled = Vote(spoiled=REFUSED, cause="the model declined to answer")
    return [spoiled if each is None else read(answer(one("c1", met=each), one("c2"))) for each in met]


@pytest.mark.feature("V12")
@pytest.mark.parametrize(
    ("needed", "met", "outcome"),
    [
        (1, [True], JudgementOutcome.APPROVED),
        (1, [False], JudgementOutcome.REJECTED),
        (1, [None], REFUSED),
        (1, [], UNREADABLE),
        (2, [True, True, False], JudgementOutcome.APPROVED),
        (2, [True, False, False], JudgementOutcome.REJECTED),
        (2, [False, True, True], JudgementOutcome.APPROVED),
        (3, [True, True, False], JudgementOutcome.REJECTED),
        (3, [True, True, True], JudgementOutcome.APPROVED),
        (2, [True, None, True], JudgementOutcome.APPROVED),
        (2, [True, None, False], REFUSED),
        (3, [True, None, True], REFUSED),
        (2, [False, None, False], JudgementOutcome.REJECTED),
        (1, [None, None, None], REFUSED),
        (2, [True], JudgementOutcome.REJECTED),
    ],
)
def test_a_criterion_is_met_where_as_many_votes_as_it_needs_say_so(
    needed: int, met: list[bool | None], outcome: JudgementOutcome
) -> None:
    judgement = judge(*votes(*met), needed=needed, votes=3)
    assert judgement.outcome is outcome
    assert bool(judgement.cause) is not judgement.approved


@pytest.mark.feature("V12")
def test_a_criterion_with_fewer_votes_uses_the_first_ones() -> None:
    criteria = [
        CriterionConfig(id="c1", text="It works.", votes=1),
        CriterionConfig(id="c2", text="It is tested.", votes=3, needed=2),
    ]
    judgement = count_votes(criteria, votes(True, False, False))
    assert [(c.met, c.votes_met, c.votes_cast, c.votes_needed) for c in judgement.criteria] == [(True, 1, 1, 1), (True, 3, 3, 2)]
    assert judgement.approved


@pytest.mark.feature("V12")
@given(st.lists(st.sampled_from([True, False, None]), max_size=9), st.integers(1, 9))
def test_a_spoiled_vote_never_helps(met: list[bool | None], needed: int) -> None:
    judgement = judge(*votes(*met), needed=needed, votes=9)
    assert judgement.approved is (met.count(True) >= needed)


def test_the_reason_is_that_of_a_vote_that_decided() -> None:
    first = read(answer(one("c1", met=False, reason="It fails on the empty text."), one("c2")))
    judgement = judge(first, read(GOOD), read(GOOD), votes=3, needed=2)
    assert judgement.criteria[0].reason == "I saw c1."
    assert judge(first, first, read(GOOD), votes=3, needed=2).criteria[0].reason == "It fails on the empty text."


def test_the_score_is_the_weighted_share_of_what_is_met() -> None:
    criteria = [CriterionConfig(id="c1", text="It works.", weight=3), CriterionConfig(id="c2", text="It is tested.")]
    judgement = count_votes(criteria, [read(BAD)])
    assert (judgement.score, judgement.outcome) == (0.75, JudgementOutcome.REJECTED)


def test_without_criteria_nothing_is_approved() -> None:
    vote = read_vote(Answer(json.dumps(answer()), "end_turn"), (), VIEW)
    assert count_votes([], [vote]).outcome is UNREADABLE


@pytest.mark.parametrize(
    "text", ['{"a":' * 30_000, "[0," * 30_000, '"' * 90_000, "\\" * 90_000, '{"criteria":[' + "{}," * 30_000]
)
def test_a_long_hostile_answer_is_read_in_seconds(text: str) -> None:
    started = time.monotonic()
    assert read(text).spoiled is UNREADABLE
    assert time.monotonic() - started < 5
