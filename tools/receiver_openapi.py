"""Describe the receiver's endpoints as OpenAPI, from its own table.

    python tools/receiver_openapi.py

Writes docs/receiver.openapi.json. tests/contracts/test_documents.py checks that it is current, and
tests/integration/test_receiver_fuzzed.py runs it against the receiver.
"""

import json
from pathlib import Path
from typing import Any

from deployments.receiver import SENDERS, Sender

FILE = Path(__file__).parents[1] / "docs" / "receiver.openapi.json"
TEXT = {"text/plain": {"schema": {"type": "string"}}}
RESPONSES = {
    "200": "Nothing to do, or a duplicate.",
    "202": "Accepted and stored on disk.",
    "400": "The message is malformed, names no event, or has no delivery id.",
    "401": "The message is not signed.",
    "403": "The signature is wrong.",
    "404": "No such repository starts loops here.",
    "408": "The message was not complete in time.",
    "409": "The message is too old, or the clocks differ.",
    "413": "The message is too large.",
    "415": "Unsupported content type, or compressed.",
    "503": "It could not be stored, or there are too many requests; send it again.",
}
EVENT = {
    "type": "object",
    "properties": {
        "ref": {"type": "string"},
        "before": {"type": "string"},
        "after": {"type": "string"},
        "repository": {
            "type": "object",
            "properties": {"full_name": {"type": "string"}, "html_url": {"type": "string"}},
            "required": ["full_name"],
        },
    },
    "required": ["repository"],
}
"""Fields of every event of a forge, and those of a push."""


def openapi_document() -> dict[str, Any]:
    """The complete description."""
    health = {"get": {"summary": "Health check", "responses": {"200": {"description": "It is running.", "content": TEXT}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "helmsman receive", "version": "1", "description": "docs/push.md describes the set-up."},
        "paths": {**{path: {"post": _operation(sender)} for path, sender in SENDERS.items()}, "/health": health},
    }


def _operation(sender: Sender) -> dict[str, Any]:
    headers = [name for name in (sender.signature, sender.delivery, sender.event, sender.timestamp) if name]
    schema = EVENT if sender.content == "application/json" else {"type": "string"}
    return {
        "summary": f"An event of {sender.source}",
        "parameters": [{"name": name, "in": "header", "required": True, "schema": {"type": "string"}} for name in headers],
        "requestBody": {"required": True, "content": {sender.content: {"schema": schema}}},
        "responses": {status: {"description": words, "content": TEXT} for status, words in RESPONSES.items()},
    }


def main() -> None:
    FILE.write_text(json.dumps(openapi_document(), indent=2) + "\n", encoding="utf-8")
    print(f"wrote {FILE.name}")


if __name__ == "__main__":
    main()
