"""Parse the judge's answers as votes and count them. Only a complete, valid answer is a vote: none is trusted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from helmsman.config import CriterionConfig
from helmsman.parsers.answers import Schema, StrictAnswer, describe_mismatch, schema_of
from helmsman.parsers.loose import items, mapping, text
from helmsman.records.base import Reply, Usage
from helmsman.records.checks import CriterionOutcome, CriterionVerdict, Judgement, JudgementOutcome
from helmsman.verify.findings import join_some
from helmsman.verify.judge.view import escape_invisible, label

_REASON = 1000
_PRINCIPLE = 300
_FIX = 500
_NEEDED = 10  # maximum files that one vote may request per criterion
_SHOWN_IDS = 5


class _CriterionAnswer(StrictAnswer):
    id: str
    reason: str
    verdict: CriterionOutcome
    fix: str
    need: list[str]


class _Answer(StrictAnswer):
    criteria: list[_CriterionAnswer]
    principle: str


def answer_schema(criteria: Sequence[str]) -> Schema:
    """Return the JSON schema of a vote on the criteria with these ids."""
    form = schema_of(_Answer)
    form["properties"]["criteria"]["items"]["properties"]["id"]["enum"] = [*criteria]
    return form


@dataclass(frozen=True)
class Vote:
    """One parsed answer: a verdict on every criterion."""

    opinions: Mapping[str, CriterionVerdict]
    principle: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Files that the judge needs to decide on every criterion."""
        return tuple(dict.fromkeys(path for opinion in self.opinions.values() for path in opinion.need))


class UnreadableError(ValueError):
    """An answer is not a vote; the message says why, in at most 500 printable characters."""


def read_vote(answer: Reply, criteria: Sequence[str]) -> Vote:
    """Parse an answer as a vote on the criteria with these ids. Raises UnreadableError."""
    if answer.broken_off:
        raise UnreadableError(answer.broken_off)
    if not answer.text.strip():
        raise UnreadableError("the answer is empty")
    if len(answer.text) > LONGEST:
        raise UnreadableError(f"the answer is longer than {LONGEST:,} characters")
    parsed = _parse_answer(answer.text)
    opinions = {name: _read_opinion(given) for name, given in _by_criterion(parsed, criteria).items()}
    return Vote(opinions, principle=_join_lines(parsed.principle, _PRINCIPLE))


def count_votes(criteria: Sequence[CriterionConfig], votes: Sequence[Vote]) -> Judgement:
    """Count votes, for each criterion only the first ones that it asks for. Requires at least one criterion and one vote."""
    verdicts = tuple(_count_criterion(criterion, votes) for criterion in criteria)
    unmet = [verdict.criterion for verdict in verdicts if verdict.unmet]
    undecided = [verdict.criterion for verdict in verdicts if verdict.cannot_tell]
    score_met = sum(criterion.weight for criterion, verdict in zip(criteria, verdicts, strict=True) if verdict.met)
    every, groups = len(verdicts), (("not met", unmet), ("cannot be decided", undecided))
    causes = [(problem, names) for problem, names in groups if names]
    return Judgement(
        outcome=JudgementOutcome.REJECTED if unmet else JudgementOutcome.UNDECIDED if undecided else JudgementOutcome.APPROVED,
        cause="; ".join(
            f"{len(names)} of {every} criteria {problem}: {join_some(names, most=_SHOWN_IDS)}" for problem, names in causes
        ),
        criteria=verdicts,
        principle=next((vote.principle for vote in votes if vote.principle), ""),
        score=score_met / sum(criterion.weight for criterion in criteria),
    )


