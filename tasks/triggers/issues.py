"""Handling an event of an issue: start a loop, pass words to a running one or stop it, or report why nothing happens.

Everything is checked again here, on the machine that runs the loop: anyone who reaches the engine can start a run.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from helmsman.config.layers import Layer
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, TransientError
from helmsman.oversee.comment_commands import answer_from_command
from helmsman.parsers.issues import OWN_SETTINGS, Command, issue_goal, issue_loop_id, parse_command
from helmsman.plain import clean
from helmsman.records.decision import Outcome
from helmsman.records.forms import form_for
from helmsman.records.gates import Answer, Choice, Gate
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.tracking import IssueLink
from helmsman.records.triggers import Handled, Ignored, IssueEvent
from helmsman.render.issue import CANCEL, COMMANDS, RESUME, TELL, confirmation, rejection
from helmsman.render.markdown_page import code, prose
from tasks.approvals import answers
from tasks.loop.configure import configure
from tasks.loop.recover import close_loop
from tasks.loop.remote_handover import pull_state, push_state
from tasks.loop.start import first_state, require_budget, require_checks, write_first_state
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.loop_context import is_finished, loop_context, loop_folder
from tasks.repository.state_ref import known_state, read_state
from tasks.system.lock import DrivenElsewhere, exclusive_driver, holder
from tasks.system.paths import LoopFolder
from tasks.trackers.thread import publish_changes, reply
from tasks.triggers.pushes import configuration_files, fetch_branch, find_repository

Result = LoopRequest | Ignored | Handled


def handle_issue_event(event: IssueEvent, now: datetime, driven: str = "") -> Result:
    """Handle an event. Raises OperatorError where the configuration is wrong, TransientError where git cannot fetch.

    `driven`: uid of the loop that this run has driven before, for any event; the run continues that loop.
    """
    where = find_repository(event.location)
    repository = open_repository(where)
    state = known_state(repository, issue_loop_id(event))
    if state is None:
        if event.happened != "labelled":
            return Ignored(reason=f"{event.what}: it has no loop here")
        return _start(repository, str(where), event, now)
    issue = _IssueLoop(repository, str(where), event, state)
    if state.uid == driven:
        return issue.request
    match event.happened:
        case "labelled":
            return _continue_loop(issue)
        case "said":
            return _handle_comment(issue)
        case "withdrawn":
            return _stop(issue, f"{event.by} closed issue #{event.number} or removed its label")


@dataclass(frozen=True)
class _IssueLoop:
    """An issue's loop as it is now, and the event at the issue."""

    repository: Repository
    where: str  # the repository's path in the flow's request
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
        """Whether the loop has ended and delivered its result, which a crash or an error may have prevented."""
        undelivered = self.state.issue is not None and not self.state.issue.pull_request
        return self.state.outcome is Outcome.COMPLETED and not undelivered and is_finished(self.where, self.state)


def _continue_loop(issue: _IssueLoop) -> Result:
    """Continue a loop whose driver died, even while delivering its result. A loop that has ended is not started again."""
    state, loop = issue.state, f"loop {issue.state.loop}"
    if issue.is_driven:
        return Ignored(reason=f"{loop} is already working on {issue.event.what}")
    if state.gate is not None:
        return Ignored(reason=f"{loop} exists for it and waits for an answer")
    if state.ending is not None and (state.outcome is not Outcome.COMPLETED or issue.is_through):
        return Ignored(reason=f"{loop} exists for it and has ended: {state.ending.rule}")
    return issue.request


