"""Answering the question that a loop asks, from any terminal, and stopping a loop that another process drives."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from deployments.choosing import is_group
from deployments.output import answer as put_out
from helmsman.config import LoopConfig
from helmsman.config.layers import from_assignments
from helmsman.errors import OperatorError, TransientError
from helmsman.oversee.answers import answer_of, answered, lapsed
from helmsman.records.forms import form_for, read_form
from helmsman.records.gates import Answer, Choice, Gate
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.gate import gate_lines
from tasks.approvals import answers
from tasks.engine.embedded import configured_api
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import group_folder, loop_folder
from tasks.repository.state_ref import read_state, show_state, state_ref
from tasks.system.clock import now_utc
from tasks.system.environment import ours
from tasks.system.lock import holder, process_of

PATIENCE_SECONDS = 10
"""The agent is stopped within that time; a driver that sleeps between two retries is woken by a signal then."""
LONGEST_SECONDS = 30


def approve(repo: Path, loop: str, **said: Any) -> int:
    return answer(repo, loop, "approve", **said)


def reject(repo: Path, loop: str, **said: Any) -> int:
    """Another try where the question offers one, else the end."""
    gate = _open_gate(read_state(open_repository(repo), loop)[0])
    return answer(repo, loop, Choice.REVISE if Choice.REVISE in gate.choices else Choice.STOP, **said)


def answer(
    repo: Path, loop: str, choice: str | None, *, guidance: str, by: str, as_json: bool, settings: Sequence[str] | None = None
) -> int:
    """Answer the open question of a loop, or show it where no choice is given."""
    repository = open_repository(repo)
    state = read_state(repository, loop)[0]
    gate = _open_gate(state)
    if choice is None:
        put_out(gate, gate_lines(gate, loop), as_json=as_json)
        return 0
    from_assignments(settings or ())  # raises OperatorError with the key named, as the two below: before anything is kept
    by = by or ours().get("USER", "")
    given = {"decision": choice, "guidance": guidance, "settings": "\n".join(settings or ()), "by": by}
    told = answer_of(state, gate, read_form(gate, given), via="command line", now=now_utc())
    answered(state, told, now_utc())
    first = answers.put(loop_folder(repository, loop).answers, state.uid, told)
    if first != told:
        what, remedy = f"the question of loop {loop} has an answer already", f"helmsman status {loop}"
        known = f"{first.choice} by {first.by or first.via} at {first.at:%Y-%m-%d %H:%M} UTC" if first else ""
        raise OperatorError(what, found=known or "one that cannot be read", remedy=remedy)
    put_out(told, [f"{told.choice}: {gate.choices[told.choice]}", _who_goes_on(repository, state, gate, told)], as_json=as_json)
    return 0


def waits_for_answer(repository: Repository, state: LoopState, config: LoopConfig) -> bool:
    """Whether a driver would find the question as open as it is: it does not ask, and nobody and no lapse of time has answered.

    What was said in a tracker only a driver hears.
    """
    gate = state.gate
    if gate is None or config.gates.ask or config.tracker.kind:
        return False
    known = answers.find(loop_folder(repository, state.loop).answers, state.uid, gate.key)
    return known is None and lapsed(gate, now_utc()) is None


def _open_gate(state: LoopState) -> Gate:
    if state.gate is None:
        raise OperatorError(f"loop {state.loop} asks nothing", remedy=f"helmsman status {state.loop} shows how it stands")
    return state.gate


def _who_goes_on(repository: Repository, state: LoopState, gate: Gate, answer: Answer) -> str:
    """Who takes the answer. A run that left its process while it waits is woken, where the server knows of one."""
    if holder(loop_folder(repository, state.loop).lock) is not None:
        return f"Its driver goes on with that within seconds; look with: helmsman watch {state.loop}"
    try:
        if configured_api(ours()) is not None:
            from tasks.approvals.pause import resume_paused, stand_in

            if resume_paused(state.uid, stand_in(form_for(gate.kind), answer.choice), answer.at):
                return f"A worker goes on with that; look with: helmsman watch {state.loop}"
    except TransientError as error:
        again = f"The loop takes it when it is driven again: helmsman resume {state.loop}"
        return f"The answer is kept, but {error}\n{again}"
    return f"Nobody drives the loop now. Continue with: helmsman resume {state.loop}"


def cancel_loop(repo: Path, loop: str, *, as_json: bool) -> int:
    """Ask the driver of a loop, or of a group with all of its loops, to stop; wait until it has, and say how it stands."""
    repository = open_repository(repo)
    group = is_group(repository, loop)
    if not group:
        show_state(repository, loop)  # raises where there is none; to stop one needs no trust in what its state says
    folder = group_folder(repository, loop) if group else loop_folder(repository, loop)
    was_driven = holder(folder.lock) is not None
    if was_driven:
        folder.cancel.touch()
        begun, woken = time.monotonic(), False
        while holder(folder.lock) is not None and (waited := time.monotonic() - begun) < LONGEST_SECONDS:
            if not woken and waited > PATIENCE_SECONDS:
                with suppress(psutil.Error):  # it may have ended in this moment, or be another user's, who alone may signal it
                    if driver := process_of(folder.lock):
                        driver.send_signal(signal.SIGINT)
                woken = True
            time.sleep(0.1)
    still = holder(folder.lock) is not None
    plain: Any = {"group": loop, "driven": still}
    if not group:
        shown = show_state(repository, loop)
        plain = result_of(shown.state, state_ref(loop), shown.unverified)
    put_out(plain, [_stopped(loop, group=group, was_driven=was_driven, still=still)], as_json=as_json)
    return 1 if still else 0


def _stopped(name: str, *, group: bool, was_driven: bool, still: bool) -> str:
    what = f"group {name}" if group else f"loop {name}"
    if not was_driven:
        return f"nobody drives {what}; there is nothing to cancel"
    if still:
        return f"{what} was asked to stop but has not yet{'. Its loops' if group else '; look with'}: helmsman status {name}"
    if group:
        return f"{what} has stopped; the command that began it goes on with it. Its loops: helmsman status {name}"
    return f"{what} has stopped; its work is kept. Continue with: helmsman resume {name}"
