"""Pull requests: open one with the result of a loop for an issue, and keep one comment current on that of a CI job.

GitHub, Gitea and GitLab are detected by the variables of their jobs.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from helmsman.errors import OperatorError
from helmsman.parsers.issues import BOTS as GITEA_BOTS
from helmsman.parsers.issues import read_mark
from helmsman.parsers.loose import mapping
from helmsman.records.state import LoopState
from helmsman.records.tracking import PullRequest
from helmsman.render.issue import pull_request_body, pull_request_title
from tasks.repository.branch_files import proven_tip
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import push_branch
from tasks.trackers.client import NO_USER_STATUSES, TOKEN, Api, identity_of
from tasks.trackers.forges import open_tracker

PATIENCE_SECONDS = 60.0
"""Total for all calls of one attempt."""
COMMENT_SECONDS = 30.0
"""The same for the comment."""
BOTS = frozenset({"github-actions[bot]", *GITEA_BOTS})
"""Authors of comments made with a job's own token, which may not read its user."""
NEEDED = f"GITHUB_TOKEN with the permission pull-requests: write, or on GitLab {TOKEN} with the scope api"
LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""


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


class Thread(NamedTuple):
    """API endpoints for the comments of one pull request."""

    url: str
    authorization: Mapping[str, str]
    token: str
    comments: str
    """Path of the list, also for new comments."""
    comment: str
    """Path of one comment, with `{id}`."""
    change: str
    """HTTP method that changes a comment."""


def thread_of(variables: Mapping[str, str]) -> Thread:
    """Endpoints of the job's pull request. Raises OperatorError if there is none, or no token."""
    thread = _gitlab(variables) if variables.get("GITLAB_CI") else _github(variables)
    if thread is None:
        raise OperatorError(
            "there is no pull request to comment on",
            expected="a job of GitHub, Gitea or GitLab that runs for a pull or merge request",
            remedy="run it on the event pull_request or in a merge request pipeline, or omit --comment",
        )
    if not thread.token:
        raise OperatorError("there is no token to comment with", expected=NEEDED)
    return thread


def update_comment(thread: Thread, mark: str, body: str) -> str:
    """Update our comment that begins with the mark, or create it. Returns `created` or `updated`.

    Comments of other users with the same mark are left alone.
    """
    try:
        return _update(thread, mark, body)
    except OperatorError as error:  # its remedy is about a loop's tracker
        raise OperatorError("the comment was rejected", expected=NEEDED, found=error.found) from error


def _update(thread: Thread, mark: str, body: str) -> str:
    with Api(thread.url, {"Accept": "application/json", **thread.authorization}, COMMENT_SECONDS) as api:
        reply = api.call("GET", "/user", accept=NO_USER_STATUSES)
        own_logins = BOTS if reply.status in NO_USER_STATUSES else frozenset({_login(reply.content)})
        marked = [comment for comment in api.pages(thread.comments, per_page=100) if str(comment.get("body")).startswith(mark)]
        own = [comment for comment in marked if _login(comment.get("user") or comment.get("author")) in own_logins]
        content = {"body": body[:LONGEST]}
        if own:
            api.call(thread.change, thread.comment.format(id=identity_of(own[-1])), content)
            return "updated"
        api.call("POST", thread.comments, content)
        return "created"


def _login(user: Any) -> str:
    return str(mapping(user).get("login") or mapping(user).get("username") or "")


def _github(variables: Mapping[str, str]) -> Thread | None:
    """Endpoints from the variables of GitHub; Gitea's runner sets the same ones."""
    number, repository, url = None, variables.get("GITHUB_REPOSITORY", ""), variables.get("GITHUB_API_URL", "")
    with suppress(OSError, ValueError):
        event = mapping(json.loads(Path(variables.get("GITHUB_EVENT_PATH", "")).read_bytes()))
        number = mapping(event.get("pull_request")).get("number")
    if not (isinstance(number, int) and number and repository and url):
        return None
    token = variables.get(TOKEN) or variables.get("GITHUB_TOKEN") or ""
    scheme = "token" if variables.get("GITEA_ACTIONS") else "Bearer"
    issues = f"/repos/{repository}/issues"
    comments, comment = f"{issues}/{number}/comments", f"{issues}/comments/{{id}}"
    return Thread(url, {"Authorization": f"{scheme} {token}"}, token, comments, comment, "PATCH")


def _gitlab(variables: Mapping[str, str]) -> Thread | None:
    url, project = variables.get("CI_API_V4_URL", ""), variables.get("CI_PROJECT_ID", "")
    number, token = variables.get("CI_MERGE_REQUEST_IID", ""), variables.get(TOKEN, "")
    if not (url and project and number):
        return None
    notes = f"/projects/{quote(project, safe='')}/merge_requests/{quote(number, safe='')}/notes"
    return Thread(url, {"PRIVATE-TOKEN": token}, token, notes, f"{notes}/{{id}}", "PUT")
