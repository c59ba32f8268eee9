"""What the driver calls: tell what is new of a loop, and listen for an answer. Neither ever raises or takes long."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from helmsman.errors import HelmsmanError
from helmsman.oversee.escalation import changes, concerns
from helmsman.records.gates import Answer
from helmsman.records.state import LoopState
from helmsman.records.tracking import IssueLink
from helmsman.render.gate import evidence
from helmsman.render.issue import due, mark, notification, read_mark, under
from tasks.observers.notify import notify
from tasks.tracker.answers import heard_answer
from tasks.tracker.forges import IssueTracker, open_tracker
from tasks.tracker.remembering import remember, remembered
from tasks.tracker.upkeep import Upkeep
from tasks.worktrees.workplace import Workplace

TELLING_SECONDS = 30.0
"""For all calls of one telling."""
LISTENING_SECONDS = 10.0

_log = logging.getLogger(__name__)
_last_told: dict[str, LoopState] = {}
_complaints: dict[str, str] = {}
"""By loop and deed, what went wrong last: a tracker that is away is not complained of every half a minute."""


def tell(before: LoopState | None, after: LoopState, place: Workplace) -> None:
    """Bring the tracker up to date with a loop, and notify of what is new. `before`: None at a start, where nothing is new.

    What a tracker could not be told is made up for the next time.
    """
    if after.config.tracker.kind:
        with _complaining(f"{after.uid} tell"):
            _tell_tracker(after, place)
    if before is not None and after.config.tracker.notify:
        with _complaining(f"{after.uid} notify"):
            for change in changes(before, after):
                subject, body = notification(change, after)
                notify(after.config.tracker.notify, subject, body)


def tell_news(state: LoopState, place: Workplace) -> None:
    """Tell what is new since this process told of the loop last."""
    before = _last_told.get(state.uid)
    _last_told[state.uid] = state
    tell(before, state, place)


def answer_from_tracker(state: LoopState, place: Workplace) -> Answer | None:
    """The answer to the open question that stands in a comment; None where there is none, or it cannot be asked for."""
    config = state.config.tracker
    if state.gate is None or state.issue is not None or not config.kind or not config.allowed_users:
        return None  # comments at the issue that a loop was started for come as events
    with _complaining(f"{state.uid} listen"), open_tracker(config, LISTENING_SECONDS) as tracker:
        return heard_answer(tracker, state, place)
    return None


class TrackerEar:
    """Listens for an answer to a question as often as is configured, however often it is asked."""

    def __init__(self, state: LoopState, place: Workplace) -> None:
        """It listens the first time that it is asked."""
        self._state, self._place, self._next = state, place, 0.0

    def __call__(self) -> Answer | None:
        if time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + self._state.config.tracker.poll_seconds
        return answer_from_tracker(self._state, self._place)


def _tell_tracker(state: LoopState, place: Workplace) -> None:
    """Nothing is asked where nothing is new. A loop that was started for an issue tells that one, and opens no other."""
    if state.issue is not None:
        if news(state, place):
            with open_tracker(state.config.tracker, TELLING_SECONDS) as tracker:
                Thread(tracker, state, state.issue).bring_up_to_date(place)
        return
    wanted, config = concerns(state), state.config.tracker
    if remembered(place.folder, config).told == {one.detection: one.stage for one in wanted}:
        return
    with open_tracker(config, TELLING_SECONDS) as tracker:
        Upkeep(tracker, state, place).bring_up_to_date(wanted)


def reply(state: LoopState, comment: int | str, text: str) -> None:
    """Answer a comment at the issue that a loop was started for, or another event by its own name, once. Never raises."""
    if state.issue is None or not state.config.tracker.kind:
        return
    with _complaining(f"{state.uid} reply"), open_tracker(state.config.tracker, TELLING_SECONDS) as tracker:
        Thread(tracker, state, state.issue).reply(comment, text)


class Thread:
    """The issue that a loop was started for, told of it in comments. Doing it again changes nothing."""

    def __init__(self, tracker: IssueTracker, state: LoopState, link: IssueLink) -> None:
        """Nothing is asked yet."""
        self._tracker, self._state, self._link = tracker, state, link

    def bring_up_to_date(self, place: Workplace) -> None:
        """Comment on what is due and was not told."""
        memory, fresh = remembered(place.folder, self._state.config.tracker), news(self._state, place)
        there = {one.get("stage") for one in self._marks()} if fresh else set[str | None]()
        for stage, body in fresh:
            if stage not in there:
                self._tracker.comment(self._link.number, body)
            memory = memory.model_copy(update={"told": {**memory.told, stage: stage}})
            remember(place.folder, memory)

    def reply(self, comment: int | str, text: str) -> None:
        """Answer a comment, or another event by its own name, once."""
        if not any(one.get("reply") == str(comment) for one in self._marks()):
            self._tracker.comment(self._link.number, under(mark(uid=self._state.uid, reply=str(comment)), text))

    def _marks(self) -> list[dict[str, str]]:
        """Those of our comments. Who may not know whose the token is takes every mark of this loop for ours."""
        ours = self._tracker.login().casefold()
        told = [one for one in self._tracker.comments(self._link.number) if not ours or one.author.casefold() == ours]
        return [found for one in told if (found := read_mark(one.body)).get("uid") == self._state.uid]


def news(state: LoopState, place: Workplace) -> tuple[tuple[str, str], ...]:
    """What is due, by stage, and not remembered here as told."""
    told = remembered(place.folder, state.config.tracker).told
    return tuple((stage, body) for stage, body in due(state, evidence(state, str(place.worktree))) if stage not in told)


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
            _log.warning("people could not be told of the loop, or heard: %s", complaint)
