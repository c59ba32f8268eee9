"""A loop's issues brought up to date with how it stands. Doing it again changes nothing."""

from collections.abc import Sequence
from datetime import timedelta

from helmsman.errors import HelmsmanError
from helmsman.oversee.escalation import deeds
from helmsman.records.state import LoopState
from helmsman.records.tracking import Act, Deed, Escalation, Found, TrackedIssue
from helmsman.render.gate import evidence
from helmsman.render.issue import closing_comment, issue_body, title, tracked
from tasks.tracker.forges import IssueTracker
from tasks.tracker.remembering import remember, remembered
from tasks.worktrees.workplace import Workplace

SKEW = timedelta(days=1)
"""Clocks of a tracker and of ours may differ by so much."""


class Upkeep:
    """One loop at one tracker, for a few calls."""

    def __init__(self, tracker: IssueTracker, state: LoopState, place: Workplace) -> None:
        """Nothing is asked yet."""
        self._tracker, self._state, self._place = tracker, state, place
        self._memory = remembered(place.folder, state.config.tracker)

    def bring_up_to_date(self, wanted: Sequence[Escalation]) -> None:
        """Do what is to be done. One deed that fails keeps no other from being done; the first error is raised at the end."""
        issues = self._issues({one.detection for one in wanted})
        errors: list[HelmsmanError] = []
        for deed in deeds(wanted, [issue for issue, _ in issues.values()]):
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
        mark = tracked(known, (), self._state.uid) if known else None
        if known is not None and mark is not None and mark.detection == detection:
            return known
        about = [found for issue, found in self._issues({detection}).values() if issue.detection == detection]
        return min(about, key=lambda found: found.number, default=None)

    def _issues(self, wanted: set[str]) -> dict[int, tuple[TrackedIssue, Found]]:
        """Our issues by number: those that are open, and those about what is wanted."""
        uid, found = self._state.uid, {one.number: one for one in self._tracker.find(self._state.created_at - SKEW)}
        for number in self._memory.issues.values():
            known = found.get(number) or self._tracker.get(number)
            found |= {number: known} if known else {}
        ours_ = {one.number: (issue, one) for one in found.values() if (issue := tracked(one, (), uid))}
        needed = {number: pair for number, pair in ours_.items() if pair[0].is_open or pair[0].detection in wanted}
        return {
            number: (tracked(one, self._tracker.comments(number), uid) or issue, one) for number, (issue, one) in needed.items()
        }

    def _do(self, deed: Deed, known: tuple[TrackedIssue, Found] | None) -> None:
        one = deed.escalation
        if deed.act is Act.OPEN and one is not None:
            made = self._tracker.create(title(one), self._body(one), one.labels)
            self._keep(issues={**self._memory.issues, deed.detection: made.number})
        elif deed.act is Act.CLOSE and known is not None:
            if deed.stage:
                self._tracker.comment(deed.number, closing_comment(known[0], deed.stage, self._state))
            self._tracker.set_open(deed.number, is_open=False)
        elif one is not None:
            if deed.act is Act.COMMENT:
                self._tracker.comment(deed.number, self._body(one))
            if deed.reopen:
                self._tracker.set_open(deed.number, is_open=True)
            self._keep(issues={**self._memory.issues, deed.detection: deed.number})
            self._tracker.label(deed.number, add=deed.add, remove=deed.remove)

    def _body(self, one: Escalation) -> str:
        seen = one.gate.evidence if one.gate else ""
        answers = bool(self._state.config.tracker.allowed_users)
        return issue_body(one, seen or evidence(self._state, str(self._place.worktree)), answers=answers)

    def _keep(self, **fields: dict[str, str] | dict[str, int]) -> None:
        self._memory = self._memory.model_copy(update=fields)
        remember(self._place.folder, self._memory)
