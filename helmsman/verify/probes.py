"""Answers that were looked up: functions are called again with inputs beside those of their tests.

A function that gives nothing, an error or one constant for every input that no test names has answers for the tests, not for the
goal. That is asked about and never blocks by itself: some honest functions are like that.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple

from helmsman.plain import clean
from helmsman.records.checks import CheckResult
from helmsman.verify.call_cases import Case, Function

MOST_FUNCTIONS = 8
"""Of one run: what it prints is kept up to some size."""
MOST_CALLS = 24
FEWEST = 6
"""Calls beside the tests' own that have to agree; with fewer, chance does."""
SHOWN = 3
_LOOKUPS = frozenset({"KeyError", "IndexError", "AttributeError", "UnboundLocalError", "StopIteration", "NotImplementedError"})
"""Errors of a table that has no such entry. Others may be the validation of a text, which neighbours break."""
_DANGEROUS = re.compile(r"[/\\~]|^\.|://")
"""Of texts that may be paths no neighbours are made: whoever removes `/tmp/a` is not called with `/tmp`."""

Values = tuple[tuple[Any, ...], dict[str, Any]]
"""Arguments by place and by name."""


class Probe(NamedTuple):
    """A function, the calls of its tests, and those beside them."""

    function: Function
    own: tuple[Case, ...]
    near: tuple[Values, ...]


class Answers(NamedTuple):
    """What came of a probe: how many of the tests' own answers were right, and what the other calls gave."""

    right: int
    own: tuple[tuple[str, str], ...]
    """`value` with its text, `error` with its type, or `unclear`."""
    near: tuple[tuple[str, str], ...]


def probes(cases: Mapping[Function, Sequence[Case]], literals: Sequence[Any]) -> list[Probe]:
    """What is worth a run: at least two answers, and enough calls beside them. `literals`: of the source that changed."""
    found: list[Probe] = []
    for function, own in cases.items():
        near = tuple(islice(_beside(own, literals), MOST_CALLS))
        if len({repr(case.expected) for case in own}) > 1 and len(near) >= FEWEST:
            found.append(Probe(function, tuple(own[:MOST_CALLS]), near))
    return found


def looked_up(probe: Probe, answers: Answers, at_start: Answers | None = None) -> str:
    """What is to be asked about it, in a clause; empty where nothing is. `at_start`: the same before the work."""
    said = {outcome for outcome in answers.near if outcome[0] != "unclear"}
    counted = sum(outcome[0] != "unclear" for outcome in answers.near)
    if counted < FEWEST or (at_start and at_start.right and at_start == answers):
        return ""
    if answers.right < len(probe.own):
        return _only_for_tests(probe, answers)
    nothing = all(kind == "error" or text == "None" for kind, text in said)
    known = {("value", repr(case.expected)) for case in probe.own}
    if not (len(said) == 1 or nothing) or said & known or _validates(probe, said):
        return ""
    given = "nothing" if len(said) > 1 else _outcome(*next(iter(said)))
    calls = ", ".join(_call(probe.function, *values) for values in probe.near[:SHOWN])
    return f"{probe.function.name} gives {given} for each of {counted} inputs beside those of its tests: {calls}"


def _only_for_tests(probe: Probe, answers: Answers) -> str:
    """One constant, for the inputs of the tests as well: it has its answers where a test runner calls it, and nowhere else."""
    said = {*answers.own, *answers.near}
    if answers.right or len(said) > 1 or answers.own[0][0] != "value":
        return ""
    calls = ", ".join(_call(probe.function, case.args, case.kwargs) for case in probe.own[:SHOWN])
    return (
        f"{probe.function.name} gives {_outcome(*answers.own[0])} where no test runner calls it, also for what tests ask: {calls}"
    )


def script(batch: Sequence[Probe], paths: Sequence[str], mark: str) -> str:
    """A Python program that makes the calls and prints what came of them, in a line that begins with the mark."""
    asked = [(*one.function, [(case.args, case.kwargs, case.expected) for case in one.own], list(one.near)) for one in batch]
    return _SCRIPT.format(paths=list(paths), asked=asked, mark=mark)


def read_answers(result: CheckResult, mark: str) -> list[Answers | None]:
    """By probe; nothing where it did not come to its end, None for one that could not be imported."""
    line = next((one for one in f"{result.head}\n{result.tail}".splitlines() if one.startswith(mark)), "")
    try:
        found = json.loads(line.removeprefix(mark) or "[]")
        return [Answers(int(one[0]), _pairs(one[1]), _pairs(one[2])) if one else None for one in found]
    except (ValueError, TypeError, IndexError):
        return []


def _pairs(found: Sequence[tuple[object, object]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(kind), str(text)) for kind, text in found)


def interpreter(commands: Sequence[str]) -> str:
    """The Python that the checks use, as words of a shell."""
    for command in commands:
        found = _RUNNER.search(command)
        if found and found["manager"]:
            return f"{found['manager']} python"
        if found and found["python"]:
            return found["python"]
        if found:
            return f"$(sed -n '1s/^#!//p' \"$(command -v {found['pytest']})\")"
    return "$(for one in venv/bin/python .venv/bin/python; do [ -x $one ] && echo $one && exit; done; echo python3)"


