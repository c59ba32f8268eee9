"""The frame around an alignment that is being made: held by one process, drafted, asked for, written down, and ended.

All that is agreed so far stands in the file, which is written after every step. Whatever dies, the next run goes on from there.
"""

import logging
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import TerminationSignal

from helmsman.errors import Cancelled, TransientError
from helmsman.orient.alignment import align_question, by_template, read_proposal, settled
from helmsman.records.alignment import ROUNDS, Alignment, AlignRequest, Made, result_of
from helmsman.render.lines import aligned_lines
from tasks.alignment import aligning
from tasks.alignment.aligning import Work
from tasks.alignment.config import configured
from tasks.alignment.people import UnansweredError, answered
from tasks.alignment.steps import ask, gather
from tasks.engine.runs import EndState, driving_run
from tasks.engine.step import with_retries
from tasks.loop.alignment_file import read_alignment, with_kept
from tasks.repository.git import open_repository
from tasks.system.environment import refuse_nested
from tasks.system.lock import exclusive_folder
from tasks.system.process import end_tagged

TRIES = 2  # answers that are asked for in one round; the second time the model is told what was wrong with the first
RETRIES_BEFORE_A_PERSON = 2
"""Where the run does not pause for people, somebody waits for it: it does not bridge half an hour of outage then."""


class LeftOpen(Exception):  # noqa: N818 - what a person chose, not a failure
    """Questions were left open in a form: the run ends, and asks them again when it is retried."""


STOPPED = (LeftOpen, UnansweredError, Cancelled, KeyboardInterrupt, TerminationSignal)
"""What ends the flow without being an error."""

_log = logging.getLogger(__name__)


@contextmanager
def making(request: AlignRequest) -> Generator[Work]:
    """Hold the alignment while the block runs. Raises OperatorError where it cannot be made, or is made already."""
    refuse_nested()
    repository = aligning.with_checkout(open_repository(Path(request.repository)))
    config = configured(request)
    folder = aligning.align_folder(repository, request.out)
    with ExitStack() as stack:
        stack.enter_context(exclusive_folder(folder, f"the alignment {request.out}", "wait for it, or end that process"))
        work = Work(repository, config, request.out, aligning.attempt_id(folder, config.goal), asks=request.ask)
        end_tagged(f"align-{work.uid}/", prefix=True)
        marks = {"helmsman", "align", f"loop:{work.name}", f"uid:{work.uid}"}
        stack.enter_context(driving_run(work.name, work.uid, marks, folder.cancel))
        yield work


def concluded(work: Work, why: BaseException | None = None) -> State[dict[str, Any]]:
    """How the flow run ends. Whoever cancelled it goes on with what is paid for; every other end is one."""
    why = None if isinstance(why, LeftOpen) else why
    found = aligning.present(work) if why is None else aligning.readable(work)
    alignment = found or Alignment(goal=work.goal)
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
    return EndState(type=kind, name=name, message=" ".join(aligned_lines(result)), data=result.model_dump(mode="json"))


def started(work: Work) -> Alignment:
    """What stands in the file; where there is none, what a model says first, with what loops left behind the one before it."""
    present = aligning.present(work)
    if present is not None:
        return present
    drafted, replaced = _drafted(work, None), read_alignment(work.path)
    if replaced is not None and not drafted.more:
        drafted = drafted.model_copy(update={"more": with_kept(work.repository, work.file, replaced).more})
    return _written(work, drafted, over=None)


def advanced(work: Work, alignment: Alignment) -> Alignment:
    """One step further: people are asked, or their answers worked in. Raises LeftOpen, UnansweredError, Cancelled."""
    if alignment.due == "answers":
        after = _written(work, answered(work, alignment), over=alignment)
        if after.open:
            raise LeftOpen
        return after
    enough = alignment.made.round >= ROUNDS
    folded = settled(alignment, f"a model has been asked {ROUNDS} times") if enough else _drafted(work, alignment)
    return _written(work, folded, over=alignment)


def _drafted(work: Work, before: Alignment | None) -> Alignment:
    """By a model. Without one, by the template or as it was, with the reason."""
    facts, made = gather(work), before.made if before else Made()
    number, cost, complaint, retry = made.round + 1, made.cost_usd, "", work.config.retry
    if not work.asks:
        retry = retry.model_copy(update={"attempts": min(retry.attempts, RETRIES_BEFORE_A_PERSON)})
    for attempt in range(1, TRIES + 1):
        question = align_question(work.goal, facts, before, complaint)
        try:
            reply = with_retries(ask, retry)(work, question, number, attempt)
        except TransientError as away:
            # without the judge's remedies: the way is the judge's, the work is not
            parts = away.problem.replace("the judge", "the model"), away.expected, away.found
            complaint = f"no model could be asked: {'; '.join(filter(None, parts))}"
            break
        cost += reply.usage.cost_usd
        found = read_proposal(reply, work.goal, before)
        if isinstance(found, Alignment):
            by = Made(by="model", model=work.config.judge.model[:200], round=number, commit=facts.commit, cost_usd=cost)
            return found.model_copy(update={"made": by})
        complaint = found
    without = settled(before, complaint) if before else by_template(work.goal, facts, complaint)
    return without.model_copy(update={"made": without.made.model_copy(update={"round": number, "cost_usd": cost})})


def _written(work: Work, alignment: Alignment, over: Alignment | None) -> Alignment:
    kept = aligning.put(work, alignment, over)
    if kept is not None:
        _log.warning("%s had been changed meanwhile; what stood there is kept in %s", work.file, kept)
    return alignment
