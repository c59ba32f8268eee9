"""What the driver calls: tell what is new of a loop, and listen for an answer. Neither ever raises or takes long.

A loop's issues are brought up to date with how it stands. Answers in comments count by allowed users alone, after the question
was told, in their own words; each is replied to once. Doing any of it again changes nothing.
"""

import logging
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from pydantic import Field, ValidationError

from helmsman.config import TrackerConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.oversee.commands_said import answer_in
from helmsman.oversee.escalation import changes, concerns, question_detection, tracker_actions
from helmsman.parsers.issues import command_in, read_mark
from helmsman.records.base import Record
from helmsman.records.gates import Answer
from helmsman.records.state import LoopState
from helmsman.records.tracking import Escalation, Found, IssueLink, TrackedIssue, TrackerAction
from helmsman.render import issue as texts
from helmsman.render.gate import evidence
from tasks.repository.loop_context import LoopContext
from tasks.system.files import write_atomic
from tasks.system.paths import LoopFolder
from tasks.trackers.forges import IssueTracker, open_tracker
from tasks.trackers.notify import notify

POLL_SECONDS = 30.0
"""Between two looks for an answer while a question is open."""
TELLING_SECONDS = 30.0
"""For all calls of one telling."""
LISTENING_SECONDS = 10.0

_log = logging.getLogger(__name__)
_last_told: dict[str, LoopState] = {}
_complaints: dict[str, str] = {}
"""By loop and deed, what went wrong last: a tracker that is away is not complained of every half a minute."""


def tell(before: LoopState | None, after: LoopState, context: LoopContext) -> None:
    """Bring the tracker up to date with a loop, and notify of what is new. `before`: None at a start, where nothing is new.

    What a tracker could not be told is made up for the next time.
    """
    config = after.config.tracker
    if config.kind:
        with _complaining(f"{after.uid} tell"):
            _tell_tracker(after, context)
    if before is not None and config.notify:
        with _complaining(f"{after.uid} notify"):
            for change in changes(before, after):
                notify(config.notify, *texts.notification(change, after))


def _tell_tracker(state: LoopState, context: LoopContext) -> None:
    """Nothing is asked where nothing is new. A loop that was started for an issue tells that one, and opens no other."""
    config, link = state.config.tracker, state.issue
    memory, wanted = remembered(context.folder, config), concerns(state)
    if link is None:
        if memory.told != {one.detection: one.stage for one in wanted}:
            with open_tracker(config, TELLING_SECONDS) as tracker:
                Upkeep(tracker, state, context).bring_up_to_date(wanted)
        return
    due = texts.due(state, evidence(state, str(context.worktree)))
    fresh = [(stage, body) for stage, body in due if stage not in memory.told]
    if not fresh:
        return
    with open_tracker(config, TELLING_SECONDS) as tracker:
        there = {one.get("stage") for one in _marks(tracker, state, link)}
        for stage, body in fresh:
            if stage not in there:
                tracker.comment(link.number, body)
            memory = memory.model_copy(update={"told": {**memory.told, stage: stage}})
            remember(context.folder, memory)


def tell_news(state: LoopState, context: LoopContext) -> None:
    """Tell what is new since this process told of the loop last."""
    before = _last_told.get(state.uid)
    _last_told[state.uid] = state
    tell(before, state, context)


def answer_from_tracker(state: LoopState, context: LoopContext) -> Answer | None:
    """The answer to the open question that stands in a comment; None where there is none, or it cannot be asked for."""
    config = state.config.tracker
    if state.gate is None or state.issue is not None or not config.kind or not config.allowed_users:
        return None  # comments at the issue that a loop was started for come as events
    with _complaining(f"{state.uid} listen"), open_tracker(config, LISTENING_SECONDS) as tracker:
        return read_answer(tracker, state, context)
    return None


class TrackerListener:
    """Listens for an answer to a question now and then, however often it is asked."""

    def __init__(self, state: LoopState, context: LoopContext) -> None:
        """It listens the first time that it is asked."""
        self._state, self._place, self._next = state, context, 0.0

    def __call__(self) -> Answer | None:
        if time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + POLL_SECONDS
        return answer_from_tracker(self._state, self._place)


