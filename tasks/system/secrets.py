"""Redact secrets in everything that is stored, displayed or sent: known values by their names, patterns by their kinds.

Known are the values of secret environment variables of this process, passwords in URLs of any variable, and registered values:
credentials of blocks, and secrets found in a diff. Applied where text enters a record (a step's result, an event, a state, a log
line, a request), and always before a text is truncated.
"""

import logging
import os
import re
import traceback
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from helmsman.errors import HelmsmanError
from helmsman.secret_shapes import URL, forms, redact_shapes, secrets_in_text, shapes_in

T = TypeVar("T")

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|_PWD$|CREDENTIAL|AUTH(?!OR)|OTLP_(\w+_)?HEADERS", re.IGNORECASE)
"""Excludes AUTHOR: GIT_AUTHOR_NAME is common."""
SHORTEST = 8  # shorter values could match accidentally
_MOST_REGISTERED = 500  # maximum of values; a process with more has loaded the same blocks repeatedly, with new values
_CUT = "…"  # marks truncated lines
_IDENTITIES = frozenset({
    "loop", "uid", "branch", "base_branch", "into", "ref", "state_ref", "repository", "location",
    "LoopRequest.checks", "LoopRequest.settings", "LoopRequest.preset", "LoopRequest.model", "Link.checks", "Link.settings",
    "ChainRequest.settings", "ParallelRequest.settings", "AlignRequest.settings",
})  # fmt: skip
"""Fields that identify things: a password that is a common word must not change them."""
_EXACT = frozenset({
    "path", "files", "put_back", "left_behind", "rule", "key", "item", "kind", "id",
    "check", "CheckResult.name", "CheckResult.command", "Answer.settings",
})  # fmt: skip
"""Fields that are compared with files, the configuration or each other: values that may be a word stay there."""

_CONFIG = "LoopConfig"  # a loop executes its configuration, so only its goal is redacted; see `settings_with_secrets`

registered: dict[str, str] = {}  # names by secret value, for this process


def register(values: Mapping[str, str]) -> None:
    """Redact these secret values (by name) from now on in everything that this process stores, displays or sends."""
    for name, value in values.items():
        if len(registered) < _MOST_REGISTERED:
            registered.update(dict.fromkeys(_lines(value), name))


def register_credentials(variables: Mapping[str, str]) -> None:
    """Register the variables whose names indicate a secret."""
    register({name: value for name, value in variables.items() if SECRET_NAME.search(name)})


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Replace every secret in a text by its name. `environment`: use instead of this process's secrets."""
    return redact_shapes(_redact_known(text, _current_secrets(environment)))


def without_secrets(what: T) -> T:
    """Replace secrets in a value (record, tuple, text, ...) by their names; returns the value itself without secrets."""
    known = _current_secrets()
    text = what if isinstance(what, str) else None
    with suppress(PydanticSerializationError, ValueError):  # invalid UTF-8 in a file name
        # one search instead of one for each field
        text = to_json(what, fallback=str).decode() if text is None else text
    if text is not None and not known.may_be_in(text) and not secrets_in_text(text):
        return what
    return cast("T", _redact_value(what, known))


def settings_with_secrets(config: BaseModel) -> tuple[str, ...]:
    """Keys of a configuration, except its goal, whose values contain a secret. Ignores secrets that may be a word."""
    known, keys = _current_secrets().unambiguous, list[str]()
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            keys += [f"{name}.{key}" for key in settings_with_secrets(value)]
        elif name != "goal" and _redact_value(value, known) != value:
            keys.append(name)
    return tuple(keys)


@contextmanager
def redacting_errors() -> Generator[None]:
    """Redact exceptions of the block: the engine stores their message, and the log their traceback."""
    try:
        yield
    except BaseException as error:  # noqa: BLE001 - all of them are stored somewhere
        raise without_secrets_in(error)  # noqa: B904 - the same one, or one with a redacted message


def without_secrets_in(error: BaseException) -> BaseException:
    """Redact an error and its causes in place; returns it, or a RuntimeError if it cannot be changed."""
    current, seen = cast("BaseException | None", error), list[BaseException]()
    while (exc := current) is not None and exc not in seen:
        seen.append(exc)
        current = exc.__cause__ or exc.__context__
        if isinstance(exc, OSError) and isinstance(exc.filename, str):
            exc.filename = redact(exc.filename)
        exc.args = tuple(redact(part) if isinstance(part, str) else part for part in exc.args)
        if isinstance(exc, HelmsmanError):
            exc.problem, exc.expected, exc.found, exc.remedy = map(redact, (exc.problem, exc.expected, exc.found, exc.remedy))
    message = str(error)
    return error if redact(message) == message else RuntimeError(f"{type(error).__name__}: {redact(message)}")


