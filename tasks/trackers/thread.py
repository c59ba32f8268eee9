"""Interface for the driver: publish a loop's news to the tracker, and read answers. Never raises; bounded in time.

A loop's issues are updated to its state. Answers are comments by allowed users, unedited and later than the question; each gets
one reply. Everything is idempotent.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from pydantic import Field, ValidationError

from helmsman.config import TrackerConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.oversee.comment_commands import answer_from_command
from helmsman.oversee.escalation import concern_changes, open_concerns, question_detection, tracker_actions
from helmsman.parsers.issues import parse_command, read_mark
from helmsman.records.base import Record
from helmsman.records.decision import Outcome
from helmsman.records.gates import Answer
from helmsman.records.state import LoopState
from helmsman.records.tracking import Escalation, IssueLink, TrackedIssue, TrackerAction, TrackerItem
from helmsman.render import issue as texts
from helmsman.render.gate import evidence
from tasks.repository.loop_context import LoopContext
from tasks.system.files import write_atomic
from tasks.system.journal import report_problem
from tasks.system.paths import LoopFolder
from tasks.trackers.forges import IssueTracker, open_tracker
from tasks.trackers.notify import blocks_of_server, notify

POLL_SECONDS = 30.0
"""Interval of polling for an answer while a question is open."""
TELLING_SECONDS = 30.0
"""Total for all calls of one update."""
LISTENING_SECONDS = 10.0

_last_published: dict[str, LoopState] = {}
_logged_errors: dict[str, str] = {}
"""Last error by loop and operation: an unavailable tracker is not logged every half a minute."""


def publish(before: LoopState | None, after: LoopState, context: LoopContext) -> None:
    """Update the tracker to a loop's state, and send notifications of changes. `before`: None if unknown, without notifications.

    A failed update is made up for by the next one.
    """
    config = after.config.tracker
    if config.kind:
        with _logging_errors(f"{after.uid} tell"):
            _tell_tracker(after, context)
    if before is not None and config.notify:
        with _logging_errors(f"{after.uid} notify"):
            for change in concern_changes(before, after):
                is_failure, is_form = after.outcome is Outcome.FAILED, change.gate is not None and after.config.gates.ask
                by_server = blocks_of_server() if not change.over and (is_failure or is_form) else ()
                notify(config.notify, *texts.notification(change, after, str(context.repository.top)), skip=by_server)


def _tell_tracker(state: LoopState, context: LoopContext) -> None:
    """Make no request without news. A loop that was started for an issue comments there, and opens no other."""
    config, link = state.config.tracker, state.issue
    memory, escalations = read_memory(context.folder, config), open_concerns(state)
    if link is None:
        if memory.told != {concern.detection: concern.stage for concern in escalations}:
            with open_tracker(config, TELLING_SECONDS) as tracker:
                IssueUpdater(tracker, state, context).bring_up_to_date(escalations)
        return
    due = texts.due_comments(state, evidence(state, str(context.worktree)))
    new_comments = [(stage, body) for stage, body in due if stage not in memory.told]
    if not new_comments:
        return
    with open_tracker(config, TELLING_SECONDS) as tracker:
        posted = {mark.get("stage") for mark in _own_marks(tracker, state, link)}
        for stage, body in new_comments:
            if stage not in posted:
                tracker.comment(link.number, body)
            memory = memory.model_copy(update={"told": {**memory.told, stage: stage}})
            write_memory(context.folder, memory)


def publish_from(state: LoopState) -> None:
    """Set the state that this process starts from, about which people have been notified."""
    _last_published[state.uid] = state


def publish_changes(state: LoopState, context: LoopContext) -> None:
    """Publish changes since this process last did so for the loop."""
    before = _last_published.get(state.uid)
    _last_published[state.uid] = state
    publish(before, state, context)


def answer_from_tracker(state: LoopState, context: LoopContext) -> Answer | None:
    """Answer to the open question from a comment; None if there is none, or the tracker fails."""
    config = state.config.tracker
    if state.gate is None or state.issue is not None or not config.kind or not config.allowed_users:
        return None  # comments on the issue that started a loop come as events
    with _logging_errors(f"{state.uid} listen"), open_tracker(config, LISTENING_SECONDS) as tracker:
        return read_answer(tracker, state, context)
    return None


class TrackerListener:
    """Reads the answer to a question at most every POLL_SECONDS, however often it is called."""

    def __init__(self, state: LoopState, context: LoopContext) -> None:
        """The first call reads immediately."""
        self._state, self._context, self._next_look = state, context, 0.0

    def __call__(self) -> Answer | None:
        if time.monotonic() < self._next_look:
            return None
        self._next_look = time.monotonic() + POLL_SECONDS
        return answer_from_tracker(self._state, self._context)


def reply(state: LoopState, comment: int | str, text: str) -> None:
    """Reply once to a comment on the issue that started a loop, or to another event by its name. Never raises."""
    link, config = state.issue, state.config.tracker
    if link is None or not config.kind:
        return
    with _logging_errors(f"{state.uid} reply"), open_tracker(config, TELLING_SECONDS) as tracker:
        if not any(own_mark.get("reply") == str(comment) for own_mark in _own_marks(tracker, state, link)):
            tracker.comment(link.number, texts.with_mark(texts.format_mark(uid=state.uid, reply=str(comment)), text))


def _own_marks(tracker: IssueTracker, state: LoopState, link: IssueLink) -> list[dict[str, str]]:
    """Marks in our comments. If the token's user is unknown, every mark of this loop counts as ours."""
    ours = tracker.login().casefold()
    own_comments = [comment for comment in tracker.comments(link.number) if not ours or comment.author.casefold() == ours]
    return [mark for comment in own_comments if (mark := read_mark(comment.body)).get("uid") == state.uid]


