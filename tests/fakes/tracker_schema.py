"""What the public descriptions of two APIs say of a request: GitHub's OpenAPI (2022-11-28) and Gitea's swagger.

Of each operation that we use: its query and its body with their types, and which of them it requires. What a description does not
name is a violation, though a real server might pass over it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from helmsman.parsers.loose import items

Kind = Literal["github", "gitea"]
Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    """As a pattern below the repository."""
    act: str
    """Method of the server that does it."""
    query: Mapping[str, Check] = field(default_factory=dict[str, Check])
    body: Mapping[str, Check] | None = None
    required: tuple[str, ...] = ()


def one_of(*values: str) -> Check:
    return lambda value: value in values


def pattern(expression: str) -> Check:
    return lambda value: isinstance(value, str) and re.fullmatch(expression, value) is not None


def list_of(kind: type) -> Check:
    return lambda value: isinstance(value, list) and {type(one) for one in items(cast("object", value))} <= {kind}


def text(value: Any) -> bool:
    return isinstance(value, str)


WORDS = pattern(r"(?s).*\S.*")
NUMBER = pattern(r"[1-9]\d*")
MOMENT = pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
STATES = one_of("open", "closed", "all")
ISSUE = r"/issues/(\d+)"
PULL: Mapping[str, Check] = {"title": WORDS, "body": text, "head": WORDS, "base": WORDS}
HUNDRED: Check = lambda value: NUMBER(value) and int(value) <= 100  # noqa: E731 - one of a row of checks
LISTED = {"state": STATES, "labels": WORDS, "since": MOMENT, "page": NUMBER}
EDITED = {"title": WORDS, "body": text, "state": one_of("open", "closed")}
SHORT = pattern(r".{0,100}")
REASON = one_of("completed", "not_planned", "duplicate", "reopened")
SORTED = {"sort": one_of("created", "updated", "comments"), "direction": one_of("asc", "desc"), "creator": WORDS}


def _shared(label: type, colour: Check) -> tuple[Operation, ...]:
    """Operations that both have, as the stricter of them demands: labels by name or by number, a colour in either form."""
    issue, named = (
        {"title": WORDS, "body": text, "labels": list_of(label)},
        {"name": WORDS, "color": colour, "description": SHORT},
    )
    return (
        Operation("POST", "/issues", "create_issue", {}, issue, ("title",)),
        Operation("GET", ISSUE, "get_issue"),
        Operation("POST", f"{ISSUE}/comments", "create_comment", {}, {"body": WORDS}, ("body",)),
        Operation("POST", "/labels", "create_label", {}, named, ("name", "color")),
        Operation("POST", f"{ISSUE}/labels", "add_labels", {}, {"labels": list_of(label)}, ("labels",)),
        Operation("GET", "/user", "get_user"),
        Operation("POST", "/pulls", "create_pull", {}, PULL, ("head", "base", "title")),
    )


GITHUB = (
    *_shared(str, pattern(r"[0-9a-f]{6}")),
    Operation("GET", "/issues", "list_issues", {**LISTED, **SORTED, "per_page": HUNDRED}),
    Operation("PATCH", ISSUE, "edit_issue", {}, {**EDITED, "labels": list_of(str), "state_reason": REASON}),
    Operation("GET", f"{ISSUE}/comments", "list_comments", {"since": MOMENT, "per_page": HUNDRED, "page": NUMBER}),
    Operation("GET", "/labels", "list_labels", {"per_page": NUMBER, "page": NUMBER}),
    Operation("DELETE", rf"{ISSUE}/labels/([^/]+)", "remove_label"),
    Operation("GET", "/pulls", "list_pulls",
              {"state": STATES, "head": pattern(r"[^:]+:\S+"), "base": WORDS, "per_page": NUMBER, "page": NUMBER}),
)  # fmt: skip

GITEA = (
    *_shared(int, pattern(r"#[0-9a-f]{6}")),
    Operation(
        "GET", "/issues", "list_issues", {**LISTED, "limit": NUMBER, "type": one_of("issues", "pulls"), "created_by": WORDS}
    ),
    Operation("PATCH", ISSUE, "edit_issue", {}, EDITED),
    Operation("GET", f"{ISSUE}/comments", "list_comments", {"since": MOMENT, "before": MOMENT}),
    Operation("GET", "/labels", "list_labels", {"limit": NUMBER, "page": NUMBER}),
    Operation("DELETE", rf"{ISSUE}/labels/(\d+)", "remove_label"),
    Operation("GET", r"/pulls/([^/]+)/([^/]+)", "get_pull"),
    Operation("GET", "/pulls", "list_pulls", {"state": STATES, "limit": NUMBER, "page": NUMBER}),
)

OPERATIONS: Mapping[Kind, tuple[Operation, ...]] = {"github": GITHUB, "gitea": GITEA}

HEADERS: Mapping[Kind, Mapping[str, Check]] = {
    "github": {
        "authorization": pattern(r"Bearer \S+"),
        "accept": one_of("application/vnd.github+json"),
        "x-github-api-version": one_of("2022-11-28"),
        "user-agent": WORDS,
    },
    "gitea": {"authorization": pattern(r"token \S+"), "accept": one_of("application/json")},
}


def violations(kind: Kind, operation: Operation, headers: Mapping[str, str], query: Mapping[str, str], body: Any) -> list[str]:
    """What a request does that its description does not allow."""
    wrong = [f"header {name}" for name, check in HEADERS[kind].items() if not check(headers.get(name))]
    wrong += [f"query {name}" for name, value in query.items() if not operation.query.get(name, _never)(value)]
    if operation.body is None:
        return wrong + (["a body"] if body is not None else [])
    if not isinstance(body, dict) or headers.get("content-type") != "application/json":
        return [*wrong, "no JSON object as body"]
    fields: dict[str, Any] = body  # pyright: ignore[reportUnknownVariableType] - JSON
    wrong += [f"without {name}" for name in operation.required if name not in fields]
    return wrong + [f"body {name}" for name, value in fields.items() if not operation.body.get(name, _never)(value)]


def _never(_: Any) -> bool:
    return False
