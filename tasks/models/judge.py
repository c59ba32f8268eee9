"""Ask the judge: as many votes as the rubric requires, each in a separate session, never in the agent's."""

import time
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Literal

from helmsman.config import ClaudeConfig, JudgeConfig, LoopConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.records.base import Reply, Usage
from helmsman.records.checks import Judgement
from helmsman.records.iteration import Question
from helmsman.verify.judge.request import SOURCE_TOKENS, JudgeRequest, build_request
from helmsman.verify.judge.view import JudgeQuestion, ReadFiles
from helmsman.verify.judge.votes import UnreadableError, Vote, count_votes, read_vote
from tasks.models.judge_api import ask_by_api
from tasks.models.judge_cli import ask_by_cli
from tasks.system.environment import agent_environment, own_environment
from tasks.system.process import never_stop
from tasks.system.secrets import register_credentials, without_secrets

Ask = Callable[[JudgeRequest], Reply]


def ask_judge(
    question: JudgeQuestion,
    config: JudgeConfig,
    *,
    credentials: Mapping[str, str],
    claude: ClaudeConfig,
    tag: str,
    read_files: ReadFiles = lambda _: (),
    keep: Callable[[JudgeRequest], None] = lambda _: None,
    stop: Callable[[], bool] = never_stop,
) -> Judgement:
    """Judge a question, with as many votes as its most demanding criterion requires.

    `read_files` returns files that the judge requests, once; `keep` is called with each request before it is sent.
    `credentials` are variables in addition to the environment's; `tag` must be unique to this verdict's processes.
    Raises OperatorError, also if two answers were unreadable; TransientError if a retry may help; Cancelled.
    """
    register_credentials(credentials)
    started = time.monotonic()
    environment = {**agent_environment(own_environment(), claude.environment), **credentials}
    request = build_request(without_secrets(question), config)
    usages: list[Usage] = []

    def ask(request: JudgeRequest) -> Reply:
        if stop():
            raise Cancelled("cancelled while the judge was running")
        keep(request)
        answer = send(request, config, claude, environment, tag, stop)
        usages.append(answer.usage)
        return answer

    # Sequential, so that all but the first vote use the cached request.
    most = max(criterion.votes for criterion in config.criteria)
    votes: list[Vote] = []
    for _ in range(most):
        vote = _read_vote(ask, request, config)
        if vote.needs:  # show requested files once; then the vote counts as it is
            files = without_secrets(tuple(read_files(vote.needs)))
            vote = _read_vote(ask, request.with_files(vote.needs, files, SOURCE_TOKENS // 2), config)
        votes.append(vote)
    judgement = count_votes(config.criteria, votes)
    totals = {"usage": reduce(Usage.plus, usages, Usage()), "calls": len(usages), "seconds": time.monotonic() - started}
    return without_secrets(judgement).model_copy(update={"model": config.model, "way": way_of(config, environment), **totals})


def send(
    request: Question,
    config: JudgeConfig,
    claude: ClaudeConfig,
    environment: Mapping[str, str],
    tag: str,
    stop: Callable[[], bool],
) -> Reply:
    """Send one request, by API or Claude Code."""
    if way_of(config, environment) == "api":
        return ask_by_api(request, config, environment=environment, stop=stop)
    return ask_by_cli(request, config, claude=claude, environment=environment, tag=tag, stop=stop)


def asks_claude_code(config: LoopConfig) -> bool:
    """Whether a judge is called through Claude Code. False if credentials in a block decide, unknown at the start."""
    judge, environment = config.judge, agent_environment(own_environment(), config.claude.environment)
    is_unknown = judge.way == "auto" and (judge.block or config.claude.block)
    return bool(judge.criteria) and not is_unknown and way_of(judge, environment) == "claude"


def way_of(config: JudgeConfig, environment: Mapping[str, str]) -> Literal["api", "claude"]:
    """How to call the judge: as configured, or else by the API if there is a key."""
    if config.way != "auto":
        return config.way
    return "api" if environment.get("ANTHROPIC_API_KEY") else "claude"


def _read_vote(ask: Ask, request: JudgeRequest, config: JudgeConfig) -> Vote:
    """Get one vote; retry an unreadable answer once, with the cause."""
    names = [criterion.id for criterion in config.criteria]
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