@contextmanager
def _logging_errors(operation: str) -> Generator[None]:
    """Log an error instead of raising, since an observer never stops a loop; the same error is logged once until a success."""
    try:
        yield
        _logged_errors.pop(operation, None)
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way
        message = error.one_line if isinstance(error, HelmsmanError) else f"{type(error).__name__}: {error}"
        if _logged_errors.get(operation) != message:
            _logged_errors[operation] = message
            report_problem(f"the tracker could not be read or updated: {message}")


# --- a loop's own issues -------------------------------------------------------------------------------------------------

SKEW = timedelta(days=1)
"""Allowed difference between the tracker's clock and ours."""


class IssueUpdater:
    """Updates one loop's issues at one tracker."""

    def __init__(self, tracker: IssueTracker, state: LoopState, context: LoopContext) -> None:
        """Makes no request."""
        self._tracker, self._state, self._context = tracker, state, context
        self._memory = read_memory(context.folder, state.config.tracker)

    def bring_up_to_date(self, wanted: Sequence[Escalation]) -> None:
        """Run all due actions. A failed one does not stop the others; the first error is raised at the end."""
        issues = self._load_issues({concern.detection for concern in wanted})
        errors: list[HelmsmanError] = []
        for action in tracker_actions(wanted, [*issues.values()]):
            try:
                self._run_action(action, issues.get(action.number))
            except HelmsmanError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        published = {concern.detection: concern.stage for concern in wanted}
        self._store(told=published, issues={name: number for name, number in self._memory.issues.items() if name in published})

    def known_issue(self, detection: str) -> TrackerItem | None:
        """Issue about a detection, found with as few calls as possible."""
        number = self._memory.issues.get(detection, 0)
        known = self._tracker.get(number) if number else None
        mark = texts.tracked_issue(known, (), self._state.uid) if known else None
        if known is not None and mark is not None and mark.detection == detection:
            return known
        candidates = [issue for issue in self._load_issues({detection}).values() if issue.detection == detection]
        return min(candidates, key=lambda issue: issue.number, default=None)

    def _load_issues(self, wanted: set[str]) -> dict[int, TrackedIssue]:
        """Our issues by number: open ones, and those about wanted detections."""
        uid, issues = self._state.uid, {issue.number: issue for issue in self._tracker.find(self._state.created_at - SKEW)}
        for number in self._memory.issues.values():
            known = issues.get(number) or self._tracker.get(number)
            issues |= {number: known} if known else {}
        ours_ = [issue for candidate in issues.values() if (issue := texts.tracked_issue(candidate, (), uid))]
        needed = [issue for issue in ours_ if issue.is_open or issue.detection in wanted]
        return {issue.number: texts.tracked_issue(issue, self._tracker.comments(issue.number), uid) or issue for issue in needed}

    def _run_action(self, action: TrackerAction, known: TrackedIssue | None) -> None:
        concern = action.escalation
        if action.act == "open" and concern is not None:
            created = self._tracker.create(texts.title(concern), self._issue_body(concern), concern.labels)
            self._store(issues={**self._memory.issues, action.detection: created.number})
        elif action.act == "close" and known is not None:
            if action.stage:
                self._tracker.comment(action.number, texts.closing_comment(known, action.stage, self._state))
            self._tracker.set_open(action.number, is_open=False)
        elif concern is not None:
            if action.act == "comment":
                self._tracker.comment(action.number, self._issue_body(concern))
            if action.reopen:
                self._tracker.set_open(action.number, is_open=True)
            self._store(issues={**self._memory.issues, action.detection: action.number})
            self._tracker.label(action.number, add=action.add, remove=action.remove)

    def _issue_body(self, escalation: Escalation) -> str:
        stored = escalation.gate.evidence if escalation.gate else ""
        answers = bool(self._state.config.tracker.allowed_users)
        return texts.issue_body(escalation, stored or evidence(self._state, str(self._context.worktree)), answers=answers)

    def _store(self, **fields: dict[str, str] | dict[str, int]) -> None:
        self._memory = self._memory.model_copy(update=fields)
        write_memory(self._context.folder, self._memory)


