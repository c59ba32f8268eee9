"""One redaction for everything that is stored, shown or sent: names in the place of known values, kinds in the place of shapes.

Known are the values of secret variables of this process's environment, passwords in URLs of any variable, and what was
registered: credentials of blocks, and what the scan of a diff found. It is applied where text enters a record (a step's result,
an event, a state, a line of the log, a request), and always before a text is cut.
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
from helmsman.secret_shapes import URL, forms, secrets_in_text, shapes_in, without_shapes

T = TypeVar("T")

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|_PWD$|CREDENTIAL|AUTH(?!OR)|OTLP_(\w+_)?HEADERS", re.IGNORECASE)
"""An author is no authority: GIT_AUTHOR_NAME is everywhere."""
SHORTEST = 8  # shorter values would match by accident
_MOST_REGISTERED = 500  # values; a process that loads more than that has loaded the same blocks again and again, with new values
_CUT = "…"  # what is put where a line was cut
_IDENTITIES = frozenset({
    "loop", "uid", "branch", "base_branch", "into", "ref", "state_ref", "repository", "location",
    "LoopRequest.checks", "LoopRequest.settings", "LoopRequest.preset", "LoopRequest.model", "Link.checks", "Link.settings",
    "ChainRequest.settings", "ParallelRequest.settings", "AlignRequest.settings",
})  # fmt: skip
"""Fields by which things are found again: a password that is a common word must not change them."""
_EXACT = frozenset({
    "path", "files", "put_back", "left_behind", "rule", "key", "item", "kind", "id",
    "check", "CheckResult.name", "CheckResult.command", "Answer.settings",
})  # fmt: skip
"""Fields that are compared with files, with the configuration or with each other: values that may be a word stay there."""

_CONFIG = "LoopConfig"  # A loop does what its configuration says: of that only the goal is a text. See `settings_with_secrets`.

registered: dict[str, str] = {}  # secret values by what they are called, of this process


def register(values: Mapping[str, str]) -> None:
    """Have these secret values (by name) replaced from now on in everything that this process stores, shows or sends."""
    for name, value in values.items():
        if len(registered) < _MOST_REGISTERED:
            registered.update(dict.fromkeys(_lines(value), name))


def register_credentials(variables: Mapping[str, str]) -> None:
    """The same for those of these variables whose names say that they are secret."""
    register({name: value for name, value in variables.items() if SECRET_NAME.search(name)})


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The text with a name in the place of every secret. `environment`: instead of what this process knows."""
    return without_shapes(_without_known(text, _known_here(environment)))


def without_secrets(what: T) -> T:
    """The same value (a record, a tuple, a text, ...) with names in the place of secrets; itself where there is none."""
    known = _known_here()
    text = what if isinstance(what, str) else None
    with suppress(PydanticSerializationError, ValueError):  # half a character of a file's name
        # one look instead of one for each field
        text = to_json(what, fallback=str).decode() if text is None else text
    if text is not None and not known.may_be_in(text) and not secrets_in_text(text):
        return what
    return cast("T", _redacted(what, known))


def settings_with_secrets(config: BaseModel) -> tuple[str, ...]:
    """The keys of a configuration, but for its goal, whose values hold a secret. Values that may be a word are let be."""
    known, found = _known_here().no_words, list[str]()
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            found += [f"{name}.{key}" for key in settings_with_secrets(value)]
        elif name != "goal" and _redacted(value, known) != value:
            found.append(name)
    return tuple(found)


@contextmanager
def redacting_errors() -> Generator[None]:
    """Whatever is raised in the block says no secret: the engine keeps its message, and the log its traceback."""
    try:
        yield
    except BaseException as error:  # noqa: BLE001 - all of them are kept somewhere
        raise without_secrets_in(error)  # noqa: B904 - the same one, or one without the message that may not be shown


def without_secrets_in(error: BaseException) -> BaseException:
    """The same error, changed in place, with no secret in what it says, or RuntimeError where it cannot be changed."""
    at, seen = cast("BaseException | None", error), list[BaseException]()
    while (one := at) is not None and one not in seen:
        seen.append(one)
        at = one.__cause__ or one.__context__
        if isinstance(one, OSError) and isinstance(one.filename, str):
            one.filename = redact(one.filename)
        one.args = tuple(redact(part) if isinstance(part, str) else part for part in one.args)
        if isinstance(one, HelmsmanError):
            one.problem, one.expected, one.found, one.remedy = map(redact, (one.problem, one.expected, one.found, one.remedy))
    said = str(error)
    return error if redact(said) == said else RuntimeError(f"{type(error).__name__}: {redact(said)}")