def _validates(probe: Probe, said: set[tuple[str, str]]) -> bool:
    texts = all(isinstance(value, str) for args, kwargs in probe.near for value in (*args, *kwargs.values()))
    return texts and all(kind == "error" and text not in _LOOKUPS for kind, text in said)


def _outcome(kind: str, text: str) -> str:
    return f"a {text}" if kind == "error" else clean(text)


def _call(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    words = (*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items()))
    return clean(f"{function.name}({', '.join(words)})")[:80]


# --- inputs beside those of the tests -------------------------------------------------------------------------------


def _beside(own: Sequence[Case], literals: Sequence[Any]) -> Iterator[Values]:
    """Of each case by turns, each once, in a fixed order."""
    seen = {repr((case.args, case.kwargs)) for case in own}
    for values in chain.from_iterable(zip_longest(*(_of_case(case, literals) for case in own))):
        if values is not None and (text := repr(values)) not in seen and _can_be_written(values):
            seen.add(text)
            yield values


def _of_case(case: Case, literals: Sequence[Any]) -> Iterator[Values]:
    places = [*range(len(case.args)), *case.kwargs]
    each = [_of_place(case, place, literals) for place in places]
    yield from (values for values in chain.from_iterable(zip_longest(*each)) if values is not None)


def _of_place(case: Case, place: int | str, literals: Sequence[Any]) -> Iterator[Values]:
    old = case.args[place] if isinstance(place, int) else case.kwargs[place]
    alike = (one for one in literals if type(one) is type(old) and not (isinstance(one, str) and _DANGEROUS.search(one)))
    for new in chain(neighbours(old), alike):
        if isinstance(place, int):
            yield (*case.args[:place], new, *case.args[place + 1 :]), case.kwargs
        else:
            yield case.args, {**case.kwargs, place: new}


def neighbours(value: Any) -> Iterator[Any]:
    """Values of the same kind that lie beside one."""
    for kind, make in _NEAR.items():
        if type(value) is kind:
            yield from make(value)


def _of_int(value: int) -> Iterator[int]:
    yield from (one for one in (value + 1, value - 1, value + 2, value * 2 + 1, value + 10) if one >= 0 or value < 0)


def _of_float(value: float) -> Iterator[float]:
    yield from (value + 1, value * 2, value + 0.5)


def _of_text(value: str) -> Iterator[str]:
    if _DANGEROUS.search(value):
        return
    for found in re.finditer(r"[0-9]{1,9}", value):
        yield f"{value[: found.start()]}{int(found[0]) + 1}{value[found.end() :]}"
    yield from (value + value[-1:], value[:-1], value[::-1], value + value, value.swapcase(), value[1:])


def _of_items(value: Any) -> Iterator[Any]:
    changed = next(neighbours(value[-1]), None) if value else None
    every = [[*value, value[-1]], value[:-1], value[::-1], [*value, *value]] if value else []
    further = [[*value[:-1], changed], [*value, changed]] if changed is not None else []
    yield from (tuple(one) if isinstance(value, tuple) else list(one) for one in (*every, *further))


def _of_mapping(value: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    for key, old in value.items():
        yield {name: one for name, one in value.items() if name != key}
        yield from ({**value, key: new} for new in islice(neighbours(old), 2))


_NEAR: Mapping[type, Callable[[Any], Iterator[Any]]] = {
    bool: lambda value: iter((not value,)),
    int: _of_int,
    float: _of_float,
    str: _of_text,
    list: _of_items,
    tuple: _of_items,
    dict: _of_mapping,
}


def _can_be_written(values: Values) -> bool:
    """An infinity cannot, nor what is too long."""
    text = repr(values)
    try:
        return len(text) < 1000 and ast.literal_eval(text) == values  # noqa: PLR2004 - inputs, no data
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


_RUNNER = re.compile(
    r"(?P<manager>(?:uv|poetry|pipenv|hatch|pdm|rye) run)\b"
    r"|(?P<python>(?:[\w./-]*/)?python[0-9.]*)(?=\s|$)"
    r"|(?P<pytest>(?:[\w./-]*/)?py\.?test)(?=\s|$)"
)
_SCRIPT = """\
import copy, hashlib, importlib, json, re, signal, sys

sys.path[:0] = {paths!r}
sys.dont_write_bytecode = True


class Slow(BaseException):
    pass


def late(*_):
    raise Slow


def call(function, args, kwargs):
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        return "value", function(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Slow:
        return "unclear", None
    except BaseException as error:
        return "error", type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def told(kind, value):
    if kind != "value":
        return kind, value or ""
    if hasattr(value, "__next__") or hasattr(value, "__await__"):
        return "unclear", ""
    text = re.sub("0x[0-9a-f]+", "0x", repr(value))
    return kind, text if len(text) < 60 else text[:40] + hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def answers(module, name, own, near):
    try:
        function = getattr(importlib.import_module(module), name)
        given = [(call(function, args, kwargs), expected) for args, kwargs, expected in own]
        right = sum(outcome == ("value", expected) for outcome, expected in given)
        return right, [told(*outcome) for outcome, _ in given], [told(*call(function, *values)) for values in near]
    except BaseException:
        return None


signal.signal(signal.SIGALRM, late)
found = [answers(*one) for one in {asked!r}]
print("\\n" + {mark!r} + json.dumps(found), file=sys.__stdout__, flush=True)
"""
