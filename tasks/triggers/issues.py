"""From an event at an issue to what follows: a loop's first state written, a running loop told or stopped; or why nothing does.

Everything is looked at again here, on the machine that runs the loop: whoever reaches the engine can start a run.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from helmsman.config.layers import Layer
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, TransientError
from helmsman.oversee.commands_said import answer_in
from helmsman.parsers.issues import OWN_SETTINGS, Command, command_in, issue_goal, issue_loop_id
from helmsman.plain import clean
from helmsman.records.decision import Outcome
from helmsman.records.forms import form_for
from helmsman.records.gates import Answer, Choice, Gate
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.tracking import IssueLink
from helmsman.records.triggers import Handled, Ignored, IssueEvent
from helmsman.render.issue import CANCEL, COMMANDS, RESUME, TELL, refused, understood
from helmsman.render.markdown_page import code, prose
from tasks.approvals import answers
from tasks.loop.configure import configure
from tasks.loop.recover import close
from tasks.loop.remote_handover import pull_state, push_state
from tasks.loop.start import first_state, require_budget, require_checks, write_first
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.loop_context import is_finished, loop_context, loop_folder
from tasks.repository.state_ref import known_state, read_state
from tasks.system.clock import now_utc
from tasks.system.lock import DrivenElsewhere, exclusive_driver, holder
from tasks.system.paths import LoopFolder
from tasks.trackers.thread import reply, tell_news
from tasks.triggers.pushes import fetched, find_repository, laid_out

Found = LoopRequest | Ignored | Handled


def handle(event: IssueEvent, now: datetime, driven: str = "") -> Found:
    """What an event comes to. Raises OperatorError where the configuration is wrong, TransientError where git cannot fetch.

    `driven`: uid of the loop that this very run has driven before, under whatever event; it goes on with that.
    """
    where = find_repository(event.location)
    repository = open_repository(where)
    state = known_state(repository, issue_loop_id(event))
    if state is None:
        if event.happened != "labelled":
            return Ignored(reason=f"{event.what}: it has no loop here")
        return _start(repository, str(where), event, now)
    at = _At(repository, str(where), event, state)
    if state.uid == driven:
        return at.request
    match event.happened:
        case "labelled":
            return _go_on(at)
        case "said":
            return _said(at)
        case "withdrawn":
            return _stopped(at, f"issue #{event.number} was closed, or its label taken away, by {event.by}")


@dataclass(frozen=True)
class _At:
    """An issue's loop as it is now, and what has happened at the issue."""

    repository: Repository
    where: str  # the repository as the flow is told of it
    event: IssueEvent
    state: LoopState

    @property
    def folder(self) -> LoopFolder:
        return loop_folder(self.repository, self.state.loop)

    @property
    def is_driven(self) -> bool:
        return holder(self.folder.lock) is not None

    @property
    def request(self) -> LoopRequest:
        return LoopRequest(repository=self.where, loop=self.state.loop)

    @property
    def is_through(self) -> bool:
        """Whether the loop has ended, and has brought its result: one that died before, or could not bring it, has not."""
        undelivered = self.state.issue is not None and not self.state.issue.pull_request
        return self.state.outcome is Outcome.COMPLETED and not undelivered and is_finished(self.where, self.state)


def _go_on(at: _At) -> Found:
    """With a loop whose driver died, be it while it brought its result. An end is no reason to begin again."""
    state, loop = at.state, f"loop {at.state.loop}"
    if at.is_driven:
        return Ignored(reason=f"{loop} is already working on {at.event.what}")
    if state.gate is not None:
        return Ignored(reason=f"{loop} was started for it before and waits for an answer")
    if state.ending is not None and (state.outcome is not Outcome.COMPLETED or at.is_through):
        return Ignored(reason=f"{loop} was started for it before and has ended: {state.ending.rule}")
    return at.request


