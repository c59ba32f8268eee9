"""The steps of an alignment as Prefect tasks, under keys by value: an answer of a model is never paid for twice."""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext

from helmsman.records.alignment import RepositoryFacts
from helmsman.records.base import Reply
from helmsman.records.gates import Gate, GateKind
from helmsman.records.iteration import Question
from tasks.alignment import aligning
from tasks.alignment.aligning import Work
from tasks.checks.repository_facts import gather_facts
from tasks.credentials import judge_credentials
from tasks.engine.step import Step
from tasks.system.clock import now_utc

P = ParamSpec("P")
R = TypeVar("R")


def _by_value(run: TaskRunContext, inputs: dict[str, Any]) -> str:
    """The key of a result, by value. Its fields, argued.

    uid      whoever begins anew wants another answer, and two repositories may have the same goal
    step     two steps may have equal arguments
    values   all that is asked, and which try it is: an answer is one to these words
    """
    values = repr({name: value for name, value in inputs.items() if name != "work"})
    digest = hashlib.sha256(values.encode(errors="replace")).hexdigest()[:20]
    return f"helmsman-align-{inputs['work'].uid}-{run.task.name}-{digest}"


def _step(name: str) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A task that is called like the function, and shown by that name."""
    policy = CachePolicy.from_cache_key_fn(_by_value)
    options: dict[str, Any] = {"persist_result": True, "result_serializer": "json", "cache_policy": policy}
    return lambda function: Step(function, name=function.__name__, task_run_name=name, **options)


@_step("gather")
def gather(work: Work) -> RepositoryFacts:
    return gather_facts(work.repository, work.config)


@_step("ask, round {number}")
def ask(work: Work, question: Question, number: int, attempt: int) -> Reply:
    credentials, tag = judge_credentials(work.config), f"align-{work.uid}/{number}-{attempt}"
    return aligning.propose(question, work.config, credentials=credentials, tag=tag, stop=work.folder.cancel.exists)


@_step("open {key}")
def open_gate(work: Work, key: str, questions: tuple[str, ...]) -> Gate:
    """Once for these questions: the time to answer them runs on whatever dies meanwhile."""
    gates, now = work.config.gates, now_utc()
    return Gate(
        key=key,
        kind=GateKind.QUESTIONS,
        question="Before a loop starts, this has to be known.",
        questions=questions,
        asked_at=now,
        deadline=now + timedelta(hours=gates.timeout_hours),
    )
