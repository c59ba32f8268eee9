"""What GitHub and Gitea send of issues, in the shape of their descriptions, as far as anybody reads it."""

import json
from typing import Any, Literal

from tests.fakes.tracker_api import REPOSITORY

Kind = Literal["github", "gitea"]
UPDATED = "2026-11-22T12:00:00Z"


def issue_event(kind: Kind, action: str, number: int = 7, **changes: Any) -> bytes:
    """An `issues` event. `sender` and `author` are logins, `labels` names, `about` the one label that was set or taken."""
    sender, author = changes.pop("sender", "alice"), changes.pop("author", "mallory")
    labels, about = changes.pop("labels", ["helmsman"]), changes.pop("about", "helmsman")
    repository = changes.pop("repository", {})
    issue: dict[str, Any] = {
        "number": number,
        "title": "The answer is missing",
        "body": "There shall be a file `answer`.",
        "state": "open",
        "user": _person(kind, author),
        "labels": [{"id": 1, "name": name} for name in labels],
        "updated_at": UPDATED,
        **({"author_association": "NONE"} if kind == "github" else {"pull_request": None}),
        **changes.pop("issue", {}),
    }
    own = {"label": {"name": about}} if kind == "github" and action in {"labeled", "unlabeled"} else {}
    home = {"full_name": REPOSITORY, "html_url": f"https://git.example.org/{REPOSITORY}", "default_branch": "main", **repository}
    told = {"action": action, "issue": issue, "repository": home, "sender": _person(kind, sender), **own, **changes}
    return json.dumps(told if kind == "github" else {"number": number, "commit_id": "", **told}).encode()


def comment_event(kind: Kind, said: str, identity: int = 99, *, by: str = "alice", **changes: Any) -> bytes:
    """An `issue_comment` event."""
    association = {"author_association": changes.pop("association", "NONE")} if kind == "github" else {}
    stamps = {"created_at": UPDATED, "updated_at": UPDATED}
    comment = {"id": identity, "body": said, "user": _person(kind, by), **stamps, **association}
    more = {"is_pull": False} if kind == "gitea" else {}
    return issue_event(kind, changes.pop("action", "created"), sender=by, comment=comment, **more, **changes)


def _person(kind: Kind, login: str) -> dict[str, Any]:
    bot = "Bot" if login.endswith("[bot]") else "User"
    return {"id": 1, "login": login, **({"type": bot} if kind == "github" else {"username": login})}
