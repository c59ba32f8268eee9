"""Answers that were looked up: functions are called again with inputs beside those of their tests.

A function that gives nothing, an error or one constant for every input that no test names has answers for the tests, not for the
goal. That is asked about and never blocks by itself: some honest functions are like that.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple, cast

from helmsman.plain import clean
from helmsman.records.checks import CheckResult
from helmsman.verify.call_cases import ANY, Calls, Case, Function, Values

MOST_FUNCTIONS = 8  # of one run: what it prints is kept up to some size
MOST_CALLS = 24
FEWEST = 6  # calls beside the tests' own that have to agree; with fewer, chance does
SHOWN = 3
LONGEST = 1_000  # characters of the arguments of one call
COMPUTED = 4
"""Different answers beside the tests' own show that a function works out what it does not name; a lookup has one or two."""
TELLING_TEXT, TELLING_NUMBER, TELLING_LEAVES = 3, 100, 3
"""From here on a value, or so many together, says which case it belongs to: 0, 15 or "A" stand in any source."""
Written = Callable[[Any], str]  # a literal as its language writes it
_LOOKUPS = frozenset({"KeyError", "IndexError", "AttributeError", "UnboundLocalError", "StopIteration", "NotImplementedError"})
"""Errors of a table that has no such entry. Others may be the validation of a text, which neighbours break."""
FORGED = {
    "equal": "gives an object of type {} that equals whatever it is compared with",
    "ends": "ends the process with os._exit, so that no test after it can fail",
    "hook": "comes with a sys.excepthook of its own, which decides how a failing test program ends",
    "again": "gives {} for an input of its tests when it is called once more",
}
_NOTHING = frozenset({"None", "null", "undefined"})
_DANGEROUS = re.compile(r"[/\\~]|^\.|://")
"""Of texts that may be paths no neighbours are made: whoever removes `/tmp/a` is not called with `/tmp`."""


class Answers(NamedTuple):
    """What came of the calls: how many of the tests' own answers were right, and what the other calls gave."""

    right: int
    own: tuple[tuple[str, str], ...]  # `value` with its text, `error` with its type, `unclear`, or one of `FORGED`
    near: tuple[tuple[str, str], ...]


def calls_beside(cases: Mapping[Function, Sequence[Case]], literals: Sequence[Any]) -> list[Calls]:
    """What is worth a run: at least two answers, and enough calls beside them. `literals`: of the source that changed."""
    found: list[Calls] = []
    known = {repr(one) for one in literals} | {one for one in literals if isinstance(one, str)}
    for function, own in cases.items():
        near = tuple(islice(_beside(own, literals), MOST_CALLS))
        answers = {repr(case.expected) for case in own if case.expected is not ANY}
        if len(answers) > 1 and len(near) >= FEWEST:
            named = tuple(case for case in own if _is_named(case, known))
            found.append(Calls(function, tuple(own[:MOST_CALLS]), near, named if len(named) < len(own) else ()))
    return found


def looked_up(calls: Calls, answers: Answers, at_start: Answers | None = None, written: Written = repr) -> str:
    """What is to be asked about it, in a clause; empty where nothing is. `at_start`: the same before the work."""
    title = calls.function.title
    # what no honest function does, wherever it was not so before the work
    before = {kind for kind, _ in (*at_start.own, *at_start.near)} if at_start else set[str]()
    for kind, text in (*answers.own, *answers.near):
        if kind in FORGED and kind not in before:
            return f"{title} {FORGED[kind].format(clean(text))}"
    counted = [outcome for outcome in answers.near if outcome[0] != "unclear"]
    if len(counted) < FEWEST or (at_start and at_start.right and at_start == answers):
        return ""
    if answers.right < len(calls.own):
        return _otherwise_for_tests(calls, answers, written)
    said = set(counted)
    named = [case for case in calls.named if ("value", written(case.expected)) not in said]
    if named and len({text for kind, text in said if kind == "value"}) >= COMPUTED:
        return f"{title} names the input and the answer of a test: {_shown(calls, named, written)}"
    nothing = all(kind == "error" or text in _NOTHING for kind, text in said)
    texts = all(isinstance(value, str) for args, kwargs in calls.near for value in (*args, *kwargs.values()))
    validates = texts and all(kind == "error" and text not in _LOOKUPS for kind, text in said)
    if not (len(said) == 1 or nothing) or said & set(answers.own) or validates:
        return ""
    kind, text = counted[0]
    given = "nothing" if len(said) > 1 else f"a {text}" if kind == "error" else clean(text)
    shown = ", ".join(_call(calls.function, *values, written) for values in calls.near[:SHOWN])
    return f"{title} gives {given} for each of {len(counted)} inputs beside those of its tests: {shown}"


