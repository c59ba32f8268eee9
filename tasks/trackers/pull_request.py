"""Deliver the result of a loop that was started for an issue: push its branch and open a pull request with the report."""

from helmsman.errors import OperatorError
from helmsman.parsers.issues import read_mark
from helmsman.records.state import LoopState
from helmsman.records.tracking import PullRequest
from helmsman.render.issue import pull_request_body, pull_request_title
from tasks.repository.branch_files import proven_tip
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import push_branch
from tasks.trackers.forges import open_tracker

PATIENCE_SECONDS = 60.0
"""Total for all calls of one attempt."""


def open_pull_request(context: LoopContext, state: LoopState) -> PullRequest:
    """Push and open the pull request; idempotent. Raises TransientError, or OperatorError if somebody has to fix something."""
    link = state.issue
    if link is None:
        raise OperatorError(f"loop {state.loop} was not started for an issue")
    if proven_tip(context.repository, state) == state.base_commit:
        raise OperatorError(
            "there is nothing to merge: the loop changed nothing",
            expected="commits that the base does not have",
            remedy="describe in the issue what is missing, add a check that shows it, and continue",
        )
    push_branch(context.repository, state)
    with open_tracker(state.config.tracker, PATIENCE_SECONDS) as tracker:
        existing = tracker.pull_request(state.branch, state.base_branch)
        if existing and not existing.is_open and read_mark(existing.body).get("uid") != state.uid:
            existing = None  # of a removed loop with the same name
        title, body = pull_request_title(link), pull_request_body(state, link)
        return existing or tracker.open_pull_request(title, body, state.branch, state.base_branch)