def _start(repository: Repository, where: str, event: IssueEvent, now: datetime) -> Found:
    commit = fetched(repository, event.branch) or read_ref(repository.common, f"refs/heads/{event.branch}")
    if commit is None:
        return Ignored(reason=f"{event.what}: there is no branch {event.branch}")
    what = f"{event.branch} at {commit[:10]}"
    with laid_out(repository, commit, what, "fix it, push it, and set the label anew") as folder:
        request = LoopRequest(repository=str(folder), goal=issue_goal(event), settings=dict(OWN_SETTINGS))
        resolved = configure(folder, request, consent=None, stronger=[Layer("the receiver's file", event.settings)])
        require_checks(resolved.config)
    tracker = resolved.config.tracker
    if tracker.kind != event.source or tracker.repository.casefold() != event.full_name.casefold():
        raise OperatorError(
            "no tracker is configured that the issue is at",
            expected=f'[tracker] with kind = "{event.source}" and repository = "{event.full_name}"',
            found=f"kind = {tracker.kind!r}, repository = {tracker.repository!r}",
            remedy="set it in the receiver's file (docs/issues.md shows it), and set the label anew",
        )
    loop = issue_loop_id(event)
    link = IssueLink(repository=event.full_name, number=event.number, title=event.title)
    state = first_state(repository, resolved, now, loop=loop, branch=event.branch, commit=commit)
    state = state.model_copy(update={"issue": link})
    if write_first(repository, state, f"start: issue #{event.number} at {commit[:12]}"):
        return LoopRequest(repository=where, loop=loop)
    return _go_on(_At(repository, where, event, read_state(repository, loop)[0]))


def _said(at: _At) -> Found:
    command, state = command_in(at.event.said), at.state
    if command is None:
        return Ignored(reason=f"{at.event.what}: it contains no command for the loop")
    try:
        told, found = _followed(at, command)
    except TransientError:
        raise
    except HelmsmanError as error:
        told = "\n\n".join([refused(str(error), state.gate), COMMANDS]) if state.gate else _not_done(error)
        found = Ignored(reason=f"{at.event.what}: {clean(error.problem)}")
    reply(state, at.event.comment, told)
    return found


def _followed(at: _At, command: Command) -> tuple[str, Found]:
    """What is replied, and what follows. Raises OperatorError for what cannot be followed."""
    state, words = at.state, "\n".join(filter(None, (command.rest, command.below)))
    if command.verb == TELL:
        _keep_words(at, words)
        when = "when the loop goes on" if state.ending or state.gate else "at its start"
        return f"The next iteration gets it, {when}.", Handled(what=f"loop {state.loop} is told what {at.event.by} says")
    if command.verb == CANCEL:
        found = _stopped(at, f"{at.event.by} says so in issue #{at.event.number}")
        return "The loop stops; its work and its state are kept.", found
    if command.verb == RESUME:
        return _resumed(at, words)
    if state.gate is None:
        raise OperatorError("the loop asks nothing now", found=f"/helmsman {clean(command.verb)}")
    answer = answer_in(command, state, by=at.event.by, at=at.event.received_at)
    if answer.choice is Choice.STOP and not at.is_driven:  # it comes before an answer that nobody has read
        return understood(answer, state.gate), _stopped(at, f"{at.event.by} says so in issue #{at.event.number}")
    first = _first_heard(at, answer)
    return understood(answer, state.gate) if first == answer else _counts(first), _woken(at, state.gate, first)


def _resumed(at: _At, words: str) -> tuple[str, Found]:
    state = at.state
    if state.gate is not None:
        raise OperatorError("the loop waits for an answer", expected="one of its choices")
    if at.is_driven:
        raise OperatorError("the loop is running", remedy="`tell` reaches it while it is")
    if at.is_through:
        raise OperatorError("the loop has ended", remedy="open another issue for remaining work")
    require_budget(state, state.config)
    if words:
        _keep_words(at, words)
    return "The loop continues.", at.request.model_copy(update={"reopen": True})


