"""What agent and judge are told: as it was sent, or as it would be sent now. Nothing is written, and no command is run."""

from dataclasses import dataclass
from datetime import datetime

from helmsman.errors import OperatorError
from helmsman.naming import loop_id
from helmsman.orient.brief import brief
from helmsman.records.iteration import Briefing
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, kept
from tasks.agents.catalogue import LoopSettings
from tasks.checks.judging import request_for
from tasks.loop.prepare import facts_at
from tasks.loop.remember import recalled
from tasks.loop.start import state_from_here
from tasks.repository.git import Repository
from tasks.repository.loop_context import LoopContext, loop_folder
from tasks.system.secrets import without_secrets

NAME_END = "0000"  # of a loop that is not there yet; chance makes another one


@dataclass(frozen=True)
class ShownPrompt:
    """What was sent in an iteration, or what would be."""

    loop: str
    iteration: int
    attempt: int
    sent: bool
    briefing: Briefing
    notes: tuple[str, ...] = ()  # what is not in it


def sent_prompt(repository: Repository, state: LoopState, iteration: int, *, judge: bool) -> ShownPrompt:
    """What was sent in an iteration, at its last attempt. Raises OperatorError where nothing is kept of that."""
    folder = loop_folder(repository, state.loop)
    found = (path.name.rpartition("-")[2] for path in folder.calls.glob(f"{folder.call(iteration, 0).name[:-1]}*"))
    for attempt in sorted((int(number) for number in found if number.isdecimal()), reverse=True):
        briefing = kept(CallFolder(folder.call(iteration, attempt), state.uid), judge=judge)
        if briefing is not None:
            return ShownPrompt(state.loop, iteration, attempt, sent=True, briefing=briefing)
    asked = "judge" if judge else "agent"
    raise OperatorError(
        f"nothing is kept here of what the {asked} was sent in iteration {iteration} of loop {state.loop}",
        expected="an iteration in which it was asked, on this machine, by this version or a later one",
        found=f"iterations 1 to {state.iteration}" if state.iteration else "no finished iteration",
        remedy=f"helmsman log {state.loop}",
    )


def due_prompt(repository: Repository, state: LoopState, now: datetime, *, judge: bool) -> ShownPrompt:
    """What the iteration that is due would be sent, or was, where its call has begun."""
    # without a worktree: what is looked at is committed, and an agent may be at work there
    place = LoopContext(repository, repository.common, loop_folder(repository, state.loop))
    if judge:
        if not state.config.judge.criteria:
            raise OperatorError(
                "no judge is asked: there are no criteria",
                expected="judge.criteria, or criteria in RUBRIC.md",
                remedy="leave --judge out, or write criteria: helmsman rubric --help",
            )
        briefing = without_secrets(request_for(place, state).briefing)
        note = "the work as it stands on the branch; the iteration that is due is not in it"
        return ShownPrompt(state.loop, state.due, state.attempt, sent=False, briefing=briefing, notes=(note,))
    begun = kept(CallFolder(place.folder.call(state.due, state.attempt), state.uid), judge=False)
    if begun is not None:
        return ShownPrompt(state.loop, state.due, state.attempt, sent=True, briefing=begun)
    orientation = without_secrets(facts_at(place, state, state.head, recalled(place, state, now, only_look=True), now))
    config, notes = state.config, list[str]()
    if not state.iteration and state.checks is None and config.baseline and config.checks:
        notes.append("the checks run before the first iteration; what fails then stands in its prompt too")
    if config.prompt.written:
        notes.append("a model may be asked before the iteration (prompt.written); what it writes then stands in the prompt too")
    briefing = without_secrets(brief(state, orientation))
    return ShownPrompt(state.loop, state.due, state.attempt, sent=False, briefing=briefing, notes=tuple(notes))


def first_prompt(repository: Repository, resolved: LoopSettings, now: datetime, *, judge: bool) -> ShownPrompt:
    """What the first iteration of a loop would be sent that is started with this configuration."""
    name = loop_id(resolved.config.goal, NAME_END)
    return due_prompt(repository, state_from_here(repository, resolved, name, now), now, judge=judge)
