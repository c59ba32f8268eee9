"""From an event at an issue to what follows: a loop's first state written, a running loop told or stopped; or why nothing does.

Everything is looked at again here, on the machine that runs the loop: whoever reaches the engine can start a run.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import NamedTuple

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, WorldError
from helmsman.issues import OWN_SETTINGS, issue_goal, issue_loop_id
from helmsman.layers import Layer, Resolved
from helmsman.oversee.commands_said import COMMAND, Command, answer_in, command_in
from helmsman.plain import clean
from helmsman.records.forms import form_for
from helmsman.records.gates import Answer, Choice, Gate
from helmsman.records.issue import IssueLink
from helmsman.records.issue_event import Happened, Heeded, IssueEvent
from helmsman.records.push import Nothing
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.render import understood
from helmsman.render.issue import CANCEL, RESUME, TELL, commands, refused
from helmsman.render.markdown_page import code, prose
from tasks.approvals import answers
from tasks.lock import Driven, drive_alone, holder
from tasks.loop.configure import configure
from tasks.loop.recover import close
from tasks.loop.remote_handover import leave_there, take_up
from tasks.loop.start import Begun, first_state, require_budget, write_first
from tasks.places import loop_folder
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.state_ref import Fenced, known_state, read_state
from tasks.system.clock import now_utc
from tasks.tracker.telling import reply, tell_news
from tasks.triggers.pushed_files import laid_out
from tasks.triggers.pushes import fetched, find_repository, require_checks
from tasks.worktrees.workplace import has_left, workplace

Found = LoopRequest | Nothing | Heeded

STOPS_TRIED = 3
"""How often a stop is brought to a loop that somebody drives elsewhere, who may push between our look and our push."""
LONGEST_FOUND = 300
"""Characters of what git says, in a comment that says behind it what to do."""


def heeded(event: IssueEvent, now: datetime, driven: str = "") -> Found:
    """What an event comes to. Raises OperatorError where the configuration is wrong, WorldError where git cannot fetch.

    `driven`: uid of the loop that this very run has driven before, under whatever event; it goes on with that.
    """
    where = find_repository(event.location)
    repository = open_repository(where)
    state = known_state(repository, issue_loop_id(event))
    place = _Place(repository, str(where))
    if state is None:
        if event.happened is not Happened.LABELLED:
            return Nothing(reason=f"{event.what}: no loop was started for it here")
        return _start(place, event, now)
    if state.uid == driven:
        return LoopRequest(repository=place.where, loop=state.loop)
    return _DEEDS[event.happened](place, event, state)


class _Place(NamedTuple):
    repository: Repository
    where: str
    """The repository as the flow is told of it."""


# --- a label ------------------------------------------------------------------------------------------------------


def _go_on(place: _Place, event: IssueEvent, state: LoopState) -> Found:
    """With a loop whose driver died, be it while it brought its result. An end is no reason to begin again."""
    if holder(loop_folder(place.repository, state.loop).lock) is not None:
        return Nothing(reason=f"loop {state.loop} is at work for {event.what} already")
    if state.gate is not None:
        left = _left(place, state, state.gate)
        waits = Nothing(reason=f"loop {state.loop} was started for it before and waits for an answer")
        return _going_on(place, state, state.gate, left) if left else waits
    if state.ending is not None and not _unfinished(place, state):
        return Nothing(reason=f"loop {state.loop} was started for it before and has ended: {state.ending.rule}")
    return LoopRequest(repository=place.where, loop=state.loop)


def _unfinished(place: _Place, state: LoopState) -> bool:
    """Whether a loop that is done died before its result was brought, or could not bring it."""
    undelivered = state.issue is not None and not state.issue.pull_request
    return state.outcome is Outcome.COMPLETED and (undelivered or not has_left(place.where, state))


def _start(place: _Place, event: IssueEvent, now: datetime) -> Found:
    commit = fetched(place.repository, event.branch) or read_ref(place.repository.common, f"refs/heads/{event.branch}")
    if commit is None:
        return Nothing(reason=f"{event.what}: there is no branch {event.branch}")
    resolved = _configured(place.repository, event, commit)
    _require_tracker(resolved.config, event)
    require_checks(resolved.config)
    loop = issue_loop_id(event)
    link = IssueLink(repository=event.full_name, number=event.number, title=event.title)
    begun = Begun(loop, event.branch, commit)
    state = first_state(place.repository, resolved, begun, now).model_copy(update={"issue": link})
    if write_first(place.repository, state, f"start: issue #{event.number} at {commit[:12]}"):
        return LoopRequest(repository=place.where, loop=loop)
    return _go_on(place, event, read_state(place.repository, loop)[0])


def _configured(repository: Repository, event: IssueEvent, commit: str) -> Resolved:
    """What the files of the commit and this machine's environment say, with the issue for its goal."""
    where = f"{event.branch} at {commit[:10]}"
    with laid_out(repository, commit, where, "fix it, push it, and set the label anew") as folder:
        request = LoopRequest(repository=str(folder), goal=issue_goal(event), settings=dict(OWN_SETTINGS))
        return configure(folder, request, consent=None, stronger=[Layer("the receiver's file", event.settings)])


