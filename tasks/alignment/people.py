"""Asking people what an alignment has left open: by a form on the paused run, or by the file itself. What comes first counts."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from helmsman.errors import OperatorError
from helmsman.orient.alignment import with_answers
from helmsman.oversee.answers import lapsed, refusal
from helmsman.records.alignment import Alignment, Asked
from helmsman.records.forms import answers_form, read_answers
from helmsman.records.gates import Choice, Gate
from helmsman.render.gate import form_text
from helmsman.render.templating import render_markdown
from tasks.alignment import aligning
from tasks.alignment.aligning import Work
from tasks.alignment.steps import open_gate
from tasks.approvals import pause
from tasks.engine.runs import is_under_a_worker
from tasks.system.clock import now_utc


class UnansweredError(Exception):
    """Nobody answered in time."""


def answered(work: Work, alignment: Alignment) -> Alignment:
    """With answers to what is open: all, from the file, or as much as a form answers. Raises UnansweredError and Cancelled."""
    questions = alignment.open  # the key says which: an answer to others is none to these
    fingerprint = hashlib.sha256("\n".join(questions).encode(errors="replace")).hexdigest()[:8]
    gate = open_gate(work, f"questions-{alignment.made.round}-{fingerprint}", questions)
    seen = render_markdown("questions", alignment=alignment, file=str(work.path))
    gate = gate.model_copy(update={"evidence": seen})
    form = answers_form(gate.questions)
    after, problem = _from_file(work, gate), ""
    earlier = pause.earlier_inputs(work.uid, gate.key) if after is None else ()
    for given in earlier:
        after, why = _from_form(work, alignment, gate, given)
        problem = "" if after is not None else problem or why  # of all that cannot be taken, what is wrong with the newest
        if after is not None:
            break
    while True:
        if problem:
            pause.warn_not_taken(problem)
        if after is not None:
            return after
        gate = gate.model_copy(update={"refused": problem})
        if lapsed(gate, now_utc()):
            raise UnansweredError("nobody answered in time")
        description = form_text(gate, gate.evidence)
        if is_under_a_worker():
            pause.suspend(gate, form, description)
        given = pause.pause(gate.key, form, description, _waker(work, gate))
        after, problem = _from_form(work, alignment, gate, given) if given is not None else (_from_file(work, gate), "")


def _from_file(work: Work, gate: Gate) -> Alignment | None:
    """What the file says, once it answers everything."""
    found = aligning.readable(work)
    asked = {Asked(question=one).key for one in gate.questions}
    return found if found is not None and not asked & {Asked(question=one).key for one in found.open} else None


def _from_form(work: Work, alignment: Alignment, gate: Gate, given: Mapping[str, Any]) -> tuple[Alignment | None, str]:
    """The alignment after a filled-in form, or what is wrong with it."""
    try:
        answers = read_answers(gate.questions, given)
        latest = aligning.readable(work)  # somebody may have changed it while the form was open
        return with_answers(latest or alignment, answers), ""
    except OperatorError as error:
        return None, refusal(error)


def _waker(work: Work, gate: Gate) -> Callable[[], str]:
    """What else may end the wait for a form: a cancel, answers in the file, the lapse of time."""

    def wake() -> str:
        if work.folder.cancel.exists():
            return pause.CANCELLED
        if _from_file(work, gate) is not None:
            return Choice.APPROVE
        return Choice.STOP if lapsed(gate, now_utc()) else ""

    return wake
