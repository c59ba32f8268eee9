"""The run of an alignment: lock it, draft it, ask people, write the file, and end the flow run.

The file has everything agreed on so far and is written after every step, so the next run continues there after a crash.
"""

import hashlib
import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.client.schemas.objects import State, StateType
from prefect.context import TaskRunContext
from prefect.exceptions import TerminationSignal

from helmsman.errors import Cancelled, OperatorError, TransientError
from helmsman.orient.alignment import add_answers, align_question, close_questions, read_proposal, template_alignment
from helmsman.oversee.answers import rejection_reason, timeout_answer
from helmsman.records.alignment import ROUNDS, Alignment, AlignRequest, Origin, RepositoryFacts, result_of
from helmsman.records.base import Reply
from helmsman.records.forms import answers_form, read_answers
from helmsman.records.gates import Choice, Gate, GateKind
from helmsman.records.iteration import Question
from helmsman.render.gate import form_text
from helmsman.render.lines import alignment_lines
from helmsman.render.templating import render_markdown
from tasks.alignment import aligning
from tasks.alignment.aligning import Work, configure_alignment
from tasks.approvals import pause
from tasks.checks.project import gather_facts
from tasks.credentials import judge_credentials
from tasks.engine.runs import EndState, driving_run
from tasks.engine.step import Step, with_retries
from tasks.loop.alignment_file import read_alignment, with_stored_handoffs
from tasks.models.asking import LateAnswer
from tasks.models.asking import ask as ask_model
from tasks.models.sending import WRITING_SECONDS, CallSettings
from tasks.repository.git import open_repository
from tasks.system.environment import refuse_nested
from tasks.system.lock import exclusive_folder
from tasks.system.process import end_tagged

P = ParamSpec("P")
R = TypeVar("R")
THOUGHT_SECONDS = 3 * WRITING_SECONDS  # limit for one answer: it reads and writes more than a focus
TRIES = 2  # answers per round; the second question says what was wrong with the first answer
RETRIES_BEFORE_A_PERSON = 2
"""Retries of a run that does not pause for people: a person waits for it, so it does not wait out a long outage."""


class QuestionsLeftOpen(Exception):  # noqa: N818 - a person's choice, not a failure
    """A person left questions open in a form: the run ends, and asks them again when it is retried."""


class UnansweredError(Exception):
    """No answer came in time."""


STOPPED = (QuestionsLeftOpen, UnansweredError, Cancelled, KeyboardInterrupt, TerminationSignal)
"""Exceptions that end the flow without being an error."""

_log = logging.getLogger(__name__)


def _cache_key(run: TaskRunContext, inputs: dict[str, Any]) -> str:
    """The key of a result, by value. Its fields, with their reasons.

    uid      a new attempt needs a new answer, and two repositories may have the same goal
    step     two steps may have equal arguments
    values   the whole question and the attempt: an answer belongs to this exact text
    """
    values = repr({name: value for name, value in inputs.items() if name != "work"})
    digest = hashlib.sha256(values.encode(errors="replace")).hexdigest()[:20]
    return f"helmsman-align-{inputs['work'].uid}-{run.task.name}-{digest}"


def _step(name: str) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A task with the function's name, whose runs are shown by the given name."""
    policy = CachePolicy.from_cache_key_fn(_cache_key)
    options: dict[str, Any] = {"persist_result": True, "result_serializer": "json", "cache_policy": policy}
    return lambda function: Step(function, name=function.__name__, task_run_name=name, **options)


@_step("gather")
def gather(work: Work) -> RepositoryFacts:
    return gather_facts(work.repository, work.config)


@_step("ask, round {number}")
def ask(work: Work, question: Question, number: int, attempt: int) -> Reply:
    """A model's unparsed answer. A late one is charged and not asked for again automatically."""
    config, tag = work.config, f"align-{work.uid}/{number}-{attempt}"
    asking = CallSettings(config, lambda: judge_credentials(config), tag, work.folder.cancel.exists, THOUGHT_SECONDS)
    try:
        return ask_model(asking, question)
    except LateAnswer as late:
        return Reply(text="", stop="late", usage=late.usage)


@_step("open {key}")
def open_gate(work: Work, key: str, questions: tuple[str, ...]) -> Gate:
    """Open the gate for these questions, once: its deadline is unaffected by crashes."""
    gates, now = work.config.gates, datetime.now(UTC)
    return Gate(
        key=key,
        kind=GateKind.QUESTIONS,
        question="Before a loop starts, these questions need an answer.",
        questions=questions,
        asked_at=now,
        deadline=now + timedelta(hours=gates.timeout_hours),
    )


@contextmanager
def exclusive_alignment(request: AlignRequest) -> Generator[Work]:
    """Lock the alignment while the block runs. Raises OperatorError where it cannot run, or already runs."""
    refuse_nested()
    repository = aligning.require_worktree(open_repository(Path(request.repository)))
    config = configure_alignment(request)
    folder = aligning.align_folder(repository, request.out)
    with ExitStack() as stack:
        stack.enter_context(exclusive_folder(folder, f"the alignment {request.out}", "wait for it, or end that process"))
        work = Work(repository, config, request.out, aligning.attempt_id(folder, config.goal), asks=request.ask)
        end_tagged(f"align-{work.uid}/", prefix=True)
        tags = {"helmsman", "align", f"loop:{work.name}", f"uid:{work.uid}"}
        stack.enter_context(driving_run(work.name, work.uid, tags, folder.cancel))
        yield work


