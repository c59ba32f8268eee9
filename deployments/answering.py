"""`helmsman approve`, `reject`, `answer`: answering the question that a loop asks, from any terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deployments.align.named import loop_that_asks
from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, WorldError
from helmsman.layers import from_assignments
from helmsman.oversee.answers import answer_of, answered, lapsed
from helmsman.records.forms import form_for, read_form
from helmsman.records.gates import Answer, Choice, Gate
from helmsman.records.state import LoopState
from helmsman.render import gate_lines
from tasks.engine.embedded import configured_api
from tasks.lock import holder
from tasks.loops.opening import now_utc
from tasks.people import answer_box
from tasks.places import loop_folder
from tasks.processes.environment import ours
from tasks.repository.git import Repository, open_repository


def answer_loop(
    repo: Path, loop: str, choice: str | None, *, guidance: str, settings: tuple[str, ...], by: str, as_json: bool
) -> int:
    """Answer the open question of a loop, or show it where no choice is given."""
    repository = open_repository(repo)
    state = loop_that_asks(repo, repository, loop)
    gate = _open_gate(state)
    if choice is None:
        print(gate.model_dump_json() if as_json else "\n".join(gate_lines(gate, loop)))
        return 0
    given: dict[str, Any] = {
        "decision": choice,
        "guidance": guidance,
        "settings": "\n".join(settings),
        "by": by or ours().get("USER", ""),
    }
    answer = _valid(state, gate, given)
    if not answer_box.put(loop_folder(repository, loop).answers, state.uid, answer):
        raise OperatorError(
            f"the question of loop {loop} has an answer already",
            found=_first(repository, state, gate),
            remedy=f"helmsman status {loop}",
        )
    print(answer.model_dump_json() if as_json else _told(repository, state, gate, answer))
    return 0


def rejection(repo: Path, loop: str) -> Choice:
    """What a rejection comes to: another try where the question offers one, else the end."""
    gate = _open_gate(loop_that_asks(repo, open_repository(repo), loop))
    return Choice.REVISE if Choice.REVISE in gate.choices else Choice.STOP


def waits_for_answer(repository: Repository, state: LoopState, config: LoopConfig) -> bool:
    """Whether a driver would find the question as open as it is: it does not ask, and nobody and no lapse of time has answered.

    What was said in a tracker only a driver hears.
    """
    gate = state.gate
    if gate is None or config.gates.ask or config.tracker.kind:
        return False
    known = answer_box.find(loop_folder(repository, state.loop).answers, state.uid, gate.key)
    return known is None and lapsed(gate, now_utc()) is None


def _open_gate(state: LoopState) -> Gate:
    if state.gate is None:
        raise OperatorError(f"loop {state.loop} asks nothing", remedy=f"helmsman status {state.loop} shows how it stands")
    return state.gate


def _valid(state: LoopState, gate: Gate, given: Mapping[str, Any]) -> Answer:
    """The answer, once it is certain that it can be followed. Raises OperatorError with the field or key named."""
    from_assignments(str(given["settings"]).splitlines())
    answer = answer_of(state, gate, read_form(gate, given), via="command line", now=now_utc())
    answered(state, answer, now_utc())
    return answer


def _first(repository: Repository, state: LoopState, gate: Gate) -> str:
    found = answer_box.seen(loop_folder(repository, state.loop).answers, state.uid, gate.key)
    return f"{found.choice} by {found.by or found.via} at {found.at:%Y-%m-%d %H:%M} UTC" if found else "one that cannot be read"


def _told(repository: Repository, state: LoopState, gate: Gate, answer: Answer) -> str:
    effect = f"{answer.choice}: {gate.choices[answer.choice]}"
    if holder(loop_folder(repository, state.loop).lock) is not None:
        return f"{effect}\nIts driver goes on with that within seconds; look with: helmsman watch {state.loop}"
    try:
        if _a_worker_goes_on(state, gate, answer):
            return f"{effect}\nA worker goes on with that; look with: helmsman watch {state.loop}"
    except WorldError as error:
        return (
            f"{effect}\nThe answer is kept, but {error}\nThe loop takes it when it is driven again: helmsman resume {state.loop}"
        )
    return f"{effect}\nNobody drives the loop now. Go on with: helmsman resume {state.loop}"


def _a_worker_goes_on(state: LoopState, gate: Gate, answer: Answer) -> bool:
    """Wake the run that left its process while it waits, where a server is configured that may know of one."""
    if configured_api(ours()) is None:
        return False
    from tasks.people.pausing import resume_paused, stand_in

    return resume_paused(state.uid, stand_in(form_for(gate), answer.choice), answer.at)
