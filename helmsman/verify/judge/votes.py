"""Reading answers of the judge as votes, and counting them. Only a whole, clean answer is a vote: none is trusted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from helmsman.config import CriterionConfig
from helmsman.parsers.answers import Form, StrictAnswer, form_of, other_form
from helmsman.parsers.loose import items, mapping, text
from helmsman.records.base import Reply, Usage
from helmsman.records.checks import CriterionVerdict, Given, Judgement, JudgementOutcome
from helmsman.verify.findings import some
from helmsman.verify.judge.fence import label, visible

_REASON = 1000
_PRINCIPLE = 300
_FIX = 500
_NEEDED = 10  # files that one vote may ask for, by criterion
_SHOWN_IDS = 5


class _CriterionAnswer(StrictAnswer):
    id: str
    reason: str
    verdict: Given
    fix: str
    need: list[str]


class _Answer(StrictAnswer):
    criteria: list[_CriterionAnswer]
    principle: str


def answer_schema(criteria: Sequence[str]) -> Form:
    """The form of a vote on these criteria, by their ids."""
    form = form_of(_Answer)
    form["properties"]["criteria"]["items"]["properties"]["id"]["enum"] = [*criteria]
    return form


@dataclass(frozen=True)
class Vote:
    """One answer, read: a verdict on every criterion, as far as it goes."""

    opinions: Mapping[str, CriterionVerdict]
    principle: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Files that it would have to see to tell of every criterion."""
        return tuple(dict.fromkeys(path for opinion in self.opinions.values() for path in opinion.need))


class UnreadableError(ValueError):
    """An answer is no vote; the message says why, in at most 500 printable characters."""


def read_vote(answer: Reply, criteria: Sequence[str]) -> Vote:
    """The vote that an answer is on these criteria, by their ids. Raises UnreadableError."""
    if answer.broken_off:
        raise UnreadableError(answer.broken_off)
    if not answer.text.strip():
        raise UnreadableError("the answer is empty")
    if len(answer.text) > LONGEST:
        raise UnreadableError(f"the answer is longer than {LONGEST:,} characters")
    read = _parsed(answer.text)
    opinions = {name: _opinion(one) for name, one in _by_criterion(read, criteria).items()}
    return Vote(opinions, principle=_one_line(read.principle, _PRINCIPLE))


def count_votes(criteria: Sequence[CriterionConfig], votes: Sequence[Vote]) -> Judgement:
    """The judgement that votes amount to, each criterion by the first votes that it asks for. At least one criterion and vote."""
    verdicts = tuple(_verdict(criterion, votes) for criterion in criteria)
    unmet = [verdict.criterion for verdict in verdicts if verdict.unmet]
    untold = [verdict.criterion for verdict in verdicts if verdict.cannot_tell]
    reached = sum(criterion.weight for criterion, verdict in zip(criteria, verdicts, strict=True) if verdict.met)
    every, named = len(verdicts), (("not met", unmet), ("cannot be told", untold))
    causes = [(what, names) for what, names in named if names]
    return Judgement(
        outcome=JudgementOutcome.REJECTED if unmet else JudgementOutcome.UNDECIDED if untold else JudgementOutcome.APPROVED,
        cause="; ".join(f"{len(names)} of {every} criteria {what}: {some(names, most=_SHOWN_IDS)}" for what, names in causes),
        criteria=verdicts,
        principle=next((vote.principle for vote in votes if vote.principle), ""),
        score=reached / sum(criterion.weight for criterion in criteria),
    )


