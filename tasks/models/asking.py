"""Asking a model one question in a fresh context: by the Messages API where a key is known, else by the CLI without tools.

The way is the judge's, with its isolation and its credentials; only the question, the model and the time limit differ.
"""

import time
from collections.abc import Callable, Mapping

from helmsman.config import JudgeConfig, LoopConfig
from helmsman.errors import Cancelled, TransientError
from helmsman.prices import priced
from helmsman.records.base import Usage
from helmsman.records.iteration import Question
from helmsman.tokens import tokens
from helmsman.verify.judge.answers import Answer
from helmsman.verify.judge.request import JudgeRequest
from helmsman.verify.judge.view import View
from tasks.models.judge import way_of
from tasks.models.judge_api import ask_by_api
from tasks.models.judge_cli import ask_by_cli
from tasks.system.environment import agent_environment, ours
from tasks.system.process import never
from tasks.system.secrets import redact, register_credentials, without_secrets

_SLACK = 1.0  # seconds that the way's own limit comes after ours, so that it is always ours that is told


class LateAnswer(TransientError):  # noqa: N818 - what happened, as in BrokenFile
    """No answer in time. What was sent by then is paid for all the same, so it is charged."""

    def __init__(self, limit: float, usage: Usage, key: str) -> None:
        """Nobody counted the tokens: `usage` is an estimate of the question alone, and says so."""
        self.usage = usage
        expected = f"an answer within {limit:g} s ({key})"
        found = f"none; its question is charged, by estimate {usage.tokens:,} tokens"
        super().__init__("the model did not answer in time", expected=expected, found=found)


def ask(
    question: Question,
    *,
    config: LoopConfig,
    credentials: Mapping[str, str],
    tag: str,
    stop: Callable[[], bool] = never,
    judging: bool = False,
) -> Answer:
    """The answer, unread but free of our secrets, with its usage. It takes `prompt.timeout_seconds` at most.

    `judging`: asked of the judge's model, for `judge.timeout_seconds`.
    `credentials` are variables on top of the environment's own. No other process may carry `tag` meanwhile.
    Raises OperatorError, TransientError (Late where the time is over), Cancelled.
    """
    register_credentials(credentials)
    key = "judge.timeout_seconds" if judging else "prompt.timeout_seconds"
    config = _as_judge(config) if judging else config
    limit = config.prompt.timeout_seconds
    late = time.monotonic() + limit
    environment = {**agent_environment(ours(), config.claude.environment), **credentials}
    question = without_secrets(question)
    try:
        answer = _answer(question, config, environment, tag, lambda: stop() or time.monotonic() > late)
    except Cancelled as cancelled:
        if stop():
            raise
        raise LateAnswer(limit, _question_alone(question, config), key) from cancelled
    return Answer(redact(answer.text), answer.stop, answer.usage)


def writing_model(config: LoopConfig) -> str:
    """The model that is asked."""
    return config.prompt.model or config.judge.model


def _as_judge(config: LoopConfig) -> LoopConfig:
    given = {"model": config.judge.model, "timeout_seconds": config.judge.timeout_seconds}
    return config.model_copy(update={"prompt": config.prompt.model_copy(update=given)})


def _question_alone(question: Question, config: LoopConfig) -> Usage:
    """What reading the question costs at least, by an estimate of its tokens; thinking and answer are left out."""
    request = _request(question)
    return priced(Usage(input_tokens=tokens(f"{request.rules}\n{request.prompt}")), writing_model(config))


def _answer(question: Question, config: LoopConfig, environment: Mapping[str, str], tag: str, stop: Callable[[], bool]) -> Answer:
    request, how = _request(question), _how(config)
    if way_of(config.judge, environment) == "api":
        return ask_by_api(request, how, environment=environment, stop=stop)
    return ask_by_cli(request, how, claude=config.claude, environment=environment, tag=tag, stop=stop)


def _request(question: Question) -> JudgeRequest:
    return JudgeRequest(
        rules=question.rules,
        rubric=question.task,
        sources=question.facts,
        evidence=question.closing,
        schema=question.form,
        view=View("", {}),
    )


def _how(config: LoopConfig) -> JudgeConfig:
    given = {"model": writing_model(config), "timeout_seconds": config.prompt.timeout_seconds + _SLACK}
    return config.judge.model_copy(update=given)