def _require_tracker(config: LoopConfig, event: IssueEvent) -> None:
    tracker = config.tracker
    if tracker.kind == event.source and tracker.repository.casefold() == event.full_name.casefold():
        return
    raise OperatorError(
        "no tracker is configured that the issue is at",
        expected=f'[tracker] with kind = "{event.source}" and repository = "{event.full_name}"',
        found=f"kind = {tracker.kind!r}, repository = {tracker.repository!r}",
        remedy="set it in the receiver's file (docs/issues.md shows it), and set the label anew",
    )


# --- a comment ----------------------------------------------------------------------------------------------------


def _said(place: _Place, event: IssueEvent, state: LoopState) -> Found:
    command = command_in(event.said)
    if command is None:
        return Nothing(reason=f"{event.what}: it says nothing to the loop")
    try:
        told, found = _VERBS.get(command.verb, _answered)(place, event, state, command)
    except WorldError:
        raise
    except HelmsmanError as error:
        told, found = _refused(error, state), Nothing(reason=f"{event.what}: {clean(error.problem)}")
    reply(state, event.comment, told)
    return found


def _told(place: _Place, event: IssueEvent, state: LoopState, command: Command) -> tuple[str, Found]:
    _keep_words(place, event, state, _words(command))
    when = "when the loop goes on" if state.ending or state.gate else "at its start"
    return f"The next iteration is told, {when}.", Heeded(what=f"loop {state.loop} is told what {event.by} says")


def _cancelled(place: _Place, event: IssueEvent, state: LoopState, _: Command) -> tuple[str, Found]:
    found = _stopped(place, event, state, f"{event.by} says so in issue #{event.number}")
    return "The loop stops; its work and its state are kept.", found


def _resumed(place: _Place, event: IssueEvent, state: LoopState, command: Command) -> tuple[str, Found]:
    left = _left(place, state, state.gate) if state.gate else None
    if state.gate is not None and left is None:
        raise OperatorError("the loop waits for an answer", expected="one of its choices")
    if holder(loop_folder(place.repository, state.loop).lock) is not None:
        raise OperatorError("the loop is at work", remedy="`tell` reaches it while it is")
    if state.gate is not None and left is not None:
        if _words(command):
            _keep_words(place, event, state, _words(command))
        return _counts(left), _going_on(place, state, state.gate, left)
    if state.outcome is Outcome.COMPLETED and not _unfinished(place, state):
        raise OperatorError("the loop is done", remedy="open another issue for what is still to be done")
    require_budget(state, state.config)
    if _words(command):
        _keep_words(place, event, state, _words(command))
    return "The loop goes on.", LoopRequest(repository=place.where, loop=state.loop, reopen=True)