def _first_heard(at: _At, answer: Answer) -> Answer:
    """Leave an answer, and return the one that counts now: the first, over which whoever brought it may have died.

    Raises OperatorError where a driver is about to read another one.
    """
    first = answers.put(at.folder.answers, at.state.uid, answer)
    if first is None:
        raise OperatorError("the question was answered in the meantime", remedy="look again")
    if first != answer and at.is_driven:
        raise OperatorError("the question has an answer already", found=f"{first.choice} by {first.by or first.via}")
    return first


def _counts(answer: Answer) -> str:
    by = code(answer.by or answer.via)
    return f"The question has an answer already, and that one counts: **{answer.choice}**, says {by}. It is followed."


def _keep_words(at: _At, words: str) -> None:
    if not words:
        raise OperatorError("nothing is said", expected="text after the command, or below it")
    if at.state.outcome is Outcome.COMPLETED:
        raise OperatorError("the loop has ended", remedy="open another issue for remaining work")
    answers.put_words(at.folder.words, at.state.uid, at.event.comment, words)


def _woken(at: _At, gate: Gate, answer: Answer) -> Found:
    """Whoever drives the loop finds the answer; one that waits without a process is woken, or goes on in this run."""
    heard = Handled(what=f"loop {at.state.loop}: {answer.choice}, says {answer.by}")
    if at.is_driven:
        return heard
    from tasks.approvals.pause import resume_paused, stand_in

    if resume_paused(at.state.uid, stand_in(form_for(gate.kind), answer.choice), answer.at):
        return heard
    return at.request.model_copy(update={"reopen": True})


def _not_done(error: HelmsmanError) -> str:
    return "\n\n".join([f"Not done: {prose(error.in_a_line, 1000)}", COMMANDS])


def _stopped(at: _At, why: str) -> Found:
    """Stop a loop, whoever drives it or nobody, here or elsewhere. Its work and state are kept.

    A stop that did not reach the remote is told at the issue as one that is not done.
    """
    loop = f"loop {at.state.loop}"
    try:
        with exclusive_driver(at.folder.lock, at.state.loop):
            state, answer, after = _stop_on_top(at, why)
    except DrivenElsewhere:
        at.folder.cancel.touch()
        return Handled(what=f"{loop} is asked to stop: {why}")
    except HelmsmanError as error:
        reply(at.state, at.event.comment or at.event.delivery, _not_done(error))
        raise
    if state.gate is not None and answer is not None:
        return _woken(replace(at, state=state), state.gate, answer)
    tell_news(after, loop_context(at.where, after))  # also of an end that a run before this one could not bring to the remote
    if after is state:
        return Ignored(reason=f"{loop} has ended already: {after.ending.rule if after.ending else ''}")
    return Handled(what=f"{loop} was stopped: {why}")


def _stop_on_top(at: _At, why: str) -> tuple[LoopState, Answer | None, LoopState]:
    """With the lock held: on top of what the remote has by now, which fences whoever drives the loop elsewhere.

    Returns the loop as it was by then, the answer that was left for one that asks, which comes before any that nobody has read,
    and the loop as it is now. Raises Fenced where a driver elsewhere pushed meanwhile.
    """
    loop = at.state.loop
    now = read_state(at.repository, loop)[0]
    if now.outcome is Outcome.COMPLETED and now.gate is None:  # for good, whatever the remote says
        return now, None, now
    pull_state(at.repository, loop, now.config.remote, held=True)
    now = read_state(at.repository, loop)[0]
    if now.gate is not None:  # whoever reads the answer claims the loop first, so nothing is pushed
        said = {"gate": now.gate.key, "kind": now.gate.kind, "by": at.event.by, "via": "tracker", "at": at.event.received_at}
        answer = Answer.model_validate({**said, "choice": Choice.STOP})
        answers.replace(at.folder.answers, now.uid, answer)
        return now, answer, now
    after = now if now.ending is not None else close(loop_context(at.where, now), now, Cancelled(why), now_utc())
    push_state(at.repository, after)
    return now, None, after
