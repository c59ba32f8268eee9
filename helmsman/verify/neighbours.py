"""Detection of hard-coded answers: functions are called again with inputs near those of their tests.

A function that returns nothing, an error or one constant for every untested input has answers for the tests, not for the goal.
The finding leads to a question and never blocks by itself: some honest functions behave like that.
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

MOST_FUNCTIONS = 8  # per run, as its output is kept only up to some size
MOST_CALLS = 24
FEWEST = 6  # minimum number of neighbouring calls that must agree; fewer agree by chance
SHOWN = 3
LONGEST = 1_000  # maximum characters of one call's arguments
COMPUTED = 4
"""Number of different answers to neighbouring calls that shows a function computes them; a lookup has one or two."""
TELLING_TEXT, TELLING_NUMBER, TELLING_LEAVES = 3, 100, 3
"""Minimum length, size and count from which values identify a case: 0, 15 or "A" occur in any source."""
Written = Callable[[Any], str]  # formats a value as a literal of the language
_LOOKUP_ERRORS = frozenset(
    {"KeyError", "IndexError", "AttributeError", "UnboundLocalError", "StopIteration", "NotImplementedError"}
)
"""Errors of a missing table entry. Others may come from validation of a text, which neighbouring inputs fail."""
FORGED = {
    "equal": "returns an object of type {} that equals everything it is compared with",
    "ends": "ends the process with os._exit, so that no test after it can fail",
    "hook": "replaces sys.excepthook, which decides how a failing test program ends",
    "again": "returns {} for an input of its tests when called again",
}
_EMPTY_VALUES = frozenset({"None", "null", "undefined"})
_DANGEROUS = re.compile(r"[/\\~]|^\.|://")
"""Texts that may be paths get no neighbours: a function that removes `/tmp/a` must not be called with `/tmp`."""


class Answers(NamedTuple):
    """Results of the calls: the number of right answers to the tests' own calls, and the answers to all calls."""

    right: int
    own: tuple[tuple[str, str], ...]  # kind and text: `value`, `error` with its type, `unclear`, or one of `FORGED`
    near: tuple[tuple[str, str], ...]


def select_calls(cases: Mapping[Function, Sequence[Case]], literals: Sequence[Any]) -> list[Calls]:
    """Return the functions worth a run: at least two expected answers, and enough neighbouring calls.

    `literals`: values in the changed source.
    """
    selected: list[Calls] = []
    in_source = {repr(literal) for literal in literals} | {literal for literal in literals if isinstance(literal, str)}
    for function, own in cases.items():
        near = tuple(islice(_neighbouring_inputs(own, literals), MOST_CALLS))
        answers = {repr(case.expected) for case in own if case.expected is not ANY}
        if len(answers) > 1 and len(near) >= FEWEST:
            hard_coded = tuple(case for case in own if _is_hard_coded(case, in_source))
            selected.append(Calls(function, tuple(own[:MOST_CALLS]), near, hard_coded if len(hard_coded) < len(own) else ()))
    return selected


def describe_lookup(calls: Calls, answers: Answers, at_start: Answers | None = None, written: Written = repr) -> str:
    """Return the suspicion about a function as a clause; empty if there is none. `at_start`: answers before the work."""
    title = calls.function.title
    # behaviour of no honest function, unless it existed before the work
    before = {kind for kind, _ in (*at_start.own, *at_start.near)} if at_start else set[str]()
    for kind, text in (*answers.own, *answers.near):
        if kind in FORGED and kind not in before:
            return f"{title} {FORGED[kind].format(clean(text))}"
    counted = [outcome for outcome in answers.near if outcome[0] != "unclear"]
    if len(counted) < FEWEST or (at_start and at_start.right and at_start == answers):
        return ""
    if answers.right < len(calls.own):
        return _differs_from_tests(calls, answers, written)
    outcomes = set(counted)
    hard_coded = [case for case in calls.named if ("value", written(case.expected)) not in outcomes]
    if hard_coded and len({text for kind, text in outcomes if kind == "value"}) >= COMPUTED:
        return f"{title} contains the input and the answer of a test: {_join_calls(calls, hard_coded, written)}"
    only_empty = all(kind == "error" or text in _EMPTY_VALUES for kind, text in outcomes)
    takes_only_texts = all(isinstance(value, str) for args, kwargs in calls.near for value in (*args, *kwargs.values()))
    validates = takes_only_texts and all(kind == "error" and text not in _LOOKUP_ERRORS for kind, text in outcomes)
    if not (len(outcomes) == 1 or only_empty) or outcomes & set(answers.own) or validates:
        return ""
    kind, text = counted[0]
    answer = "returns nothing" if len(outcomes) > 1 else f"raises {text}" if kind == "error" else f"returns {clean(text)}"
    examples = ", ".join(_format_call(calls.function, *values, written) for values in calls.near[:SHOWN])
    return f"{title} {answer} for each of {len(counted)} inputs near those of its tests: {examples}"


