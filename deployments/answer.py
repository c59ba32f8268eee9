"""Answer a loop's question from any terminal, and stop a loop that another process drives."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from deployments.choosing import continue_text, is_group
from deployments.output import print_result
from helmsman.config import LoopConfig
from helmsman.config.layers import display, from_assignments
from helmsman.errors import OperatorError, TransientError
from helmsman.oversee.answers import answer_from_form, apply_answer, timeout_answer
from helmsman.records.forms import form_for, read_form
from helmsman.records.gates import Answer, Choice, Gate
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.gate import gate_lines
from helmsman.render.lines import next_lines
from tasks.approvals import answers
from tasks.engine.embedded import configured_api
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import group_folder, loop_folder
from tasks.repository.state_ref import read_state, show_state, state_ref
from tasks.system.environment import own_environment
from tasks.system.lock import holder, process_of

PATIENCE_SECONDS = 10
"""The agent stops within that time; after it, a signal wakes a driver that sleeps between retries."""
LONGEST_SECONDS = 30


def approve(repo: Path, loop: str, **options: Any) -> int:
    return answer(repo, loop, "approve", **options)


def reject(repo: Path, loop: str, **options: Any) -> int:
    """Answer `revise` if the question offers it, else `stop`."""
    gate = _open_gate(read_state(open_repository(repo), loop)[0])
    return answer(repo, loop, Choice.REVISE if Choice.REVISE in gate.choices else Choice.STOP, **options)


def answer(
    repo: Path, loop: str, choice: str | None, *, guidance: str, by: str, as_json: bool, settings: Sequence[str] | None = None
) -> int:
    """Answer the open question of a loop; without a choice, show it."""
    repository = open_repository(repo)
    state = read_state(repository, loop)[0]
    gate = _open_gate(state)
    if choice is None:
        print_result(gate, gate_lines(gate, loop), as_json=as_json)
        return 0
    from_assignments(settings or ())  # raises OperatorError, like the two calls below, before anything is stored
    if choice not in gate.choices:
        expected = f"one of: {', '.join(gate.choices)}"
        remedy = f"helmsman answer {loop} shows the effect of each"
        raise OperatorError("the question does not offer this choice", expected=expected, found=display(choice), remedy=remedy)
    by = by or own_environment().get("USER", "")
    given = {"decision": choice, "guidance": guidance, "settings": "\n".join(settings or ()), "by": by}
    reply = answer_from_form(state, gate, read_form(gate, given), via="command line", now=datetime.now(UTC))
    apply_answer(state, reply, datetime.now(UTC))
    first = answers.store_answer(loop_folder(repository, loop).answers, state.uid, reply)
    if first != reply:
        problem, remedy = f"the question of loop {loop} has already been answered", f"helmsman status {loop}"
        existing = f"{first.choice} by {first.by or first.via} at {first.at:%Y-%m-%d %H:%M} UTC" if first else ""
        raise OperatorError(problem, found=existing or "one that cannot be read", remedy=remedy)
    print_result(
        reply, [f"{reply.choice}: {gate.choices[reply.choice]}", _who_continues(repository, state, gate, reply)], as_json=as_json
    )
    return 0


def waits_for_answer(repository: Repository, state: LoopState, config: LoopConfig) -> bool:
    """Whether the question is still open for a driver that does not ask: no answer and no timeout.

    Answers in a tracker are read only by a driver.
    """
    gate = state.gate
    if gate is None or config.gates.ask or config.tracker.kind:
        return False
    reply = answers.find_answer(loop_folder(repository, state.loop).answers, state.uid, gate.key)
    return reply is None and timeout_answer(gate, datetime.now(UTC)) is None


def _open_gate(state: LoopState) -> Gate:
    if state.gate is None:
        raise OperatorError(f"loop {state.loop} has no open question", remedy=f"helmsman status {state.loop} shows its state")
    return state.gate


def _who_continues(repository: Repository, state: LoopState, gate: Gate, answer: Answer) -> str:
    """Text about who handles the answer. Resumes a suspended run if the server has one."""
    if holder(loop_folder(repository, state.loop).lock) is not None:
        return f"Its driver continues with it within seconds; watch it: helmsman watch {state.loop}"
    try:
        if configured_api(own_environment()) is not None:
            from tasks.approvals.pause import placeholder_input, resume_paused

            if resume_paused(state.uid, placeholder_input(form_for(gate.kind), answer.choice), answer.at):
                return f"A worker continues with it; watch it: helmsman watch {state.loop}"
    except TransientError as error:
        again = f"The loop uses it once it is resumed: {continue_text(repository, state.loop)}"
        return f"The answer is stored, but {error}\n{again}"
    return f"No process drives the loop now. To continue: {continue_text(repository, state.loop)}"


def cancel_loop(repo: Path, loop: str, *, as_json: bool) -> int:
    """Ask the driver of a loop or group to stop, wait for it, and print the state."""
    repository = open_repository(repo)
    group = is_group(repository, loop)
    if not group:
        show_state(repository, loop)  # raises if there is none; stopping needs no verified state
    folder = group_folder(repository, loop) if group else loop_folder(repository, loop)
    was_driven = holder(folder.lock) is not None
    if was_driven:
        folder.cancel.touch()
        started_at, is_signalled = time.monotonic(), False
        while holder(folder.lock) is not None and (waited := time.monotonic() - started_at) < LONGEST_SECONDS:
            if not is_signalled and waited > PATIENCE_SECONDS:
                with suppress(psutil.Error):  # it may just have ended, or belong to another user
                    if driver := process_of(folder.lock):
                        driver.send_signal(signal.SIGINT)
                is_signalled = True
            time.sleep(0.1)
    is_driven = holder(folder.lock) is not None
    lines = [_cancel_text(loop, group=group, was_driven=was_driven, is_driven=is_driven)]
    if group:
        print_result({"group": loop, "driven": is_driven}, lines, as_json=as_json)
    else:
        shown = show_state(repository, loop)
        result = result_of(shown.state, state_ref(loop), shown.unverified)
        steps = () if is_driven else next_lines(result, shown.state.gate, continue_text(repository, loop))
        print_result(result, [*lines, *steps], as_json=as_json)
    return 1 if is_driven else 0


def _cancel_text(name: str, *, group: bool, was_driven: bool, is_driven: bool) -> str:
    subject = f"group {name}" if group else f"loop {name}"
    if not was_driven:
        return f"{subject} is not running; there is nothing to cancel"
    if is_driven:
        return (
            f"{subject} was asked to stop and is still running{'. Its loops' if group else '; look with'}: helmsman status {name}"
        )
    if group:
        return f"{subject} has stopped; run the command that started it again to continue. Its loops: helmsman status {name}"
    return f"{subject} has stopped; its work is kept"