def _answered(place: _Place, event: IssueEvent, state: LoopState, command: Command) -> tuple[str, Found]:
    if state.gate is None:
        raise OperatorError("nothing is asked now", found=f"/helmsman {clean(command.verb)}")
    answer = answer_in(command, state, by=event.by, at=event.received_at)
    counts = _heard(place, state, answer)
    told = understood(answer, state.gate) if counts == answer else _counts(counts)
    return told, _going_on(place, state, state.gate, counts)


def _heard(place: _Place, state: LoopState, answer: Answer) -> Answer:
    """Leave an answer, and return the one that counts now: the first, over which whoever brought it may have died.

    A stop comes before one that nobody has read. Raises OperatorError where a driver is about to read another one.
    """
    folder = loop_folder(place.repository, state.loop)
    if answer.choice is Choice.STOP and holder(folder.lock) is None:
        return _stop_left(place, state, answer)
    if answers.put(folder.answers, state.uid, answer):
        return answer
    first = answers.find(folder.answers, state.uid, answer.gate)
    if first is None:
        raise OperatorError("the question has been answered meanwhile", remedy="look again")
    if first != answer and holder(folder.lock) is not None:
        raise OperatorError("the question has an answer already", found=f"{first.choice} by {first.by or first.via}")
    return first


def _stop_left(place: _Place, state: LoopState, answer: Answer) -> Answer:
    folder = loop_folder(place.repository, state.loop)
    with drive_alone(folder.lock, state.loop):
        gate = read_state(place.repository, state.loop)[0].gate
        if gate is None or gate.key != answer.gate:
            raise OperatorError("the question has been answered meanwhile", remedy="`cancel` stops the loop")
        answers.replace(folder.answers, state.uid, answer)
    return answer


def _left(place: _Place, state: LoopState, gate: Gate) -> Answer | None:
    """An answer that nobody has read yet."""
    return answers.find(loop_folder(place.repository, state.loop).answers, state.uid, gate.key)


def _counts(answer: Answer) -> str:
    by = code(answer.by or answer.via)
    return f"The question has an answer already, and that one counts: **{answer.choice}**, says {by}. It is followed."


def _keep_words(place: _Place, event: IssueEvent, state: LoopState, words: str) -> None:
    if not words:
        raise OperatorError("nothing is said", expected="words behind the command, or below it")
    if state.outcome is Outcome.COMPLETED:
        raise OperatorError("the loop is done", remedy="open another issue for what is still to be done")
    answers.put_words(loop_folder(place.repository, state.loop).words, state.uid, event.comment, words)


def _words(command: Command) -> str:
    return "\n".join(filter(None, (command.rest, command.below)))


def _going_on(place: _Place, state: LoopState, gate: Gate, answer: Answer) -> Found:
    """Whoever drives the loop finds the answer; one that waits without a process is woken, or goes on in this run."""
    heard = Heeded(what=f"loop {state.loop}: {answer.choice}, says {answer.by}")
    if holder(loop_folder(place.repository, state.loop).lock) is not None:
        return heard
    from tasks.approvals.pause import resume_paused, stand_in

    if resume_paused(state.uid, stand_in(form_for(gate), answer.choice), answer.at):
        return heard
    return LoopRequest(repository=place.where, loop=state.loop, reopen=True)


def _refused(error: HelmsmanError, state: LoopState) -> str:
    if state.gate is not None:
        return "\n\n".join([refused(str(error), state.gate), "\n".join(commands())])
    return _not_done(error)


def _not_done(error: HelmsmanError) -> str:
    return "\n\n".join([f"Not done: {prose(error.in_a_line, 1000)}", "\n".join(commands())])


# --- an end -------------------------------------------------------------------------------------------------------


def _withdrawn(place: _Place, event: IssueEvent, state: LoopState) -> Found:
    return _stopped(place, event, state, f"issue #{event.number} was closed, or its label taken away, by {event.by}")


