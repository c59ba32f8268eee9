"""Asking the judge: as many votes as the rubric wants, each in a session of its own, never in the one that did the work."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from helmsman.config import ClaudeConfig, JudgeConfig, LoopConfig
from helmsman.errors import Cancelled, OperatorError
from helmsman.records.judgement import CriterionVerdict, Judgement
from helmsman.verify.judge.answers import Answer
from helmsman.verify.judge.prices import total
from helmsman.verify.judge.question import JudgeQuestion
from helmsman.verify.judge.request import JudgeRequest, build_request
from helmsman.verify.judge.votes import count_votes, read_vote
from tasks.models.judge_api import ask_by_api
from tasks.models.judge_cli import ask_by_cli
from tasks.processes.environment import agent_environment, ours
from tasks.processes.process import never
from tasks.secrets_kept import redact


def ask_judge(
    question: JudgeQuestion,
    config: JudgeConfig,
    *,
    credentials: Mapping[str, str],
    claude: ClaudeConfig,
    tag: str,
    stop: Callable[[], bool] = never,
) -> Judgement:
    """The judgement on a question, from as many votes as its most demanding criterion asks for.

    `credentials` are variables on top of the environment's own; `tag` is the verdict's own, for the processes that it starts.
    Raises OperatorError, WorldError where it may be asked again, Cancelled.
    """
    if not config.criteria:
        raise OperatorError(
            "there is nothing to judge", expected="judge.criteria", remedy="write criteria, or do not ask the judge"
        )
    started = time.monotonic()
    environment = {**agent_environment(ours(), claude.environment), **credentials}
    way = way_of(config, environment)
    request = build_request(question, config)
    answers = list(_answers(request, config, claude, environment, way, tag, stop))
    names = [criterion.id for criterion in config.criteria]
    judgement = count_votes(config.criteria, [read_vote(answer, names, request.view) for answer in answers])
    return _without_secrets(judgement, environment).model_copy(
        update={
            "model": config.model,
            "way": way,
            "usage": total([answer.usage for answer in answers]),
            "calls": len(answers),
            "seconds": time.monotonic() - started,
        }
    )


def asks_claude_code(config: LoopConfig) -> bool:
    """Whether there is a judge that is asked by Claude Code. What credentials a block holds is not known at the start."""
    judge, environment = config.judge, agent_environment(ours(), config.claude.environment)
    unknown = judge.way == "auto" and (judge.block or config.claude.block)
    return bool(judge.criteria) and not unknown and way_of(judge, environment) == "claude"


def way_of(config: JudgeConfig, environment: Mapping[str, str]) -> Literal["api", "claude"]:
    """How the judge is asked: as configured, else by the API where a key is known."""
    if config.way != "auto":
        return config.way
    return "api" if environment.get("ANTHROPIC_API_KEY") else "claude"


def _answers(
    request: JudgeRequest,
    config: JudgeConfig,
    claude: ClaudeConfig,
    environment: Mapping[str, str],
    way: Literal["api", "claude"],
    tag: str,
    stop: Callable[[], bool],
) -> Iterator[Answer]:
    """One after the other, so that all but the first find the request in the cache."""
    for _ in range(max(criterion.votes for criterion in config.criteria)):
        if stop():
            raise Cancelled("cancelled while the judge was asked")
        if way == "api":
            yield ask_by_api(request, config, environment=environment, stop=stop)
        else:
            yield ask_by_cli(request, config, claude=claude, environment=environment, tag=tag, stop=stop)


def _without_secrets(judgement: Judgement, environment: Mapping[str, str]) -> Judgement:
    """What the judge quotes may hold a secret that was printed or written down."""

    def of(verdict: CriterionVerdict) -> CriterionVerdict:
        return verdict.model_copy(update={name: redact(getattr(verdict, name), environment) for name in ("reason", "evidence")})

    told = {name: redact(getattr(judgement, name), environment) for name in ("cause", "principle")}
    return judgement.model_copy(update={**told, "criteria": tuple(of(verdict) for verdict in judgement.criteria)})