def _parsed(text: str) -> _Answer:
    try:
        return _Answer.model_validate(json.loads(text, object_pairs_hook=_each_name_once))
    except ValidationError as error:
        raise UnreadableError(other_form(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"the answer is not a JSON object: {label(str(error))}") from error


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name appears twice in one object")
    return dict(pairs)


def _by_criterion(read: _Answer, criteria: Sequence[str]) -> dict[str, _CriterionAnswer]:
    given: dict[str, _CriterionAnswer] = {}
    for one in read.criteria:
        if one.id not in criteria:
            raise UnreadableError(f"the answer is on an unknown criterion: {label(one.id)}")
        if given.setdefault(one.id, one).verdict != one.verdict:
            raise UnreadableError(f"the answer contradicts itself on {one.id}")
    if missing := [name for name in criteria if name not in given]:
        raise UnreadableError(f"the answer leaves out {some(missing, most=_SHOWN_IDS)}")
    if silent := [name for name, one in given.items() if not one.reason.strip()]:
        raise UnreadableError(f"the answer gives no reason for {some(silent, most=_SHOWN_IDS)}")
    return given


def _opinion(one: _CriterionAnswer) -> CriterionVerdict:
    reason, needed = visible(one.reason).strip()[:_REASON], list[str]()
    if one.verdict == "cannot_tell":
        plain = (path.strip().removeprefix("./").partition(":")[0] for path in one.need)
        needed = list(dict.fromkeys(label(path) for path in plain if path))[:_NEEDED]
    fix = _one_line(one.fix, _FIX) if one.verdict == "not_met" else ""
    return CriterionVerdict(
        criterion=one.id,
        met=one.verdict == "met",
        cannot_tell=one.verdict == "cannot_tell",
        reason=reason,
        fix=fix,
        need=tuple(needed),
    )


def _verdict(criterion: CriterionConfig, votes: Sequence[Vote]) -> CriterionVerdict:
    cast = [vote.opinions[criterion.id] for vote in votes[: criterion.votes]]
    agreeing, open_ones = (sum(opinion.given == word for opinion in cast) for word in ("met", "cannot_tell"))
    met = agreeing >= criterion.needed
    cannot_tell = not met and agreeing + open_ones >= criterion.needed
    word = "met" if met else "cannot_tell" if cannot_tell else "not_met"
    silent = CriterionVerdict(criterion=criterion.id, met=met, cannot_tell=cannot_tell)
    decisive = next((opinion for opinion in cast if opinion.given == word), silent)
    counted = {"votes_met": agreeing, "votes_cast": len(cast), "votes_needed": criterion.needed}
    return decisive.model_copy(update=counted)


def _one_line(text: str, longest: int) -> str:
    return " ".join(visible(text).split())[:longest]


LONGEST = 100_000  # characters of an answer; more than any rubric needs
STRUCTURED = "StructuredOutput"  # the tool by which the CLI has its model answer in a given form
_TOO_MANY = 2
_CUT_OFF = "max_tokens"
_NO_FORM = "structured_output_retry_exhausted"
_FORMLESS = frozenset({"error_max_structured_output_retries", "error_max_turns"})


class CliReader:
    """Finds the answer in the events of one call of the CLI."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._message = ""
        self._given: list[str] = []
        self._result: Mapping[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        if event.get("type") == "result":
            self._result = event
        elif event.get("type") == "assistant":
            # of the last message that fills in the form: each event carries one block of it
            message = mapping(event.get("message"))
            blocks = (mapping(block) for block in items(message.get("content")))
            inputs = [_written(block.get("input")) for block in blocks if block.get("name") == STRUCTURED]
            if inputs and message.get("id") != self._message:
                self._message, self._given = text(message.get("id")), []
            self._given = (self._given + inputs)[:_TOO_MANY]

    def answer(self, usage: Usage) -> Reply | None:
        """The answer, or how the model failed to give one; None where it is not the model that failed."""
        result = self._result
        stop = text(result.get("stop_reason")) or "unknown"
        if stop != "refusal":
            formless = _NO_FORM if text(result.get("subtype")) in _FORMLESS else ""
            failed = _CUT_OFF if result.get("api_error") == "max_output_tokens" else formless
            if not failed and (result.get("subtype") != "success" or result.get("is_error") is not False):
                return None
            stop = failed or stop
        # Two forms filled in in one message are no answer, even if the CLI takes the last.
        given = self._given if isinstance(result.get("structured_output"), Mapping) else [text(result.get("result"))]
        return Reply(text="\n".join(given)[: LONGEST + 1], stop=stop, usage=usage)


def _written(form: object) -> str:
    try:
        return json.dumps(form)[: LONGEST + 1]
    except RecursionError:  # nesting beyond all measure
        return ""