def redact_logs() -> None:
    """From now on no record of the log of this process says a secret, whoever writes it and wherever it goes."""
    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def redacted(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record, said = make(*args, **kwargs), ""
        with suppress(Exception):  # a message that cannot be formatted is logging's own to report
            said = record.getMessage()
        if (safe := redact(said)) != said:
            record.msg, record.args = safe, ()
        if record.exc_info and record.exc_info[1] is not None:
            told = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
            if (safe := redact(told)) != told:
                record.msg, record.args, record.exc_info = f"{redact(said)}\n{safe}", (), None
        return record

    redacted.redacts = True  # pyright: ignore[reportFunctionMemberAccess] - a mark, so that it is done once
    logging.setLogRecordFactory(redacted)


class _Known:
    """Secret values in all their forms."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: by form."""
        self.names = names
        # as much as is left of one at least where a text was cut: where none of them is, there is no secret
        self._traces = {trace for form in names for trace in (form[:SHORTEST], form[-SHORTEST:])}

    def may_be_in(self, text: str) -> bool:
        return any(trace in text for trace in self._traces)

    @cached_property
    def no_words(self) -> "_Known":
        """Those alone that could not be a word or a name."""
        no_words = (one for one in self.names if re.search("[0-9]", one) and re.search("[A-Za-z]", one))
        return _Known({one: self.names[one] for one in no_words if len(set(one)) >= SHORTEST})


def _known_here(environment: Mapping[str, str] | None = None) -> _Known:
    own, here = (os.environ, registered) if environment is None else (environment, {})
    long = tuple((name, value) for name, value in own.items() if len(value) >= SHORTEST)
    return _known(long, tuple(here.items()))


@lru_cache(maxsize=16)
def _known(environment: tuple[tuple[str, str], ...], registered: tuple[tuple[str, str], ...]) -> _Known:
    names = dict(registered)
    for name, value in environment:
        found = [one.secret for one in shapes_in(value) if one.kind == URL]
        if SECRET_NAME.search(name) and not _is_a_file(value):
            found.append(value)
        names |= {line: name for one in found for line in _lines(one)}
    return _Known({form: name for line, name in names.items() for form in forms(line)} | names)


def _is_a_file(value: str) -> bool:
    """A variable may name where the secret lies: a socket, a file of keys."""
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _lines(value: str) -> list[str]:
    """The lines of a value: a key of many lines is printed indented, quoted or in part."""
    return [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST]


def _without_known(text: str, known: _Known) -> str:
    if not known.may_be_in(text):
        return text
    if found := sorted((form for form in known.names if form in text), key=len, reverse=True):  # one may begin another
        text = re.sub("|".join(map(re.escape, found)), lambda form: f"[{known.names[form[0]]}]", text)
    # a text that was cut may end with the beginning of a secret, or begin with the end of one
    end = text.removesuffix(_CUT)
    mark = text[len(end) :]
    for secret, name in known.names.items():
        if cut := _shared(end[-len(secret) :], secret):
            end = f"{end[:-cut]}[{name}]"
        if cut := _shared(secret, end[: len(secret)]):
            end = f"[{name}]{end[cut:]}"
    return end + mark


def _shared(one: str, other: str) -> int:
    """How many characters, SHORTEST at least and not all of a secret, end one text and begin the other."""
    if one[-SHORTEST:] not in other or other[:SHORTEST] not in one:  # nearly always, and then nothing is counted
        return 0
    return next((n for n in range(min(len(one), len(other)), SHORTEST - 1, -1) if one.endswith(other[:n])), 0)


def _redacted(what: Any, known: _Known) -> Any:
    """The same value with every text in it redacted. What holds no secret stays the very same object."""
    if isinstance(what, str):
        return what if isinstance(what, Enum) else without_shapes(_without_known(what, known))
    if isinstance(what, BaseModel):
        changes = _changes(what, type(what).model_fields, known)
        for name, value in changes.items():
            longest = next((m.max_length for m in type(what).model_fields[name].metadata if hasattr(m, "max_length")), None)
            if isinstance(value, str) and longest:  # a name may be longer than the secret was
                changes[name] = value[:longest]
        return what.model_copy(update=changes) if changes else what
    if is_dataclass(what) and not isinstance(what, type):
        return replace(what, **_changes(what, [field.name for field in fields(what)], known))
    if isinstance(what, dict):  # its keys are names and commands
        entries = cast("dict[Any, Any]", what)
        return {_redacted(name, known.no_words): _redacted(value, known) for name, value in entries.items()}
    if isinstance(what, list | tuple):
        parts = [_redacted(one, known) for one in cast("list[Any]", what)]
        named = cast("Any", what) if hasattr(cast("Any", what), "_make") else None
        return named._make(parts) if named else type(cast("Any", what))(parts)
    return what


def _changes(what: Any, names: Iterable[str], known: _Known) -> dict[str, Any]:
    kind, changes = type(what).__name__, dict[str, Any]()
    for name in names:
        both = {name, f"{kind}.{name}"}
        if both & _IDENTITIES or (kind == _CONFIG and name != "goal"):
            continue
        value = getattr(what, name)
        changed = _redacted(value, known.no_words if both & _EXACT else known)
        if changed != value:
            changes[name] = changed
    return changes


redact_logs()