def _parse_answer(text: str) -> _Answer:
    try:
        return _Answer.model_validate(json.loads(text, object_pairs_hook=_reject_duplicate_names))
    except ValidationError as error:
        raise UnreadableError(describe_mismatch(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"the answer is not a JSON object: {label(str(error))}") from error


def _reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name appears twice in one object")
    return dict(pairs)


def _by_criterion(answer: _Answer, criteria: Sequence[str]) -> dict[str, _CriterionAnswer]:
    by_id: dict[str, _CriterionAnswer] = {}
    for given in answer.criteria:
        if given.id not in criteria:
            raise UnreadableError(f"the answer has an unknown criterion: {label(given.id)}")
        if by_id.setdefault(given.id, given).verdict != given.verdict:
            raise UnreadableError(f"the answer contradicts itself on {given.id}")
    if missing := [name for name in criteria if name not in by_id]:
        raise UnreadableError(f"the answer has no verdict on {join_some(missing, most=_SHOWN_IDS)}")
    if without_reason := [name for name, given in by_id.items() if not given.reason.strip()]:
        raise UnreadableError(f"the answer gives no reason for {join_some(without_reason, most=_SHOWN_IDS)}")
    return by_id


def _read_opinion(answer: _CriterionAnswer) -> CriterionVerdict:
    reason, paths = escape_invisible(answer.reason).strip()[:_REASON], list[str]()
    if answer.verdict == "cannot_tell":
        stripped = (path.strip().removeprefix("./").partition(":")[0] for path in answer.need)
        paths = list(dict.fromkeys(label(path) for path in stripped if path))[:_NEEDED]
    fix = _join_lines(answer.fix, _FIX) if answer.verdict == "not_met" else ""
    return CriterionVerdict(
        criterion=answer.id,
        met=answer.verdict == "met",
        cannot_tell=answer.verdict == "cannot_tell",
        reason=reason,
        fix=fix,
        need=tuple(paths),
    )


def _count_criterion(criterion: CriterionConfig, votes: Sequence[Vote]) -> CriterionVerdict:
    cast = [vote.opinions[criterion.id] for vote in votes[: criterion.votes]]
    agreeing, undecided = (sum(opinion.given == word for opinion in cast) for word in ("met", "cannot_tell"))
    met = agreeing >= criterion.needed
    cannot_tell = not met and agreeing + undecided >= criterion.needed
    word = "met" if met else "cannot_tell" if cannot_tell else "not_met"
    default = CriterionVerdict(criterion=criterion.id, met=met, cannot_tell=cannot_tell)
    decisive = next((opinion for opinion in cast if opinion.given == word), default)
    counts = {"votes_met": agreeing, "votes_cast": len(cast), "votes_needed": criterion.needed}
    return decisive.model_copy(update=counts)


def _join_lines(text: str, longest: int) -> str:
    return " ".join(escape_invisible(text).split())[:longest]


LONGEST = 100_000  # maximum characters of an answer; more than any rubric needs
STRUCTURED = "StructuredOutput"  # the CLI's tool for answers with a schema
_CUT_OFF = "max_tokens"
_NO_FORM = "structured_output_retry_exhausted"
_FORMLESS = frozenset({"error_max_structured_output_retries", "error_max_turns"})


class CliReader:
    """Extracts the answer from the events of one CLI call."""

    def __init__(self) -> None:
        self._message, self._forms = "", 0  # the last message that fills in the form, and how often it does
        self._result: Mapping[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Process one event, which has one block of a message."""
        if event.get("type") == "result":
            self._result = event
        elif event.get("type") == "assistant":
            message = mapping(event.get("message"))
            name = text(message.get("id"))
            if forms := sum(mapping(block).get("name") == STRUCTURED for block in items(message.get("content"))):
                self._forms = forms + (self._forms if name == self._message else 0)
                self._message = name

    def answer(self, usage: Usage) -> Reply | None:
        """Return the answer, or how the model failed to give one; None if the failure is not the model's."""
        result = self._result
        stop = text(result.get("stop_reason")) or "unknown"
        if stop != "refusal":
            formless = _NO_FORM if text(result.get("subtype")) in _FORMLESS else ""
            failed = _CUT_OFF if result.get("api_error") == "max_output_tokens" else formless
            if not failed and (result.get("subtype") != "success" or result.get("is_error") is not False):
                return None
            stop = failed or stop
        form = result.get("structured_output")
        # Two forms in one message are not an answer, even if the CLI accepts the last.
        texts = [json.dumps(form)] * min(self._forms, 2) if isinstance(form, Mapping) else [text(result.get("result"))]
        return Reply(text="\n".join(texts)[: LONGEST + 1], stop=stop, usage=usage)