def _start(repository: Repository, where: str, event: IssueEvent, now: datetime) -> Result:
    commit = fetch_branch(repository, event.branch) or read_ref(repository.common, f"refs/heads/{event.branch}")
    if commit is None:
        return Ignored(reason=f"{event.what}: there is no branch {event.branch}")
    place = f"{event.branch} at {commit[:10]}"
    with configuration_files(repository, commit, place, "fix it, push it, and set the label again") as folder:
        request = LoopRequest(repository=str(folder), goal=issue_goal(event), settings=dict(OWN_SETTINGS))
        resolved = configure(folder, request, consent=None, stronger=[Layer("the receiver's file", event.settings)])
        require_checks(resolved.config)
    tracker = resolved.config.tracker
    if tracker.kind != event.source or tracker.repository.casefold() != event.full_name.casefold():
        raise OperatorError(
            "the issue's tracker is not configured",
            expected=f'[tracker] with kind = "{event.source}" and repository = "{event.full_name}"',
            found=f"kind = {tracker.kind!r}, repository = {tracker.repository!r}",
            remedy="set it in the receiver's file (see docs/issues.md), and set the label again",
        )
    loop = issue_loop_id(event)
    link = IssueLink(repository=event.full_name, number=event.number, title=event.title)
    state = first_state(repository, resolved, now, loop=loop, branch=event.branch, commit=commit)
    state = state.model_copy(update={"issue": link})
    if write_first_state(repository, state, f"start: issue #{event.number} at {commit[:12]}"):
        return LoopRequest(repository=where, loop=loop)
    return _continue_loop(_IssueLoop(repository, where, event, read_state(repository, loop)[0]))


def _handle_comment(issue: _IssueLoop) -> Result:
    command, state = parse_command(issue.event.said), issue.state
    if command is None:
        return Ignored(reason=f"{issue.event.what}: it contains no command for the loop")
    try:
        reply_text, result = _follow_command(issue, command)
    except TransientError:
        raise
    except HelmsmanError as error:
        reply_text = "\n\n".join([rejection(str(error), state.gate), COMMANDS]) if state.gate else _error_reply(error)
        result = Ignored(reason=f"{issue.event.what}: {clean(error.problem)}")
    reply(state, issue.event.comment, reply_text)
    return result


def _follow_command(issue: _IssueLoop, command: Command) -> tuple[str, Result]:
    """Follow a command. Return the reply and the result. Raises OperatorError for a command that cannot be followed."""
    state, message = issue.state, "\n".join(filter(None, (command.rest, command.below)))
    if command.verb == TELL:
        _store_words(issue, message)
        when = "when the loop continues" if state.ending or state.gate else "at its start"
        return f"The next iteration gets it, {when}.", Handled(what=f"loop {state.loop} got a message from {issue.event.by}")
    if command.verb == CANCEL:
        result = _stop(issue, f"{issue.event.by} cancelled it in issue #{issue.event.number}")
        return "The loop stops; its work and its state are kept.", result
    if command.verb == RESUME:
        return _resume(issue, message)
    if state.gate is None:
        raise OperatorError("the loop asks no question now", found=f"/helmsman {clean(command.verb)}")
    answer = answer_from_command(command, state, by=issue.event.by, at=issue.event.received_at)
    if answer.choice is Choice.STOP and not issue.is_driven:  # it precedes an answer that is not read yet
        return confirmation(answer, state.gate), _stop(issue, f"{issue.event.by} stopped it in issue #{issue.event.number}")
    first = _store_answer(issue, answer)
    return confirmation(answer, state.gate) if first == answer else _earlier_answer_reply(first), _wake(issue, state.gate, first)


def _resume(issue: _IssueLoop, message: str) -> tuple[str, Result]:
    state = issue.state
    if state.gate is not None:
        raise OperatorError("the loop waits for an answer", expected="one of its choices")
    if issue.is_driven:
        raise OperatorError("the loop is running", remedy="send it a message with `tell`")
    if issue.is_through:
        raise OperatorError("the loop has ended", remedy="open another issue for remaining work")
    require_budget(state, state.config)
    if message:
        _store_words(issue, message)
    return "The loop continues.", issue.request.model_copy(update={"reopen": True})


def _store_answer(issue: _IssueLoop, answer: Answer) -> Answer:
    """Store an answer, and return the one that counts: the first, whose handling a crash may have interrupted.

    Raises OperatorError where a driver is about to read another one.
    """
    first = answers.store_answer(issue.folder.answers, issue.state.uid, answer)
    if first is None:
        raise OperatorError("the question was answered in the meantime", remedy="check the loop's status")
    if first != answer and issue.is_driven:
        raise OperatorError("the question has an answer already", found=f"{first.choice} by {first.by or first.via}")
    return first