def _stopped(place: _Place, event: IssueEvent, state: LoopState, why: str) -> Found:
    """Stop a loop, whoever drives it or nobody, here or elsewhere. Its work and state are kept."""
    folder = loop_folder(place.repository, state.loop)
    try:
        with drive_alone(folder.lock, state.loop), _saying_that_it_was_not(event, state):
            state, answer, after = _stop_everywhere(place, event, state, why)
    except Driven:
        folder.cancel.touch()
        return Heeded(what=f"loop {state.loop} is asked to stop: {why}")
    if state.gate is not None and answer is not None:
        return _going_on(place, state, state.gate, answer)
    tell_news(after, workplace(place.where, after))  # also of an end that a run before this one could not bring to the remote
    if after is state:
        return Nothing(reason=f"loop {state.loop} has ended already: {after.ending.rule if after.ending else ''}")
    return Heeded(what=f"loop {state.loop} was stopped: {why}")


def _stop_everywhere(place: _Place, event: IssueEvent, state: LoopState, why: str) -> tuple[LoopState, Answer | None, LoopState]:
    for _ in range(STOPS_TRIED - 1):
        with suppress(Fenced):
            return _stop_on_top(place, event, state, why)
    return _stop_on_top(place, event, state, why)


def _stop_on_top(place: _Place, event: IssueEvent, state: LoopState, why: str) -> tuple[LoopState, Answer | None, LoopState]:
    """With the lock held: on top of what the remote has by now, which fences whoever drives the loop elsewhere.

    Returns the loop as it was by then, and what `_stop_here` does. Raises Fenced where such a driver was faster.
    """
    now = read_state(place.repository, state.loop)[0]
    if now.outcome is Outcome.COMPLETED and now.gate is None:  # for good, whatever the remote says
        return now, None, now
    take_up(place.repository, state.loop, now.config.remote, held=True)
    now = read_state(place.repository, state.loop)[0]
    answer, after = _stop_here(place, event, now, why)
    if answer is None:  # else whoever reads it claims the loop first
        leave_there(place.repository, after)
    return now, answer, after


@contextmanager
def _saying_that_it_was_not(event: IssueEvent, state: LoopState) -> Generator[None]:
    """A stop that did not reach the remote is told at the issue as what it is, with the way to stop the loop all the same."""
    try:
        yield
    except HelmsmanError as error:
        if not state.config.remote.push:
            raise
        kind = WorldError if isinstance(error, WorldError) else OperatorError
        before = f"; before that: {error.remedy}" if error.remedy and not isinstance(error, Fenced) else ""
        told = kind(
            f"loop {state.loop} was not stopped, and may go on elsewhere: {error.problem}",
            expected=error.expected,
            found=clean(error.found)[:LONGEST_FOUND],
            remedy=f"run helmsman cancel {state.loop} where it is driven, or say {COMMAND} {CANCEL} once more{before}",
        )
        reply(state, event.comment or event.delivery, _not_done(told))
        raise told from error


def _stop_here(place: _Place, event: IssueEvent, state: LoopState, why: str) -> tuple[Answer | None, LoopState]:
    """The loop as it is then; of one that asks, the answer that comes before any that nobody has read."""
    if state.gate is not None:
        said = {"gate": state.gate.key, "kind": state.gate.kind, "by": event.by, "via": "tracker", "at": event.received_at}
        answer = Answer.model_validate({**said, "choice": Choice.STOP})
        answers.replace(loop_folder(place.repository, state.loop).answers, state.uid, answer)
        return answer, state
    if state.ending is not None:
        return None, state
    return None, close(place.where, state, Cancelled(why), now_utc())


_VERBS: Mapping[str, Callable[[_Place, IssueEvent, LoopState, Command], tuple[str, Found]]] = {
    TELL: _told,
    CANCEL: _cancelled,
    RESUME: _resumed,
}
"""Each raises OperatorError for what cannot be followed, and returns what is replied, and what follows."""
_DEEDS: Mapping[Happened, Callable[[_Place, IssueEvent, LoopState], Found]] = {
    Happened.LABELLED: _go_on,
    Happened.SAID: _said,
    Happened.WITHDRAWN: _withdrawn,
}