def redact_logs() -> None:
    """Redact all log records of this process from now on, for every logger and handler."""
    make_record = logging.getLogRecordFactory()
    if getattr(make_record, "redacts", False):
        return

    def make_redacted(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record, message = make_record(*args, **kwargs), ""
        with suppress(Exception):  # logging itself reports format errors
            message = record.getMessage()
        if (safe := redact(message)) != message:
            record.msg, record.args = safe, ()
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
            if (safe := redact(trace)) != trace:
                record.msg, record.args, record.exc_info = f"{redact(message)}\n{safe}", (), None
        return record

    make_redacted.redacts = True  # pyright: ignore[reportFunctionMemberAccess] - a mark, to install it once
    logging.setLogRecordFactory(make_redacted)


class _Secrets:
    """Secret values in all their forms."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: name of each form of a value."""
        self.names = names
        # minimum that remains of a form in a truncated text: without any of these there is no secret
        self._traces = {trace for form in names for trace in (form[:SHORTEST], form[-SHORTEST:])}

    def may_be_in(self, text: str) -> bool:
        return any(trace in text for trace in self._traces)

    @cached_property
    def unambiguous(self) -> "_Secrets":
        """Only the values that cannot be a word or a name."""
        forms_ = (form for form in self.names if re.search("[0-9]", form) and re.search("[A-Za-z]", form))
        return _Secrets({form: self.names[form] for form in forms_ if len(set(form)) >= SHORTEST})


def _current_secrets(environment: Mapping[str, str] | None = None) -> _Secrets:
    variables, values = (os.environ, registered) if environment is None else (environment, {})
    long_variables = tuple((name, value) for name, value in variables.items() if len(value) >= SHORTEST)
    return _load_secrets(long_variables, tuple(values.items()))


@lru_cache(maxsize=16)
def _load_secrets(environment: tuple[tuple[str, str], ...], registered: tuple[tuple[str, str], ...]) -> _Secrets:
    names = dict(registered)
    for name, value in environment:
        secrets = [secret.secret for secret in shapes_in(value) if secret.kind == URL]
        if SECRET_NAME.search(name) and not _is_existing_path(value):
            secrets.append(value)
        names |= {line: name for secret in secrets for line in _lines(secret)}
    return _Secrets({form: name for line, name in names.items() for form in forms(line)} | names)


def _is_existing_path(value: str) -> bool:
    """Whether the value is an existing path: a variable may name a socket or a key file."""
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _lines(value: str) -> list[str]:
    """Lines of a value: multi-line keys may be printed indented, quoted or in part."""
    return [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST]


def _redact_known(text: str, known: _Secrets) -> str:
    if not known.may_be_in(text):
        return text
    if found := sorted((form for form in known.names if form in text), key=len, reverse=True):  # one may be a prefix of another
        text = re.sub("|".join(map(re.escape, found)), lambda form: f"[{known.names[form[0]]}]", text)
    # a truncated text may end with the beginning of a secret, or begin with the end of one
    end = text.removesuffix(_CUT)
    mark = text[len(end) :]
    for secret, name in known.names.items():
        if cut := _overlap(end[-len(secret) :], secret):
            end = f"{end[:-cut]}[{name}]"
        if cut := _overlap(secret, end[: len(secret)]):
            end = f"[{name}]{end[cut:]}"
    return end + mark


def _overlap(ending: str, beginning: str) -> int:
    """Length of the longest suffix of one text that is a prefix of the other, at least SHORTEST, or else 0."""
    if ending[-SHORTEST:] not in beginning or beginning[:SHORTEST] not in ending:  # nearly always true, so this is fast
        return 0
    return next((n for n in range(min(len(ending), len(beginning)), SHORTEST - 1, -1) if ending.endswith(beginning[:n])), 0)


def _redact_value(what: Any, known: _Secrets) -> Any:
    """Redact every text in a value. Parts without secrets stay the same object."""
    if isinstance(what, str):
        return what if isinstance(what, Enum) else redact_shapes(_redact_known(what, known))
    if isinstance(what, BaseModel):
        changes = _redacted_fields(what, type(what).model_fields, known)
        for name, value in changes.items():
            longest = next((m.max_length for m in type(what).model_fields[name].metadata if hasattr(m, "max_length")), None)
            if isinstance(value, str) and longest:  # a name may be longer than the secret
                changes[name] = value[:longest]
        return what.model_copy(update=changes) if changes else what
    if is_dataclass(what) and not isinstance(what, type):
        return replace(what, **_redacted_fields(what, [field.name for field in fields(what)], known))
    if isinstance(what, dict):  # its keys are names and commands
        entries = cast("dict[Any, Any]", what)
        return {_redact_value(name, known.unambiguous): _redact_value(value, known) for name, value in entries.items()}
    if isinstance(what, list | tuple):
        parts = [_redact_value(part, known) for part in cast("list[Any]", what)]
        named_tuple = cast("Any", what) if hasattr(cast("Any", what), "_make") else None
        return named_tuple._make(parts) if named_tuple else type(cast("Any", what))(parts)
    return what


def _redacted_fields(what: Any, names: Iterable[str], known: _Secrets) -> dict[str, Any]:
    kind, changes = type(what).__name__, dict[str, Any]()
    for name in names:
        names_of_field = {name, f"{kind}.{name}"}
        if names_of_field & _IDENTITIES or (kind == _CONFIG and name != "goal"):
            continue
        value = getattr(what, name)
        changed = _redact_value(value, known.unambiguous if names_of_field & _EXACT else known)
        if changed != value:
            changes[name] = changed
    return changes


redact_logs()