def _earlier_answer_reply(answer: Answer) -> str:
    author = code(answer.by or answer.via)
    return f"The question was already answered, and the first answer counts: **{answer.choice}** by {author}."


def _store_words(issue: _IssueLoop, message: str) -> None:
    if not message:
        raise OperatorError("the message is empty", expected="text after the command, or below it")
    if issue.state.outcome is Outcome.COMPLETED and issue.state.gate is not None:
        raise OperatorError("the loop waits for an answer", expected="one of its choices")
    if issue.state.outcome is Outcome.COMPLETED:
        raise OperatorError("the loop has ended", remedy="open another issue for remaining work")
    answers.store_message(issue.folder.words, issue.state.uid, issue.event.comment, message)


def _wake(issue: _IssueLoop, gate: Gate, answer: Answer) -> Result:
    """Continue the loop with the answer: a driver reads it, a suspended run is resumed, or this run continues the loop."""
    handled = Handled(what=f"loop {issue.state.loop}: {answer.choice} by {answer.by}")
    if issue.is_driven:
        return handled
    from tasks.approvals.pause import placeholder_input, resume_paused

    if resume_paused(issue.state.uid, placeholder_input(form_for(gate.kind), answer.choice), answer.at):
        return handled
    return issue.request.model_copy(update={"reopen": True})


def _error_reply(error: HelmsmanError) -> str:
    return "\n\n".join([f"Not done: {prose(error.one_line, 1000)}", COMMANDS])


def _stop(issue: _IssueLoop, why: str) -> Result:
    """Stop a loop, running here, elsewhere or not at all. Its work and state are kept.

    A stop that does not reach the remote is reported at the issue as not done.
    """
    loop = f"loop {issue.state.loop}"
    try:
        with exclusive_driver(issue.folder.lock, issue.state.loop):
            state, answer, after = _stop_locked(issue, why)
    except DrivenElsewhere:
        issue.folder.cancel.touch()
        return Handled(what=f"{loop} is asked to stop: {why}")
    except HelmsmanError as error:
        reply(issue.state, issue.event.comment or issue.event.delivery, _error_reply(error))
        raise
    if state.gate is not None and answer is not None:
        return _wake(replace(issue, state=state), state.gate, answer)
    publish_changes(after, loop_context(issue.where, after))  # also an end that an earlier run could not push
    if after is state:
        return Ignored(reason=f"{loop} has ended already: {after.ending.rule if after.ending else ''}")
    return Handled(what=f"{loop} was stopped: {why}")


def _stop_locked(issue: _IssueLoop, why: str) -> tuple[LoopState, Answer | None, LoopState]:
    """Stop a loop on top of the remote's state, which fences a driver elsewhere. The caller holds the lock.

    Returns the loop before the stop, the answer that was stored if it asks a question, which precedes any unread answer, and
    the loop after the stop. Raises Fenced where a driver elsewhere pushed meanwhile.
    """
    loop = issue.state.loop
    current = read_state(issue.repository, loop)[0]
    if current.outcome is Outcome.COMPLETED and current.gate is None:  # final, whatever the remote says
        return current, None, current
    pull_state(issue.repository, loop, current.config.remote, locked=True)
    current = read_state(issue.repository, loop)[0]
    if current.gate is not None:  # the reader of the answer acquires the lease first, so nothing is pushed
        fields = {
            "gate": current.gate.key,
            "kind": current.gate.kind,
            "by": issue.event.by,
            "via": "tracker",
            "at": issue.event.received_at,
        }
        answer = Answer.model_validate({**fields, "choice": Choice.STOP})
        answers.replace_answer(issue.folder.answers, current.uid, answer)
        return current, answer, current
    after = (
        current
        if current.ending is not None
        else close_loop(loop_context(issue.where, current), current, Cancelled(why), datetime.now(UTC))
    )
    push_state(issue.repository, after)
    return current, None, after