def _differs_from_tests(calls: Calls, answers: Answers, written: Written) -> str:
    """Return the suspicion about a function that answers differently than in its tests: one constant for all inputs, or other
    answers for some of the tests' own.
    """
    kind, text = answers.own[0]
    if not answers.right:
        is_constant = len({*answers.own, *answers.near}) == 1 and kind == "value"
        inputs = _join_calls(calls, calls.own, written)
        clause = f"returns {clean(text)} when called outside of a test runner, even for inputs of its tests: {inputs}"
        return f"{calls.function.title} {clause}" if is_constant else ""
    pairs = zip(calls.own, answers.own, strict=False)
    different = [(case, text) for case, (kind, text) in pairs if kind == "value" and text != written(case.expected)]
    if len(different) != len(calls.own) - answers.right:  # values may be equal and written differently
        return ""
    case, text = different[0]
    return f"{calls.function.title} returns {clean(text)} when called outside of its tests: {_join_calls(calls, [case], written)}"


def _join_calls(calls: Calls, cases: Sequence[Case], written: Written) -> str:
    return ", ".join(_format_call(calls.function, case.args, case.kwargs, written) for case in cases[:SHOWN])


def _is_hard_coded(case: Case, in_source: Collection[str]) -> bool:
    """Whether the source names input and answer, and they identify the case: not `if n % 3 == 0: return "Fizz"`."""
    if not _is_distinctive(case.expected) or repr(case.expected) not in in_source:
        return False
    values = (*case.args, *case.kwargs.values())
    leaves = list(_leaves(values))
    is_distinctive = any(map(_is_distinctive, leaves)) or len(leaves) >= TELLING_LEAVES
    return repr(values) in in_source or (is_distinctive and all(repr(one) in in_source for one in leaves))


def _is_distinctive(value: Any) -> bool:
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
    """Return answers by function, None for one that could not be imported; empty if the program did not finish."""
    line = next((one for one in f"{result.head}\n{result.tail}".splitlines() if one.startswith(mark)), "")
    try:
        entries = json.loads(line.removeprefix(mark) or "[]")
        return [Answers(int(one[0]), _read_pairs(one[1]), _read_pairs(one[2])) if one else None for one in entries]
    except (ValueError, TypeError, IndexError):
        return []


def _read_pairs(pairs: Sequence[tuple[object, object]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(kind), str(text)) for kind, text in pairs)


def _format_call(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], written: Written) -> str:
    arguments = (*map(written, args), *(f"{name}={written(value)}" for name, value in kwargs.items()))
    return clean(f"{function.title}({', '.join(arguments)})")[:80]


# --- inputs near those of the tests ---------------------------------------------------------------------------------


def _neighbouring_inputs(own: Sequence[Case], literals: Sequence[Any]) -> Iterator[Values]:
    """Yield neighbouring inputs, without duplicates, alternating between cases and their arguments in a fixed order."""
    seen = {repr((case.args, case.kwargs)) for case in own}
    places = ([_vary_argument(case, place, literals) for place in (*range(len(case.args)), *case.kwargs)] for case in own)
    for values in _alternate(*(_alternate(*each) for each in places)):
        text = repr(values)
        if text in seen or len(text) >= LONGEST:
            continue
        seen.add(text)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if ast.literal_eval(text) == values:  # an infinity has no literal
                yield values


def _alternate(*each: Iterator[Values]) -> Iterator[Values]:
    return (values for values in chain.from_iterable(zip_longest(*each)) if values is not None)


def _vary_argument(case: Case, place: int | str, literals: Sequence[Any]) -> Iterator[Values]:
    old = case.args[place] if isinstance(place, int) else case.kwargs[place]
    same_type = (literal for literal in literals if type(literal) is type(old))
    alike = (literal for literal in same_type if not (isinstance(literal, str) and _DANGEROUS.search(literal)))
    for new in chain(neighbours(old), alike):
        if isinstance(place, int):
            yield (*case.args[:place], new, *case.args[place + 1 :]), case.kwargs
        else:
            yield case.args, {**case.kwargs, place: new}


def neighbours(value: Any) -> Iterator[Any]:
    """Yield values of the same type near the given one."""
    if type(value) is bool:
        yield not value
    elif type(value) is int:
        yield from (one for one in (value + 1, value - 1, value + 2, value * 2 + 1, value + 10) if one >= 0 or value < 0)
    elif type(value) is float:
        yield from (value + 1, value * 2, value + 0.5)
    elif type(value) is str and not _DANGEROUS.search(value):
        for number in re.finditer(r"[0-9]{1,9}", value):
            yield f"{value[: number.start()]}{int(number[0]) + 1}{value[number.end() :]}"
        yield from (value + value[-1:], value[:-1], value[::-1], value + value, value.swapcase(), value[1:])
    elif type(value) in {list, tuple} and value:
        changed = next(neighbours(value[-1]), None)
        further = [[*value[:-1], changed], [*value, changed]] if changed is not None else []
        for items in ([*value, value[-1]], value[:-1], value[::-1], [*value, *value], *further):
            yield type(value)(items)
    elif type(value) is dict:
        mapping = cast("dict[Any, Any]", value)
        for key, old in mapping.items():
            yield {name: one for name, one in mapping.items() if name != key}
            yield from ({**mapping, key: new} for new in islice(neighbours(old), 2))
