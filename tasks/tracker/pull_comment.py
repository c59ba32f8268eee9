"""One comment on the pull request that a CI job runs for, kept current: GitHub, Gitea and GitLab, as their variables tell."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from helmsman.errors import OperatorError
from helmsman.parsers.loose import mapping
from tasks.tracker.calling import TOKEN, Api, identity_of

PATIENCE = 30.0
"""Seconds for all calls together."""
BOTS = frozenset({"github-actions[bot]", "gitea-actions"})
"""Who a job's own token writes as, where it may not ask who it is."""
NAMELESS = frozenset({401, 403, 404})
LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""


@dataclass(frozen=True)
class Thread:
    """Where the comments of one pull request are."""

    url: str
    headers: Mapping[str, str]
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
    """Change the comment that begins with the mark, or make it. Returns `made` or `changed`."""
    with Api(thread.url, thread.headers, thread.token, PATIENCE) as api:
        reply = api.call("GET", "/user", accept=NAMELESS)
        ours = BOTS if reply.status in NAMELESS else frozenset({_login(reply.content)})
        earlier = [one for one in api.pages(thread.comments, per_page=100) if _is_ours(one, mark, ours)]
        content = {"body": body[:LONGEST]}
        if earlier:
            api.call(thread.change, thread.comment.format(id=identity_of(earlier[-1])), body=content)
            return "changed"
        api.call("POST", thread.comments, body=content)
        return "made"


def _is_ours(comment: Mapping[str, Any], mark: str, authors: frozenset[str]) -> bool:
    """Anybody may write a comment that looks like it; what they wrote is left alone."""
    author = comment.get("user") or comment.get("author")
    return str(comment.get("body")).startswith(mark) and _login(author) in authors


def _login(user: Any) -> str:
    return str(mapping(user).get("login") or mapping(user).get("username") or "")


def _github(variables: Mapping[str, str]) -> Thread | None:
    """Gitea's runner sets the same variables."""
    number = _pull_number(variables.get("GITHUB_EVENT_PATH", ""))
    repository, url = variables.get("GITHUB_REPOSITORY", ""), variables.get("GITHUB_API_URL", "")
    if not (number and repository and url):
        return None
    token = variables.get(TOKEN) or variables.get("GITHUB_TOKEN") or ""
    scheme = "token" if variables.get("GITEA_ACTIONS") else "Bearer"
    issues = f"/repos/{repository}/issues"
    headers = {"Accept": "application/json", "Authorization": f"{scheme} {token}"}
    return Thread(url, headers, token, f"{issues}/{number}/comments", f"{issues}/comments/{{id}}", "PATCH")


def _pull_number(event: str) -> int | None:
    try:
        number = mapping(mapping(json.loads(Path(event).read_bytes())).get("pull_request")).get("number")
    except (OSError, ValueError):
        return None
    return number if isinstance(number, int) else None


def _gitlab(variables: Mapping[str, str]) -> Thread | None:
    url, project = variables.get("CI_API_V4_URL", ""), variables.get("CI_PROJECT_ID", "")
    number, token = variables.get("CI_MERGE_REQUEST_IID", ""), variables.get(TOKEN, "")
    if not (url and project and number):
        return None
    notes = f"/projects/{quote(project, safe='')}/merge_requests/{quote(number, safe='')}/notes"
    return Thread(url, {"PRIVATE-TOKEN": token}, token, notes, f"{notes}/{{id}}", "PUT")
