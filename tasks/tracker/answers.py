"""Answers in comments: by allowed users alone, after the question was told, in their own words; each is replied to once."""

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.oversee.commands_said import answer_in, command_in
from helmsman.oversee.escalation import concerns, question_detection
from helmsman.records.gates import Answer, Gate
from helmsman.records.state import LoopState
from helmsman.records.tracking import Comment, Found
from helmsman.render.issue import is_ours, read_mark, refused, reply, understood
from tasks.tracker.forges import IssueTracker
from tasks.tracker.upkeep import SKEW, Upkeep
from tasks.worktrees.workplace import Workplace

EDITED = "a comment that was changed does not count, because anybody with write access may change it; say it in a new one"
_log = logging.getLogger(__name__)


def heard_answer(tracker: IssueTracker, state: LoopState, place: Workplace) -> Answer | None:
    """The first answer to the loop's open question that can be followed. A question that was never told is told now."""
    gate = state.gate
    if gate is None:
        return None
    upkeep = Upkeep(tracker, state, place)
    found = upkeep.known_issue(question_detection(state))
    comments = tracker.comments(found.number, gate.asked_at - SKEW) if found else ()
    after = _after_question(found, comments, gate) if found else None
    if found is None or after is None:
        upkeep.bring_up_to_date(concerns(state))
        return None
    replied = {read_mark(one.body).get("reply", "") for one in comments if is_ours(one, found)}
    users = {user.casefold() for user in state.config.tracker.allowed_users}
    for comment in (one for one in after if one.author.casefold() in users and not is_ours(one, found)):
        said, answer = _taken(state, comment)
        if said and str(comment.identity) not in replied:
            with _told():
                tracker.comment(found.number, reply(comment, state.uid, said))
        if answer is not None:
            return answer
    return None


def _after_question(found: Found, comments: Sequence[Comment], gate: Gate) -> Sequence[Comment] | None:
    """The comments since the question stands there, by the tracker's own order; None where it does not."""
    for at, comment in enumerate(comments):
        if is_ours(comment, found) and read_mark(comment.body).get("stage") == gate.key:
            return comments[at + 1 :]
    return comments if read_mark(found.body).get("stage") == gate.key else None


def _taken(state: LoopState, comment: Comment) -> tuple[str, Answer | None]:
    """What is replied, and the answer; nothing for a comment that is not meant for us."""
    command, gate = command_in(comment.body), state.gate
    if command is None or gate is None:
        return "", None
    if comment.edited:
        return refused(EDITED, gate), None
    try:
        answer = answer_in(command, state, by=comment.author, at=comment.created_at)
    except OperatorError as error:
        return refused(str(error), gate), None
    return understood(answer, gate), answer


@contextmanager
def _told() -> Generator[None]:
    """A reply only tells: an answer counts without it."""
    try:
        yield
    except HelmsmanError as error:
        _log.warning("a comment could not be replied to: %s", error)
