"""Ask the judge: as many votes as the rubric requires, each in a separate session, never in the agent's."""

import time
from collections.abc import Callable, Sequence
from functools import reduce

from helmsman.config import CriterionConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.records.base import Reply, Usage
from helmsman.records.checks import Judgement
from helmsman.verify.judge.request import SOURCE_TOKENS, JudgeRequest, build_request
from helmsman.verify.judge.view import JudgeQuestion, ReadFiles
from helmsman.verify.judge.votes import UnreadableError, Vote, count_votes, read_vote
from tasks.models.sending import CallSettings, send, way_of
from tasks.system.secrets import without_secrets

MOST_REQUESTED = 20  # maximum of files that one vote may request


def ask_judge(
    question: JudgeQuestion,
    criteria: Sequence[CriterionConfig],
    settings: CallSettings,
    *,
    read_files: ReadFiles = lambda _: (),
    keep: Callable[[JudgeRequest], None] = lambda _: None,
) -> Judgement:
    """Judge a question on these criteria, with as many votes as the most demanding one requires.

    `read_files` returns files that the judge requests, once; `keep` is called with each request before it is sent.
    Raises OperatorError, also if two answers were unreadable; TransientError if a retry may help; Cancelled.
    """
    started, environment = time.monotonic(), settings.environment()
    config = settings.config.judge.model_copy(update={"criteria": tuple(criteria)})
    request, usages = build_request(without_secrets(question), config), list[Usage]()

    def ask(request: JudgeRequest) -> Reply:
        if settings.stop():
            raise Cancelled("cancelled while the judge was running")
        keep(request)
        answer = send(request, settings, environment)
        usages.append(answer.usage)
        return answer

    # Sequential, so that all but the first vote use the cached request.
    votes: list[Vote] = []
    for _ in range(max(criterion.votes for criterion in criteria)):
        vote = _read_vote(ask, request, criteria)
        if vote.needs:  # show requested files once; then the vote counts as it is
            files = without_secrets(tuple(read_files(vote.needs[:MOST_REQUESTED])))
            vote = _read_vote(ask, request.with_files(vote.needs, files, SOURCE_TOKENS // 2), criteria)
        votes.append(vote)
    judgement = count_votes(criteria, votes)
    totals = {"usage": reduce(Usage.plus, usages, Usage()), "calls": len(usages), "seconds": time.monotonic() - started}
    return without_secrets(judgement).model_copy(update={"model": config.model, "way": way_of(config, environment), **totals})


def _read_vote(ask: Callable[[JudgeRequest], Reply], request: JudgeRequest, criteria: Sequence[CriterionConfig]) -> Vote:
    """Get one vote; retry an unreadable answer once, with the cause."""
    names = [criterion.id for criterion in criteria]
    try:
        return read_vote(ask(request), names)
    except UnreadableError as first:
        answer = ask(request.retry(str(first)))
    try:
        return read_vote(answer, names)
    except UnreadableError as error:
        raise OperatorError(
            "the judge's answer cannot be read, so the work is neither approved nor rejected",
            expected="an answer in the requested form, at the second attempt",
            found=str(error),
            remedy="set judge.model to a model with structured outputs; then resume the loop",
        ) from error
