"""Asking the judge by the Messages API. The answer is streamed, so that a long one keeps its connection and a wait has an end.

The form is asked for as structured output and not by forcing a tool: Opus 5.5, Sonnet 5.5 and Fable 5.1 refuse forced tools.
"""

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

import httpx

from helmsman.config import JudgeConfig
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, TransientError
from helmsman.prices import priced
from helmsman.records.base import Reply, Usage
from helmsman.records.iteration import Question
from helmsman.verify.judge.answers import LONGEST
from helmsman.verify.judge.request import ANSWER_TOKENS
from tasks.system.secrets import redact

if TYPE_CHECKING:
    from anthropic import Anthropic, APIError
    from anthropic.lib.streaming import MessageStreamManager
    from anthropic.types import TextBlockParam

_RETRIES = 1  # of the client's own, within seconds; after it the whole step is tried again
_CONNECT = 10.0  # seconds
_HEED = 0.2  # seconds between two looks at whether to stop
_WORDS = 500

_CREDENTIALS = ("the judge's credentials were refused", "give a valid ANTHROPIC_API_KEY, in the environment or in a block")
_CREDIT = ("the judge's account has no credit", "add credit to the account of the key, or set judge.way to claude")
_REQUEST = ("the judge's request was refused", "set judge.model to one with structured outputs and a larger context")
_MODEL = ("the judge's model is not known to the API", "set judge.model to a model that the key may use")
_ADDRESS = ("the judge's API has no usable address", "correct ANTHROPIC_BASE_URL; it begins with https:// or http://")

_BY_STATUS = {
    400: _REQUEST,
    401: _CREDENTIALS,
    402: _CREDIT,
    403: _CREDENTIALS,
    404: _MODEL,
    413: _REQUEST,
    422: _REQUEST,
}
"""What the operator can fix, by the status of the answer; everything else may pass by itself."""


def ask_by_api(request: Question, config: JudgeConfig, *, environment: Mapping[str, str], stop: Callable[[], bool]) -> Reply:
    """One vote. Raises OperatorError, TransientError, and Cancelled soon after `stop` says so.

    The client waits in a thread of its own, because nothing wakes it between two events; once cancelled, nobody hears it.
    """
    outcome: Queue[Reply | Exception] = Queue()
    arguments = request, config, environment, outcome
    threading.Thread(target=_put_answer, args=arguments, name="judge", daemon=True).start()
    while True:
        with suppress(Empty):
            answer = outcome.get(timeout=_HEED)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if stop():
            raise Cancelled("cancelled while the judge was asked")


def _put_answer(
    request: Question, config: JudgeConfig, environment: Mapping[str, str], outcome: "Queue[Reply | Exception]"
) -> None:
    try:
        outcome.put(_answer(request, config, environment))
    except Exception as error:  # noqa: BLE001 - it is raised again where somebody waits for it
        outcome.put(error)


def _answer(request: Question, config: JudgeConfig, environment: Mapping[str, str]) -> Reply:
    deadline = time.monotonic() + config.timeout_seconds * (1 + _RETRIES)
    with _told_by_blame(config), _client(config, environment) as client, _stream(client, request, config) as stream:
        for event in stream:
            if time.monotonic() > deadline:
                raise _late(config)
            if event.type == "text" and len(event.snapshot) > LONGEST:
                raise _broken(f"it is longer than {LONGEST:,} characters")
        message = stream.current_message_snapshot
    if message.stop_reason is None:
        raise _broken("it ended before the message did")
    told, counts = "".join(block.text for block in message.content if block.type == "text"), message.usage
    usage = Usage(
        input_tokens=counts.input_tokens,
        cache_creation_tokens=counts.cache_creation_input_tokens or 0,
        cache_read_tokens=counts.cache_read_input_tokens or 0,
        output_tokens=counts.output_tokens,
    )
    return Reply(text=told, stop=message.stop_reason, usage=priced(usage, config.model))


def _client(config: JudgeConfig, environment: Mapping[str, str]) -> "Anthropic":
    from anthropic import Anthropic

    key, token = (environment.get(name, "").strip() or None for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
    if key is None and token is None:
        raise OperatorError(
            "the judge cannot be asked by the API",
            expected="ANTHROPIC_API_KEY in the environment or in a block",
            remedy="give a key, or set judge.way to claude",
        )
    return Anthropic(
        api_key=key,
        auth_token=token,
        base_url=environment.get("ANTHROPIC_BASE_URL") or None,
        timeout=httpx.Timeout(config.timeout_seconds, connect=min(_CONNECT, config.timeout_seconds)),
        max_retries=_RETRIES,
    )


def _stream(client: "Anthropic", request: Question, config: JudgeConfig) -> "MessageStreamManager[Any]":
    """One message. Up to the end of the evidence all votes on a question are alike, so it is cached."""
    return client.messages.stream(
        model=config.model,
        max_tokens=ANSWER_TOKENS,
        system=[{"type": "text", "text": request.rules}],
        messages=[{"role": "user", "content": _content(request)}],
        output_config={"format": {"type": "json_schema", "schema": request.form}},
    )


def _content(request: Question) -> "list[TextBlockParam]":
    parts: list[TextBlockParam] = [_cached(part) for part in (request.task, request.facts, request.closing)]
    return [*parts, {"type": "text", "text": request.more}] if request.more else parts


def _cached(part: str) -> "TextBlockParam":
    return {"type": "text", "text": part, "cache_control": {"type": "ephemeral"}}


@contextmanager
def _told_by_blame(config: JudgeConfig) -> Generator[None]:
    """Errors of the client as ours: what the operator can fix, and what may pass by itself."""
    from anthropic import APIError, APITimeoutError

    try:
        yield
    except (APITimeoutError, httpx.TimeoutException) as error:
        raise _late(config) from error
    except APIError as error:
        raise _blamed(error) from error
    except UnicodeEncodeError as error:  # only ASCII can stand in a header
        raise _fixable(_CREDENTIALS, "a key with characters that no key has") from error
    except httpx.InvalidURL as error:
        raise _fixable(_ADDRESS, str(error)) from error
    except (httpx.HTTPError, ValueError, RuntimeError, AssertionError) as error:  # the stream broke, or is none of the API's
        raise _broken(redact(str(error))) from error


def _blamed(error: "APIError") -> HelmsmanError:
    found = redact(error.message)
    if isinstance(error.__cause__, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return _fixable(_ADDRESS, found)
    if "credit balance" in error.message:  # a plain 400 by its kind
        return _fixable(_CREDIT, found)
    fixing = _BY_STATUS.get(getattr(error, "status_code", 0))
    if fixing:
        return _fixable(fixing, found)
    return TransientError("the judge could not be reached", found=found[:_WORDS], remedy="it is asked again by itself")


def _fixable(fixing: tuple[str, str], found: str) -> OperatorError:
    problem, remedy = fixing
    return OperatorError(problem, found=found[:_WORDS], remedy=remedy)


def _broken(found: str) -> TransientError:
    return TransientError("the judge's answer broke off", found=found[:_WORDS], remedy="it is asked again by itself")


def _late(config: JudgeConfig) -> TransientError:
    return TransientError(
        "the judge did not answer in time",
        expected=f"an answer within {config.timeout_seconds:g} s (judge.timeout_seconds)",
        remedy="it is asked again by itself",
    )
