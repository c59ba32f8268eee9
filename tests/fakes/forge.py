"""A forge on loopback, with the comments of one pull request."""

import json
from typing import Any, cast

from tests.fakes.http_server import Call, Reply


class Forge:
    """`me`: whose the token is; empty where the token may not ask."""

    def __init__(self, me: str, key: str) -> None:
        self.me, self.key = me, key
        self.comments: dict[int, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.may_write = True
        self.url = ""

    def say(self, author: str, body: str) -> int:
        number = len(self.comments) + 1
        person = {"login": author} if self.key == "user" else {"username": author}
        self.comments[number] = {"id": number, self.key: person, "body": body}
        return number

    def respond(self, call: Call) -> Reply:
        path = call.target.partition("?")[0]
        self.requests.append(f"{call.method} {path}")
        body: Any = json.loads(call.body) if call.body else {}
        status, content = 200, cast("Any", list(self.comments.values()))
        if path == "/user":
            status, content = (200, {"login": self.me, "username": self.me}) if self.me else (403, {})
        elif call.method != "GET" and not self.may_write:
            status, content = 403, {"message": "Resource not accessible by integration"}
        elif call.method == "POST":
            status, content = 201, self.comments[self.say(self.me or "github-actions[bot]", body["body"])]
        elif call.method in {"PATCH", "PUT"}:
            content = self.comments[int(path.rpartition("/")[2])]
            content["body"] = body["body"]
        return Reply(status, json.dumps(content).encode())
