"""The issue that a loop was started for, told of it in comments. Doing it again changes nothing."""

from helmsman.records.issue import IssueLink
from helmsman.records.state import LoopState
from helmsman.records.tracking import Comment
from helmsman.render import evidence, read_mark
from helmsman.render.issue import due, mark, under
from tasks.tracker.access import where
from tasks.tracker.port import Tracker
from tasks.tracker.remembering import remember, remembered
from tasks.worktrees.workplace import Workplace


class Thread:
    """One loop's issue, for a few calls."""

    def __init__(self, tracker: Tracker, state: LoopState, link: IssueLink) -> None:
        """Nothing is asked yet."""
        self._tracker, self._state, self._link = tracker, state, link

    def bring_up_to_date(self, place: Workplace) -> None:
        """Comment on what is due and was not told."""
        memory, fresh = remembered(place.folder, where(self._state.config.tracker)), news(self._state, place)
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
        told = [one for one in self._tracker.comments(self._link.number) if _by(one, ours)]
        return [found for one in told if (found := read_mark(one.body)).get("uid") == self._state.uid]


def news(state: LoopState, place: Workplace) -> tuple[tuple[str, str], ...]:
    """What is due, by stage, and not remembered here as told."""
    told = remembered(place.folder, where(state.config.tracker)).told
    return tuple((stage, body) for stage, body in due(state, evidence(state, str(place.worktree))) if stage not in told)


def _by(comment: Comment, login: str) -> bool:
    return not login or comment.author.casefold() == login
