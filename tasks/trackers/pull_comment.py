"""One comment on the pull request that a CI job runs for, kept current: GitHub, Gitea and GitLab, as their variables tell."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from helmsman.errors import OperatorError
from helmsman.parsers.loose import mapping
from tasks.trackers.client import NAMELESS, TOKEN, Api, identity_of

PATIENCE = 30.0
"""Seconds for all calls together."""
BOTS = frozenset({"github-actions[bot]", "gitea-actions"})
"""Who a job's own token writes as, where it may not ask who it is."""
LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""


class Thread(NamedTuple):
    """Where the comments of one pull request are."""

    url: str
    authorization: Mapping[str, str]
    token: str
    comments: str
    """Path of the list; a new one goes there, too."""
    comment: str
    """Path of one, with `{id}` in it."""
    change: str
    """Method that changes one."""


def thread_of(variables: Mapping[str, str]) -> Thread:
    """The pull request that this job runs for. Raises OperatorError where it runs for none, or has no token."""
    found = _gitlab(variables) if variables.get("GITLAB_CI") else _github(variables)
    if found is None:
        raise OperatorError(
            "there is no pull request to comment on",
            expected="a job of GitHub, Gitea or GitLab that runs for a pull or merge request",
            remedy="run it on the event pull_request or in a merge request pipeline, or leave --comment out",
        )
    if not found.token:
        raise OperatorError(
            "there is no token to comment with",
            expected=f"{TOKEN} (GitLab), or GITHUB_TOKEN with the permission pull-requests: write",
        )
    return found


def keep_comment(thread: Thread, mark: str, body: str) -> str:
    """Change the comment that begins with the mark, or make it. Returns `made` or `changed`.

    Anybody may write a comment that looks like it; what they wrote is left alone.
    """
    with Api(thread.url, {"Accept": "application/json", **thread.authorization}, PATIENCE) as api:
        reply = api.call("GET", "/user", accept=NAMELESS)
        ours = BOTS if reply.status in NAMELESS else frozenset({_login(reply.content)})
        marked = [one for one in api.pages(thread.comments, per_page=100) if str(one.get("body")).startswith(mark)]
        earlier = [one for one in marked if _login(one.get("user") or one.get("author")) in ours]
        content = {"body": body[:LONGEST]}
        if earlier:
            api.call(thread.change, thread.comment.format(id=identity_of(earlier[-1])), content)
            return "changed"
        api.call("POST", thread.comments, content)
        return "made"


def _login(user: Any) -> str:
    return str(mapping(user).get("login") or mapping(user).get("username") or "")


def _github(variables: Mapping[str, str]) -> Thread | None:
    """Gitea's runner sets the same variables."""
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
