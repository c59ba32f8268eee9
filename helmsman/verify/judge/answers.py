"""From what the judge's model sent to one answer: the event stream of the CLI. The API's own client folds its stream."""

import json
from collections.abc import Mapping
from typing import Any

from helmsman.parsers.loose import items, mapping, text
from helmsman.records.base import Reply, Usage

LONGEST = 100_000  # characters of an answer; more than any rubric needs
STRUCTURED = "StructuredOutput"  # the tool by which the CLI has its model answer in a given form
_TOO_MANY = 2
_CUT_OFF = "max_tokens"
_NO_FORM = "structured_output_retry_exhausted"
_FORMLESS = frozenset({"error_max_structured_output_retries", "error_max_turns"})


class CliReader:
    """Finds the answer in the events of one call of the CLI."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._message = ""
        self._given: list[str] = []
        self._result: Mapping[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        if event.get("type") == "result":
            self._result = event
        elif event.get("type") == "assistant":
            # of the last message that fills in the form: each event carries one block of it
            message = mapping(event.get("message"))
            blocks = (mapping(block) for block in items(message.get("content")))
            inputs = [_written(block.get("input")) for block in blocks if block.get("name") == STRUCTURED]
            if inputs and message.get("id") != self._message:
                self._message, self._given = text(message.get("id")), []
            self._given = (self._given + inputs)[:_TOO_MANY]

    def answer(self, usage: Usage) -> Reply | None:
        """The answer, or how the model failed to give one; None where it is not the model that failed."""
        result = self._result
        stop = text(result.get("stop_reason")) or "unknown"
        if stop != "refusal":
            formless = _NO_FORM if text(result.get("subtype")) in _FORMLESS else ""
            failed = _CUT_OFF if result.get("api_error") == "max_output_tokens" else formless
            if not failed and (result.get("subtype") != "success" or result.get("is_error") is not False):
                return None
            stop = failed or stop
        # Two forms filled in in one message are no answer, even if the CLI takes the last.
        given = self._given if isinstance(result.get("structured_output"), Mapping) else [text(result.get("result"))]
        return Reply(text="\n".join(given)[: LONGEST + 1], stop=stop, usage=usage)


def _written(form: object) -> str:
    try:
        return json.dumps(form)[: LONGEST + 1]
    except RecursionError:  # nesting beyond all measure
        return ""