def reply(state: LoopState, comment: int | str, text: str) -> None:
    """Answer a comment at the issue that a loop was started for, or another event by its own name, once. Never raises."""
    link, config = state.issue, state.config.tracker
    if link is None or not config.kind:
        return
    with _complaining(f"{state.uid} reply"), open_tracker(config, TELLING_SECONDS) as tracker:
        if not any(one.get("reply") == str(comment) for one in _marks(tracker, state, link)):
            tracker.comment(link.number, texts.under(texts.mark(uid=state.uid, reply=str(comment)), text))


def _marks(tracker: IssueTracker, state: LoopState, link: IssueLink) -> list[dict[str, str]]:
    """Those of our comments. Who may not know whose the token is takes every mark of this loop for ours."""
    ours = tracker.login().casefold()
    told = [one for one in tracker.comments(link.number) if not ours or one.author.casefold() == ours]
    return [found for one in told if (found := read_mark(one.body)).get("uid") == state.uid]


@contextmanager
def _complaining(deed: str) -> Generator[None]:
    """An observer never stops a loop: whatever goes wrong is a line in the log, once until it goes well again."""
    try:
        yield
        _complaints.pop(deed, None)
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way
        complaint = str(error) if isinstance(error, HelmsmanError) else f"{type(error).__name__}: {error}"
        if _complaints.get(deed) != complaint:
            _complaints[deed] = complaint
            _log.warning("the tracker could not be read or updated: %s", complaint)


# --- a loop's own issues -------------------------------------------------------------------------------------------------

SKEW = timedelta(days=1)
"""Clocks of a tracker and of ours may differ by so much."""


class Upkeep:
    """One loop at one tracker, for a few calls."""

    def __init__(self, tracker: IssueTracker, state: LoopState, context: LoopContext) -> None:
        """Nothing is asked yet."""
        self._tracker, self._state, self._place = tracker, state, context
        self._memory = remembered(context.folder, state.config.tracker)

    def bring_up_to_date(self, wanted: Sequence[Escalation]) -> None:
        """Do what is to be done. One deed that fails keeps no other from being done; the first error is raised at the end."""
        issues = self._issues({one.detection for one in wanted})
        errors: list[HelmsmanError] = []
        for deed in tracker_actions(wanted, [*issues.values()]):
            try:
                self._do(deed, issues.get(deed.number))
            except HelmsmanError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        told = {one.detection: one.stage for one in wanted}
        self._keep(told=told, issues={name: number for name, number in self._memory.issues.items() if name in told})

    def known_issue(self, detection: str) -> Found | None:
        """The issue about something, with as few calls as can be."""
        number = self._memory.issues.get(detection, 0)
        known = self._tracker.get(number) if number else None
        mark = texts.tracked(known, (), self._state.uid) if known else None
        if known is not None and mark is not None and mark.detection == detection:
            return known
        about = [issue for issue in self._issues({detection}).values() if issue.detection == detection]
        return min(about, key=lambda found: found.number, default=None)

    def _issues(self, wanted: set[str]) -> dict[int, TrackedIssue]:
        """Our issues by number: those that are open, and those about what is wanted."""
        uid, found = self._state.uid, {one.number: one for one in self._tracker.find(self._state.created_at - SKEW)}
        for number in self._memory.issues.values():
            known = found.get(number) or self._tracker.get(number)
            found |= {number: known} if known else {}
        ours_ = [issue for one in found.values() if (issue := texts.tracked(one, (), uid))]
        needed = [issue for issue in ours_ if issue.is_open or issue.detection in wanted]
        return {one.number: texts.tracked(one, self._tracker.comments(one.number), uid) or one for one in needed}

    def _do(self, deed: TrackerAction, known: TrackedIssue | None) -> None:
        one = deed.escalation
        if deed.act == "open" and one is not None:
            made = self._tracker.create(texts.title(one), self._body(one), one.labels)
            self._keep(issues={**self._memory.issues, deed.detection: made.number})
        elif deed.act == "close" and known is not None:
            if deed.stage:
                self._tracker.comment(deed.number, texts.closing_comment(known, deed.stage, self._state))
            self._tracker.set_open(deed.number, is_open=False)
        elif one is not None:
            if deed.act == "comment":
                self._tracker.comment(deed.number, self._body(one))
            if deed.reopen:
                self._tracker.set_open(deed.number, is_open=True)
            self._keep(issues={**self._memory.issues, deed.detection: deed.number})
            self._tracker.label(deed.number, add=deed.add, remove=deed.remove)

    def _body(self, one: Escalation) -> str:
        seen = one.gate.evidence if one.gate else ""
        answers = bool(self._state.config.tracker.allowed_users)
        return texts.issue_body(one, seen or evidence(self._state, str(self._place.worktree)), answers=answers)

    def _keep(self, **fields: dict[str, str] | dict[str, int]) -> None:
        self._memory = self._memory.model_copy(update=fields)
        remember(self._place.folder, self._memory)