# --- answers in comments -------------------------------------------------------------------------------------------------

EDITED = "edited comments are ignored, because anybody with write access can edit them; write a new one"


def read_answer(tracker: IssueTracker, state: LoopState, context: LoopContext) -> Answer | None:
    """First valid answer to the loop's open question. An unpublished question is published now."""
    gate, updater = state.gate, IssueUpdater(tracker, state, context)
    if gate is None:
        return None
    issue = updater.known_issue(question_detection(state))
    comments = tracker.comments(issue.number, gate.asked_at - SKEW) if issue else ()
    # the comments after the question, in the tracker's own order
    asked_at = [
        at
        for at, comment in enumerate(comments)
        if issue and texts.is_ours(comment, issue) and _stage_of(comment.body) == gate.key
    ]
    if issue is None or not (asked_at or _stage_of(issue.body) == gate.key):
        updater.bring_up_to_date(open_concerns(state))
        return None
    after = comments[asked_at[0] + 1 :] if asked_at else comments
    replied = {read_mark(comment.body).get("reply", "") for comment in comments if texts.is_ours(comment, issue)}
    users = {user.casefold() for user in state.config.tracker.allowed_users}
    for comment in (written for written in after if written.author.casefold() in users and not texts.is_ours(written, issue)):
        command = parse_command(comment.body)
        if command is None:  # not addressed to us
            continue
        answer = None
        try:
            answer = None if comment.edited else answer_from_command(command, state, by=comment.author, at=comment.created_at)
            reply_text = texts.confirmation(answer, gate) if answer else texts.rejection(EDITED, gate)
        except OperatorError as error:
            reply_text = texts.rejection(str(error), gate)
        if str(comment.identity) not in replied:
            with _logging_errors(f"{state.uid} reply"):  # a reply is optional: the answer counts without it
                tracker.comment(issue.number, texts.reply(comment, state.uid, reply_text))
        if answer is not None:
            return answer
    return None


def _stage_of(body: str) -> str | None:
    return read_mark(body).get("stage")


# --- this machine's cache of a loop's issues -----------------------------------------------------------------------------

# It saves calls, and prevents a second issue while the list lacks the first one. Lost entries are found again by their marks.
_MEMORY = "tracker.json"


class ThreadMemory(Record):
    """Of one loop, at one tracker."""

    where: str
    issues: dict[str, int] = Field(default_factory=dict[str, int])
    """Number of the issue for each detection."""
    told: dict[str, str] = Field(default_factory=dict[str, str])
    """The loop's concerns as the tracker was told of them last: stage by detection."""


def read_memory(folder: LoopFolder, tracker: TrackerConfig) -> ThreadMemory:
    """Cache of a loop's issues; empty if it belongs to another tracker."""
    where = f"{tracker.kind} {tracker.url} {tracker.repository}"
    try:
        memory = ThreadMemory.model_validate_json((folder.root / _MEMORY).read_bytes())
    except (OSError, ValidationError):
        return ThreadMemory(where=where)
    return memory if memory.where == where else ThreadMemory(where=where)


def write_memory(folder: LoopFolder, memory: ThreadMemory) -> None:
    """Write the cache atomically: a driver may die during the write."""
    write_atomic(folder.root / _MEMORY, memory.model_dump_json())


def delete_memory(folder: LoopFolder) -> None:
    """Delete the cache: another loop has the name now."""
    (folder.root / _MEMORY).unlink(missing_ok=True)
