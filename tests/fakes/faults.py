"""Faults of the scripted model: HTTP errors, silence, broken streams, and rare stop reasons."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from deployments.demo_model import Exchange, Json, Turn, new_id, response_for

ERROR_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error",
    529: "overloaded_error",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fault(Turn):
    """With `status` an HTTP error, with `hang` and `cut` a broken message; else a message that ends as it says."""

    stop_reason: str | None = None
    status: int | None = None
    error_type: str = ""
    """Empty: the type that the API has for this status."""
    error_message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: float = 0
    """Seconds before the answer begins."""
    hang: float = 0
    """Seconds of silence in mid-stream."""
    cut: bool = False
    """Close the connection in mid-stream. A client that tries again takes the next turn."""

    @property
    def ending(self) -> str:
        return self.stop_reason or super().ending

    def play(self, exchange: Exchange, body: Json) -> None:
        exchange.stopping.wait(self.delay)
        content, answer = response_for(self, body) if self.status is None else ("application/json", self._error())
        exchange.begin(self.status or 200, content, len(answer), self.headers)
        middle = _middle(answer)
        exchange.wfile.write(answer[:middle])
        exchange.stopping.wait(self.hang)
        if self.cut:
            exchange.close_connection = True
            return
        exchange.wfile.write(answer[middle:])

    def _error(self) -> bytes:
        kind = self.error_type or ERROR_TYPES.get(self.status or 0, "api_error")
        said = {"type": kind, "message": self.error_message or kind}
        return json.dumps({"type": "error", "error": said, "request_id": new_id("req")}).encode()


def _middle(answer: bytes) -> int:
    """Where it may be interrupted: what stands before is already a part of the message."""
    delta = re.search(rb"event: \w+_delta\n.*\n\n", answer)
    return delta.end() if delta else len(answer) // 2