# --- answers in comments -------------------------------------------------------------------------------------------------

EDITED = "edited comments are ignored, because anybody with write access can edit them; write a new one"


def read_answer(tracker: IssueTracker, state: LoopState, context: LoopContext) -> Answer | None:
    """The first answer to the loop's open question that can be followed. A question that was never told is told now."""
    gate, upkeep = state.gate, Upkeep(tracker, state, context)
    if gate is None:
        return None
    found = upkeep.known_issue(question_detection(state))
    comments = tracker.comments(found.number, gate.asked_at - SKEW) if found else ()
    # the comments since the question stands there, by the tracker's own order
    asked = [at for at, one in enumerate(comments) if found and texts.is_ours(one, found) and _stage(one.body) == gate.key]
    if found is None or not (asked or _stage(found.body) == gate.key):
        upkeep.bring_up_to_date(concerns(state))
        return None
    after = comments[asked[0] + 1 :] if asked else comments
    replied = {read_mark(one.body).get("reply", "") for one in comments if texts.is_ours(one, found)}
    users = {user.casefold() for user in state.config.tracker.allowed_users}
    for comment in (one for one in after if one.author.casefold() in users and not texts.is_ours(one, found)):
        command = command_in(comment.body)
        if command is None:  # it is not meant for us
            continue
        answer = None
        try:
            answer = None if comment.edited else answer_in(command, state, by=comment.author, at=comment.created_at)
            said = texts.understood(answer, gate) if answer else texts.refused(EDITED, gate)
        except OperatorError as error:
            said = texts.refused(str(error), gate)
        if str(comment.identity) not in replied:
            with _complaining(f"{state.uid} reply"):  # a reply only tells: an answer counts without it
                tracker.comment(found.number, texts.reply(comment, state.uid, said))
        if answer is not None:
            return answer
    return None


def _stage(body: str) -> str | None:
    return read_mark(body).get("stage")


# --- what this machine remembers of a loop's issues ---------------------------------------------------------------------

# It saves calls, and a second issue where a list lacks the first one yet. What is forgotten is found again by its marks.
_MEMORY = "tracker.json"


class ThreadMemory(Record):
    """Of one loop, at one tracker."""

    where: str
    issues: dict[str, int] = Field(default_factory=dict[str, int])
    """Number of the issue for each detection."""
    told: dict[str, str] = Field(default_factory=dict[str, str])
    """The loop's concerns as the tracker was told of them last: stage by detection."""


def remembered(folder: LoopFolder, tracker: TrackerConfig) -> ThreadMemory:
    """Nothing of another tracker."""
    where = f"{tracker.kind} {tracker.url} {tracker.repository}"
    try:
        found = ThreadMemory.model_validate_json((folder.root / _MEMORY).read_bytes())
    except (OSError, ValidationError):
        return ThreadMemory(where=where)
    return found if found.where == where else ThreadMemory(where=where)


def remember(folder: LoopFolder, what: ThreadMemory) -> None:
    """As a whole or not at all: a driver may die in the midst of it."""
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.root / _MEMORY, what.model_dump_json())


def forget(folder: LoopFolder) -> None:
    """Whatever it was: another loop has the name now."""
    (folder.root / _MEMORY).unlink(missing_ok=True)
