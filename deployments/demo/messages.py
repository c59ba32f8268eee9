"""From a turn to the bytes of a response, as the Messages API sends them: a message, its event stream, or an error."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

from deployments.demo.turns import Json, Turn

_USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_EMPTY_BLOCKS: dict[str, Json] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": {}},
}

_DELTAS: dict[str, Callable[[Json], tuple[Json, ...]]] = {
    "thinking": lambda block: (
        {"type": "thinking_delta", "thinking": block["thinking"]},
        {"type": "signature_delta", "signature": block["signature"]},
    ),
    "text": lambda block: ({"type": "text_delta", "text": block["text"]},),
    "tool_use": lambda block: ({"type": "input_json_delta", "partial_json": json.dumps(block["input"])},),
}


@dataclass(frozen=True, kw_only=True)
class Response:
    status: int = 200
    content_type: str = "application/json"
    body: bytes
    middle: int
    """Where the body may be interrupted: what stands before it is already a part of the message."""


def response_for(turn: Turn, body: Json) -> Response:
    if turn.status is not None:
        error = json.dumps(_error(turn)).encode()
        return Response(status=turn.status, body=error, middle=len(error) // 2)
    message = _message(turn, body.get("model", "scripted"))
    if body.get("stream"):
        return _streamed(list(_events(message)))
    whole = json.dumps(message).encode()
    return Response(body=whole, middle=len(whole) // 2)


def _error(turn: Turn) -> Json:
    kind = turn.error_type or _ERROR_TYPES.get(turn.status or 500, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": turn.error_message or kind},
        "request_id": new_id("req"),
    }


def _message(turn: Turn, model: str) -> Json:
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(_blocks(turn)),
        "stop_reason": turn.stop_reason or ("tool_use" if turn.tools else "end_turn"),
        "stop_sequence": None,
        "usage": {**_USAGE, **turn.usage},
    }


def _blocks(turn: Turn) -> Iterator[Json]:
    if turn.thinking is not None:
        yield {"type": "thinking", "thinking": turn.thinking, "signature": "scripted"}
    if turn.text is not None:
        yield {"type": "text", "text": turn.text}
    for name, arguments in turn.tools:
        yield {"type": "tool_use", "id": new_id("toolu"), "name": name, "input": dict(arguments)}


def new_id(kind: str) -> str:
    return f"{kind}_{uuid4().hex[:24]}"  # unlike a count, still unique when a session is resumed with another model


def _events(message: Json) -> Iterator[Json]:
    unfinished: Json = {"content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": {**message, **unfinished}}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Json) -> Iterator[Json]:
    kind = block["type"]
    yield {"type": "content_block_start", "index": index, "content_block": {**block, **_EMPTY_BLOCKS[kind]}}
    for delta in _DELTAS[kind](block):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _streamed(events: list[Json]) -> Response:
    parts = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    first_delta = next(place for place, event in enumerate(events) if event["type"].endswith("_delta"))
    middle = sum(len(part) for part in parts[: first_delta + 1])
    return Response(content_type="text/event-stream; charset=utf-8", body=b"".join(parts), middle=middle)
