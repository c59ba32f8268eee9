"""Reading the judge's votes and counting them. Only a whole, clean answer is a vote: any text is read, none is trusted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from helmsman.config import CriterionConfig
from helmsman.records.judgement import CriterionVerdict, Judgement, JudgementOutcome
from helmsman.verify.judge.answers import LONGEST, Answer
from helmsman.verify.judge.fence import label, visible
from helmsman.verify.judge.view import View

_REASON = 1000
_PRINCIPLE = 300
_SHOWN_IDS = 5

_STOPS = {
    "end_turn": None,
    "tool_use": None,
    "refusal": "the model declined to answer",
    "max_tokens": "the answer was cut off at its longest length (judge.answer_tokens)",
    "model_context_window_exceeded": "the answer was cut off where the model's context was full",
    "pause_turn": "the model paused before its answer was whole",
    "structured_output_retry_exhausted": "the model kept answering in another form",
}
"""Why an answer with this stop reason of the API is not whole; None: it is."""


class _CriterionAnswer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    id: str
    reason: str
    evidence_file: str
    evidence_line: int
    met: bool


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    criteria: list[_CriterionAnswer]
    principle: str


@dataclass(frozen=True)
class Opinion:
    """What one vote says of one criterion."""

    met: bool
    reason: str
    evidence: str


@dataclass(frozen=True)
class Vote:
    """One answer, read: an opinion on every criterion."""

    opinions: Mapping[str, Opinion]
    principle: str = ""


class UnreadableError(ValueError):
    """An answer is no vote; the message says why, in at most 500 printable characters."""


def read_vote(answer: Answer, criteria: Sequence[str], view: View) -> Vote:
    """The vote that an answer is on these criteria, by their ids. Raises UnreadableError."""
    _must_be_whole(answer)
    read = _parsed(answer.text)
    given = _by_criterion(read, criteria)
    opinions = {name: _opinion(one, view) for name, one in given.items()}
    return Vote(opinions, principle=_one_line(read.principle, _PRINCIPLE))


def count_votes(criteria: Sequence[CriterionConfig], votes: Sequence[Vote]) -> Judgement:
    """The judgement that votes amount to, each criterion by the first votes that it asks for. At least one criterion and vote."""
    verdicts = tuple(_verdict(criterion, votes) for criterion in criteria)
    unmet = [verdict.criterion for verdict in verdicts if not verdict.met]
    return Judgement(
        outcome=JudgementOutcome.REJECTED if unmet else JudgementOutcome.APPROVED,
        cause=f"{len(unmet)} of {len(verdicts)} criteria not met: {_listed(unmet)}" if unmet else "",
        criteria=verdicts,
        principle=next((vote.principle for vote in votes if vote.principle), ""),
        score=_score(criteria, verdicts),
    )


def _must_be_whole(answer: Answer) -> None:
    if cause := _STOPS.get(answer.stop, f"the model stopped for an unknown reason: {label(answer.stop)}"):
        raise UnreadableError(cause)
    if not answer.text.strip():
        raise UnreadableError("the answer is empty")
    if len(answer.text) > LONGEST:
        raise UnreadableError(f"the answer is longer than {LONGEST:,} characters")


def _parsed(text: str) -> _Answer:
    try:
        return _Answer.model_validate(json.loads(text, object_pairs_hook=_each_name_once))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = label(".".join(str(part) for part in first["loc"]))
        raise UnreadableError(f"the answer has another form: {place or 'all of it'}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"the answer is no JSON object: {label(str(error))}") from error


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is there twice in one object")
    return dict(pairs)


def _by_criterion(read: _Answer, criteria: Sequence[str]) -> dict[str, _CriterionAnswer]:
    given: dict[str, _CriterionAnswer] = {}
    for one in read.criteria:
        if one.id not in criteria:
            raise UnreadableError(f"the answer is on an unknown criterion: {label(one.id)}")
        if given.setdefault(one.id, one).met is not one.met:
            raise UnreadableError(f"the answer contradicts itself on {one.id}")
    if missing := [name for name in criteria if name not in given]:
        raise UnreadableError(f"the answer leaves out {_listed(missing)}")
    if silent := [name for name, one in given.items() if not one.reason.strip()]:
        raise UnreadableError(f"the answer gives no reason for {_listed(silent)}")
    return given


def _opinion(one: _CriterionAnswer, view: View) -> Opinion:
    """What is said to be met on the evidence of a file that was not shown counts as not met."""
    name = one.evidence_file.strip()
    reason = visible(one.reason).strip()
    if not name:
        return Opinion(one.met, reason[:_REASON], "")
    place = label(name) if one.evidence_line == 0 else f"{label(name)}:{one.evidence_line}"
    shown = _lines_of(name, view)
    if shown is None:
        return Opinion(met=False, reason=f"[no such evidence: {place} was not shown] {reason}"[:_REASON], evidence="")
    if not 0 <= one.evidence_line <= shown:
        return Opinion(
            one.met, f"[no such evidence: {label(name)} has no line {one.evidence_line}] {reason}"[:_REASON], label(name)
        )
    return Opinion(one.met, reason[:_REASON], place)


def _lines_of(name: str, view: View) -> int | None:
    """How many lines of a file were shown under this name, 0 for one that is gone; None where it is not known."""
    for spelled in (name, name.removeprefix("./")):
        if spelled in view.lines:
            return view.lines[spelled]
        if spelled in view.gone:
            return 0
    return None


def _verdict(criterion: CriterionConfig, votes: Sequence[Vote]) -> CriterionVerdict:
    cast = [vote.opinions[criterion.id] for vote in votes[: criterion.votes]]
    agreeing = sum(opinion.met for opinion in cast)
    met = agreeing >= criterion.needed
    decisive = next((opinion for opinion in cast if opinion.met is met), None)
    return CriterionVerdict(
        criterion=criterion.id,
        met=met,
        votes_met=agreeing,
        votes_cast=len(cast),
        votes_needed=criterion.needed,
        reason=decisive.reason if decisive else "",
        evidence=decisive.evidence if decisive else "",
    )


def _score(criteria: Sequence[CriterionConfig], verdicts: Sequence[CriterionVerdict]) -> float:
    reached = sum(criterion.weight for criterion, verdict in zip(criteria, verdicts, strict=True) if verdict.met)
    return reached / sum(criterion.weight for criterion in criteria)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_IDS
    return ", ".join(names[:_SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")


def _one_line(text: str, longest: int) -> str:
    return " ".join(visible(text).split())[:longest]