def final_state(work: Work, why: BaseException | None = None) -> State[dict[str, Any]]:
    """The final state of the flow run. After a cancel the next run reuses paid answers; every other end is final."""
    why = None if isinstance(why, QuestionsLeftOpen) else why
    alignment_in_file = aligning.current_alignment(work) if why is None else aligning.current_alignment_if_readable(work)
    alignment = alignment_in_file or Alignment(goal=work.goal)
    if why is None:
        result = result_of(alignment, work.file)
        kind, name = (StateType.FAILED, "Waiting") if result.questions else (StateType.COMPLETED, "Aligned")
    elif isinstance(why, UnansweredError):
        kind, name, result = StateType.FAILED, "Stopped", result_of(alignment, work.file, "stopped", str(why))
    else:
        kind, name = StateType.CANCELLED, "Cancelled"
        result = result_of(alignment, work.file, "cancelled", str(why) or "interrupted by a signal")
    if kind is not StateType.CANCELLED:
        work.folder.attempt.unlink(missing_ok=True)
    return EndState(type=kind, name=name, message=" ".join(alignment_lines(result)), data=result.model_dump(mode="json"))


def start_alignment(work: Work) -> Alignment:
    """The alignment in the file, or a model's first draft, with the handoffs of an alignment that it replaces."""
    present = aligning.current_alignment(work)
    if present is not None:
        return present
    draft, replaced = _draft(work, None), read_alignment(work.path)
    if replaced is not None and not draft.more:
        draft = draft.model_copy(update={"more": with_stored_handoffs(work.repository, work.file, replaced).more})
    return _write(work, draft, over=None)


def advance_alignment(work: Work, alignment: Alignment) -> Alignment:
    """The alignment after the next step: asking people, or a draft with their answers.

    Raises LeftOpen, UnansweredError, Cancelled.
    """
    if alignment.due == "answers":
        after = _write(work, ask_people(work, alignment), over=alignment)
        if after.open:
            raise QuestionsLeftOpen
        return after
    is_last_round = alignment.made.round >= ROUNDS
    revised = close_questions(alignment, f"a model has been asked {ROUNDS} times") if is_last_round else _draft(work, alignment)
    return _write(work, revised, over=alignment)


def _draft(work: Work, before: Alignment | None) -> Alignment:
    """A model's draft; without a model, the template or the earlier alignment, with the reason."""
    facts, last = gather(work), before.made if before else Origin()
    number, cost, problem, retry = last.round + 1, last.cost_usd, "", work.config.retry
    if not work.asks:
        retry = retry.model_copy(update={"attempts": min(retry.attempts, RETRIES_BEFORE_A_PERSON)})
    for attempt in range(1, TRIES + 1):
        question = align_question(work.goal, facts, before, problem)
        try:
            reply = with_retries(ask, retry)(work, question, number, attempt)
        except TransientError as error:
            # reached like the judge, but the judge's remedies do not apply
            parts = error.problem.replace("the judge", "the model"), error.expected, error.found
            problem = f"no model could be asked: {'; '.join(filter(None, parts))}"
            break
        cost += reply.usage.cost_usd
        proposal = read_proposal(reply, work.goal, before)
        if isinstance(proposal, Alignment):
            by = Origin(by="model", model=work.config.judge.model[:200], round=number, commit=facts.commit, cost_usd=cost)
            return proposal.model_copy(update={"made": by})
        problem = proposal
    fallback = close_questions(before, problem) if before else template_alignment(work.goal, facts, problem)
    return fallback.model_copy(update={"made": fallback.made.model_copy(update={"round": number, "cost_usd": cost})})


def _write(work: Work, alignment: Alignment, over: Alignment | None) -> Alignment:
    """Write the file, logging where an unexpected earlier content is stored."""
    backup = aligning.replace_alignment(work, alignment, over)
    if backup is not None:
        _log.warning("%s was changed in the meantime; its earlier content is kept in %s", work.file, backup)
    return alignment


def ask_people(work: Work, alignment: Alignment) -> Alignment:
    """The alignment with a form's answers to the open questions. Raises UnansweredError and Cancelled."""
    questions = alignment.open  # the gate's key identifies them, so answers to other questions do not count
    fingerprint = hashlib.sha256("\n".join(questions).encode(errors="replace")).hexdigest()[:8]
    gate = open_gate(work, f"questions-{alignment.made.round}-{fingerprint}", questions)
    page = render_markdown("questions", alignment=alignment, file=str(work.path))
    form, problem, submitted = answers_form(gate.questions), "", pause.earlier_inputs(work.uid, gate.key)
    while True:
        for given in submitted:
            after, why = _read_form(work, alignment, gate, given)
            if after is not None:
                return after
            problem = problem or why  # the problem of the newest rejected answer
        if timeout_answer(gate, datetime.now(UTC)):
            raise UnansweredError("nobody answered in time")
        if problem:
            pause.warn_rejected(problem)
        gate = gate.model_copy(update={"refused": problem, "evidence": page})
        given = pause.pause(gate, form, form_text(gate, page), partial(_wake, work, gate))
        submitted, problem = [] if given is None else [given], ""


def _read_form(work: Work, alignment: Alignment, gate: Gate, given: Mapping[str, Any]) -> tuple[Alignment | None, str]:
    """The alignment with a form's answers, or None and the problem with the form."""
    try:
        answers = read_answers(gate.questions, given)
        latest = aligning.current_alignment_if_readable(work)  # a person may have edited it while the form was open
        return add_answers(latest or alignment, answers), ""
    except OperatorError as error:
        return None, rejection_reason(error)


def _wake(work: Work, gate: Gate) -> str:
    """What ends the wait for a form: a cancel, or the deadline."""
    if work.folder.cancel.exists():
        return pause.CANCELLED
    return Choice.STOP if timeout_answer(gate, datetime.now(UTC)) else ""