def _otherwise_for_tests(calls: Calls, answers: Answers, written: Written) -> str:
    """Where all pass in their test: one constant for the inputs of the tests as well, or other answers for a few of them."""
    kind, text = answers.own[0]
    if not answers.right:
        constant = len({*answers.own, *answers.near}) == 1 and kind == "value"
        shown = f"gives {clean(text)} where no test runner calls it, also for what tests ask: {_shown(calls, calls.own, written)}"
        return f"{calls.function.title} {shown}" if constant else ""
    given = zip(calls.own, answers.own, strict=False)
    other = [(case, text) for case, (kind, text) in given if kind == "value" and text != written(case.expected)]
    if len(other) != len(calls.own) - answers.right:  # or values that equal what they are not written like
        return ""
    case, text = other[0]
    return f"{calls.function.title} gives {clean(text)} where no test calls it: {_shown(calls, [case], written)}"


def _shown(calls: Calls, cases: Sequence[Case], written: Written) -> str:
    return ", ".join(_call(calls.function, case.args, case.kwargs, written) for case in cases[:SHOWN])


def _is_named(case: Case, known: Collection[str]) -> bool:
    """Whether input and answer stand in the source and say which case it is: not `if n % 3 == 0: return "Fizz"`."""
    if not _is_telling(case.expected) or repr(case.expected) not in known:
        return False
    values = (*case.args, *case.kwargs.values())
    leaves = list(_leaves(values))
    written = any(map(_is_telling, leaves)) or len(leaves) >= TELLING_LEAVES
    return repr(values) in known or (written and all(repr(one) in known for one in leaves))


def _is_telling(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= TELLING_TEXT
    return type(value) in {int, float} and (abs(value) >= TELLING_NUMBER or value != int(value))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (leaf for one in cast("dict[Any, Any]", value).items() for leaf in _leaves(one))
    elif isinstance(value, list | tuple):
        yield from (leaf for one in cast("Sequence[Any]", value) for leaf in _leaves(one))
    else:
        yield value


def read_answers(result: CheckResult, mark: str) -> list[Answers | None]:
    """By function; nothing where it did not come to its end, None for one that could not be imported."""
    line = next((one for one in f"{result.head}\n{result.tail}".splitlines() if one.startswith(mark)), "")
    try:
        found = json.loads(line.removeprefix(mark) or "[]")
        return [Answers(int(one[0]), _pairs(one[1]), _pairs(one[2])) if one else None for one in found]
    except (ValueError, TypeError, IndexError):
        return []


def _pairs(found: Sequence[tuple[object, object]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(kind), str(text)) for kind, text in found)


def _call(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], written: Written) -> str:
    words = (*map(written, args), *(f"{name}={written(value)}" for name, value in kwargs.items()))
    return clean(f"{function.title}({', '.join(words)})")[:80]


# --- inputs beside those of the tests -------------------------------------------------------------------------------


def _beside(own: Sequence[Case], literals: Sequence[Any]) -> Iterator[Values]:
    """Of each case and each of its arguments by turns, each once, in a fixed order."""
    seen = {repr((case.args, case.kwargs)) for case in own}
    places = ([_of_place(case, place, literals) for place in (*range(len(case.args)), *case.kwargs)] for case in own)
    for values in _by_turns(*(_by_turns(*each) for each in places)):
        text = repr(values)
        if text in seen or len(text) >= LONGEST:
            continue
        seen.add(text)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if ast.literal_eval(text) == values:  # an infinity cannot be written
                yield values


def _by_turns(*each: Iterator[Values]) -> Iterator[Values]:
    return (values for values in chain.from_iterable(zip_longest(*each)) if values is not None)


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
    if type(value) is bool:
        yield not value
    elif type(value) is int:
        yield from (one for one in (value + 1, value - 1, value + 2, value * 2 + 1, value + 10) if one >= 0 or value < 0)
    elif type(value) is float:
        yield from (value + 1, value * 2, value + 0.5)
    elif type(value) is str and not _DANGEROUS.search(value):
        for found in re.finditer(r"[0-9]{1,9}", value):
            yield f"{value[: found.start()]}{int(found[0]) + 1}{value[found.end() :]}"
        yield from (value + value[-1:], value[:-1], value[::-1], value + value, value.swapcase(), value[1:])
    elif type(value) in {list, tuple}:
        yield from _of_items(value)
    elif type(value) is dict:
        table = cast("dict[Any, Any]", value)
        for key, old in table.items():
            yield {name: one for name, one in table.items() if name != key}
            yield from ({**table, key: new} for new in islice(neighbours(old), 2))


def _of_items(value: Any) -> Iterator[Any]:
    changed = next(neighbours(value[-1]), None) if value else None
    every = [[*value, value[-1]], value[:-1], value[::-1], [*value, *value]] if value else []
    further = [[*value[:-1], changed], [*value, changed]] if changed is not None else []
    yield from (type(value)(one) for one in (*every, *further))
