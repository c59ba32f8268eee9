"""Detection of hard-coded answers: functions are called again with inputs near those of their tests.

A function that returns nothing, an error or one constant for every untested input has answers for the tests, not for the goal.
The finding leads to a question and never blocks by itself: some honest functions behave like that.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple, cast

from helmsman.plain import clean
from helmsman.records.checks import CheckResult
from helmsman.verify.call_cases import ANY, Calls, Case, Function, Literal, Truth, Values
from helmsman.verify.overlap import find_overlap, in_full_table, is_key, leaves

MOST_FUNCTIONS = 8  # per run, as its output is kept only up to some size
MOST_CALLS, MOST_FROM_SOURCE = 24, 6
"""Maximum number of neighbouring calls, and of further ones with values of the source: the other entries of an honest table."""
FEWEST_WRONG = 3  # minimum number of own calls that must all be wrong, here or before the work
FEWEST = 6  # minimum number of neighbouring calls that must agree; fewer agree by chance
SHOWN = 3
LONGEST_ANSWER = 60  # characters from which an answer is cut and hashed
LONGEST = 1_000  # maximum characters of one call's arguments
FEWEST_ALIKE, MOST_DIGITS = 4, 6
"""Minimum number of neighbours of the same form that must all be rejected, and maximum number of their digits."""
COMPUTED = 4
"""Number of different answers to neighbouring calls that shows a function computes them; a lookup has one or two."""
MANY_ANSWERS = 6
"""Minimum number of different answers from which the answer for an unknown input is none of a few classes: medals, months."""
TELLING_TEXT, TELLING_NUMBER, TELLING_LEAVES = 3, 100, 3
"""Minimum length, size and count from which values identify a case: 0, 15 or "A" occur in any source."""
Vary = Callable[[Any], Iterator[Any]]  # yields other values for an argument
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


def select_calls(
    cases: Mapping[Function, Sequence[Case]],
    literals: Sequence[Any],
    placed: Sequence[Literal] = (),
    new: Sequence[Sequence[Any]] = (),
) -> list[Calls]:
    """Return the functions worth a run: at least two expected answers, and enough neighbouring calls.

    `literals`: values in the changed source; `placed`: the same with their places; `new`: those of the changed lines, by file.
    """
    selected: list[Calls] = []
    in_source = {repr(literal) for literal in literals} | {literal for literal in literals if isinstance(literal, str)}
    for function, each in cases.items():
        own = [case for case in each if not isinstance(case.expected, Truth)]
        given = [leaf for case in own for leaf in leaves((case.args, case.kwargs))]  # one argument may be looked up in another
        near = _near_calls(own, [*given, *literals])
        answers = {repr(case.expected) for case in own if case.expected is not ANY}
        if len(answers) > 1 and len(near) >= FEWEST:
            hard_coded = tuple(case for case in own if _is_hard_coded(case, in_source) and not in_full_table(case, own, placed))
            named = hard_coded if len(hard_coded) < len(own) else ()
            unnamed = tuple(case for case in own if not _names_input(case, in_source))
            names_answers = find_overlap(own, new) == "answers"
            selected.append(Calls(function, tuple(own[:MOST_CALLS]), near, named, names_answers, unnamed))
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
        if calls.function.method or calls.function.body:  # its test may have changed the object before the call
            return ""
        return _differs_from_tests(calls, answers, written)
    if at_start and at_start.near == answers.near and _rejects_others(at_start):
        return ""
    found = (
        _is_empty_elsewhere(calls, answers, counted, written)
        or _returns_input(calls, answers, written)
        or _names_tests(calls, answers, written)
    )
    return found or (_changes_for_tests_only(calls, answers, at_start, written) if at_start else "")


def _rejects_others(answers: Answers) -> bool:
    """Whether all other inputs than those of the tests are errors of their own, as of an enumeration."""
    return all(kind == "error" for kind, _ in answers.near) and not {*answers.own} & {*answers.near}


def _names_tests(calls: Calls, answers: Answers, written: Written) -> str:
    """Return the suspicion about a function that is right for its tests by their values or forms."""
    title, outcomes = calls.function.title, {outcome for outcome in answers.near if outcome[0] != "unclear"}
    values = {text for kind, text in outcomes if kind == "value"}
    hard_coded = [case for case in calls.named if ("value", written(case.expected)) not in outcomes]
    if hard_coded and len(values) >= COMPUTED:
        return f"{title} contains the input and the answer of a test: {_join_calls(calls, hard_coded, written)}"
    if calls.names_answers and len(values - {written(case.expected) for case in calls.own}) >= COMPUTED:
        return f"the source names the answers of nearly all tests of {title}, and few other values"
    rejected = _rejects_same_shape(calls, answers)
    some = ", ".join(rejected[:SHOWN])
    return f"{title} accepts the texts of its tests, but none of {len(rejected)} of the same form: {some}" if rejected else ""


def _is_empty_elsewhere(calls: Calls, answers: Answers, counted: Sequence[tuple[str, str]], written: Written) -> str:
    """Return the suspicion about a function that returns nothing, an error or one constant for all neighbouring inputs."""
    title, outcomes = calls.function.title, set(counted)
    only_empty = all(kind == "error" or text in _EMPTY_VALUES for kind, text in outcomes)
    takes_only_texts = all(
        isinstance(value, str) for args, kwargs, _ in calls.near for value in leaves((args, [*kwargs.values()]))
    )
    validates = all(kind == "error" and text not in _LOOKUP_ERRORS for kind, text in outcomes)
    validates = validates and (takes_only_texts or _are_all_of_a_range(calls.own))
    if not (len(outcomes) == 1 or only_empty) or _is_default(calls, answers, outcomes, takes_only_texts) or validates:
        return ""
    kind, text = counted[0]
    answer = "returns nothing" if len(outcomes) > 1 else f"raises {text}" if kind == "error" else f"returns {clean(text)}"
    return f"{title} {answer} for each of {len(counted)} inputs near those of its tests: {_join_near(calls, written)}"


def _are_all_of_a_range(own: Sequence[Case]) -> bool:
    """Whether the only values that differ are all the whole numbers of a range, as of a rating."""
    different = [values for values in _values_by_place(own).values() if len({*map(repr, values)}) > 1]
    numbers = sorted({value for values in different for value in values if type(value) is int})
    is_one = len(different) == 1 and all(type(value) is int for value in different[0])
    return is_one and len(numbers) >= FEWEST_WRONG and numbers == [*range(numbers[0], numbers[-1] + 1)]


def _returns_input(calls: Calls, answers: Answers, written: Written) -> str:
    """Return the suspicion about a function that returns its first argument, except for the inputs of its tests.

    A test may expect that of an input that the source does not name, as of a name without an alias.
    """
    near = [(written(args[0]), outcome) for (args, *_), outcome in zip(calls.near, answers.near, strict=False) if args]
    short = [(argument, outcome) for argument, outcome in near if len(argument) < LONGEST_ANSWER and outcome[0] != "unclear"]
    if len(short) < FEWEST or any(outcome != ("value", argument) for argument, outcome in short):
        return ""
    changed = {repr(case.expected) for case in calls.own if case.expected is not ANY and case.expected not in case.args[:1]}
    is_tested = any(case.expected in case.args[:1] for case in calls.unnamed)
    what = f"{calls.function.title} returns each of {len(short)} inputs near those of its tests unchanged"
    return f"{what}: {_join_near(calls, written)}" if len(changed) > 1 and not is_tested else ""


def _is_default(calls: Calls, answers: Answers, outcomes: Collection[tuple[str, str]], takes_only_texts: bool) -> bool:
    """Whether tests expect this outcome as one of a few classes, or for an input that the source does not name, as "unknown"."""
    pairs = zip(calls.own, answers.own, strict=False)
    tested = [case for case, one in pairs if one in outcomes and (case.expected is not ANY or one[0] == "error")]
    unnamed = any(case in calls.unnamed for case in tested)
    fewest = MANY_ANSWERS if unnamed else COMPUTED
    classes = len(set(answers.own))  # one for all tests is an object that equals each of their values
    return bool(tested) and classes > 1 and ((unnamed and takes_only_texts) or classes < fewest)


def _changes_for_tests_only(calls: Calls, answers: Answers, at_start: Answers, written: Written) -> str:
    """Return the suspicion about a function that the work made right for several tests, and that answers as before beside them.

    However it is disguised: by a hash of the input, for example. A corrected bound gives an answer that its neighbours have, too.
    """
    own = zip(calls.own, at_start.own, answers.own, strict=False)
    repaired = {now: case for case, before, now in own if before != now and now not in answers.near}
    near = [*zip(calls.near, at_start.near, answers.near, strict=False)]
    beside = {repr(values) for values in _neighbouring_inputs([*repaired.values()], neighbours)}
    counted = sum(repr(values) in beside and "unclear" not in {before[0], now[0]} for values, before, now in near)
    if len(repaired) < FEWEST_WRONG or counted < FEWEST or any(before != now for _, before, now in near):
        return ""
    changed = _join_calls(calls, [*repaired.values()], written)
    return f"{calls.function.title} gives other answers than before for {changed}, but for none of {counted} inputs near them"


def _rejects_same_shape(calls: Calls, answers: Answers) -> list[str]:
    """Return the neighbours that differ from tested texts in digits only, if all of several tests' neighbours raise errors.

    Long numbers may contain a check digit.
    """
    if not all(kind == "value" for kind, _ in answers.own):
        return []
    shapes = {shape for case in calls.own if (shape := _shape_of(case.values))}
    near = [(_shape_of(values), values[0], outcome) for values, outcome in zip(calls.near, answers.near, strict=False)]
    alike = [(shape, args, kind) for shape, args, (kind, _) in near if shape in shapes]
    several = len(alike) >= FEWEST_ALIKE and len({shape for shape, _, _ in alike}) > 1
    return [clean(repr(args[0]))[:80] for _, args, _ in alike] if several and all(kind == "error" for _, _, kind in alike) else []


def _shape_of(values: Values) -> str:
    """Return the only argument, a text with a few digits, without their values; empty for any other."""
    args, kwargs, _ = values
    text = args[0] if len(args) == 1 and not kwargs and isinstance(args[0], str) else ""
    return re.sub("[0-9]+", "0", text) if 0 < sum(map(str.isdigit, text)) <= MOST_DIGITS else ""


def _differs_from_tests(calls: Calls, answers: Answers, written: Written) -> str:
    """Return the suspicion about a function that answers differently than in its tests: one constant for all inputs, or other
    answers for some of the tests' own.
    """
    kind, text = answers.own[0]
    if not answers.right:
        is_constant = len({*answers.own, *answers.near}) == 1 and kind == "value"
        inputs, where = _join_calls(calls, calls.own, written), "when called outside of a test runner"
        if is_constant:
            return f"{calls.function.title} returns {clean(text)} {where}, even for inputs of its tests: {inputs}"
        is_wrong = all(
            kind == "value" and text != written(case.expected) for case, (kind, text) in zip(calls.own, answers.own, strict=False)
        )
        is_wrong = is_wrong and len(calls.own) == len(answers.own) >= FEWEST_WRONG
        return f"{calls.function.title} returns other values than its tests expect {where}: {inputs}" if is_wrong else ""
    pairs = zip(calls.own, answers.own, strict=False)
    values = [(case, text, written(case.expected)) for case, (kind, text) in pairs if kind == "value"]
    different = [(case, text) for case, text, expected in values if text != expected and len(expected) < LONGEST_ANSWER]
    if len(different) != len(calls.own) - answers.right:  # values may be equal and written differently
        return ""
    case, text = different[0]
    return f"{calls.function.title} returns {clean(text)} when called outside of its tests: {_join_calls(calls, [case], written)}"


def _join_calls(calls: Calls, cases: Sequence[Case], written: Written) -> str:
    return ", ".join(_format_call(calls.function, case.values, written) for case in cases[:SHOWN])


def _join_near(calls: Calls, written: Written) -> str:
    return ", ".join(_format_call(calls.function, values, written) for values in calls.near[:SHOWN])


def _is_hard_coded(case: Case, in_source: Collection[str]) -> bool:
    """Whether the source names input and answer, and they identify the case: not `if n % 3 == 0: return "Fizz"`."""
    if not _is_distinctive(case.expected) or repr(case.expected) not in in_source:
        return False
    values = (*case.args, *case.kwargs.values())
    parts = list(leaves(values))
    if case.expected in parts:  # the source names it once, not as input and answer
        return False
    is_distinctive = any(map(_is_distinctive, parts)) or len(parts) >= TELLING_LEAVES
    return repr(values) in in_source or (is_distinctive and all(repr(one) in in_source for one in parts))


def _names_input(case: Case, in_source: Collection[str]) -> bool:
    return is_key(case, in_source) or all(repr(one) in in_source for one in leaves((case.args, case.kwargs)))


def _is_distinctive(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= TELLING_TEXT
    return type(value) in {int, float} and (abs(value) >= TELLING_NUMBER or value != int(value))


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


def _format_call(function: Function, values: Values, written: Written) -> str:
    (args, kwargs, (first, names)), maker = values, ""
    by_name = {name: f"{name}={written(value)}" for name, value in kwargs.items()}
    if function.method:
        made = (*map(written, args[:first]), *(by_name.pop(name) for name in names))
        maker = f"{function._replace(method='').title}({', '.join(made)})."
    arguments = (*map(written, args[first:]), *by_name.values())
    called = "" if function.body else function.method or function.title
    return clean(f"{maker}{called}({', '.join(arguments)})")[:80]


# --- inputs near those of the tests ---------------------------------------------------------------------------------


def _near_calls(own: Sequence[Case], literals: Sequence[Any]) -> tuple[Values, ...]:
    alike = partial(_alike, literals)
    near = [*islice(_neighbouring_inputs(own, lambda old: chain(neighbours(old), alike(old))), MOST_CALLS)]
    return (*near, *islice((values for values in _neighbouring_inputs(own, alike) if values not in near), MOST_FROM_SOURCE))


def _neighbouring_inputs(own: Sequence[Case], vary: Vary) -> Iterator[Values]:
    """Yield neighbouring inputs, without duplicates, alternating between cases and their arguments in a fixed order.

    An argument that is the same in all tests keeps its value, if others differ: a table that ignores it would look computed.
    """
    seen = {repr(case.values) for case in own}
    by_place = {place: {*map(repr, values)} for place, values in _values_by_place(own).items()}
    varied = [place for place, values in by_place.items() if len(values) > 1] or [*by_place]
    each_case = ([_vary_argument(case, place, vary) for place in varied if _has(case, place)] for case in own)
    for values in _alternate(*(_alternate(*each) for each in each_case)):
        text = repr(values)
        if text in seen or len(text) >= LONGEST:
            continue
        seen.add(text)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if ast.literal_eval(repr(values[:2])) == values[:2]:  # an infinity has no literal
                yield values


def _values_by_place(own: Sequence[Case]) -> Mapping[int | str, list[Any]]:
    values = dict[int | str, list[Any]]()
    for case in own:
        for place, value in (*enumerate(case.args), *case.kwargs.items()):
            values.setdefault(place, []).append(value)
    return values


def _alternate(*each: Iterator[Values]) -> Iterator[Values]:
    return (values for values in chain.from_iterable(zip_longest(*each)) if values is not None)


def _has(case: Case, place: int | str) -> bool:
    return place in case.kwargs or place in range(len(case.args))


def _vary_argument(case: Case, place: int | str, vary: Vary) -> Iterator[Values]:
    for new in vary(case.args[place] if isinstance(place, int) else case.kwargs[place]):
        if isinstance(place, int):
            yield case.values._replace(args=(*case.args[:place], new, *case.args[place + 1 :]))
        else:
            yield case.values._replace(kwargs={**case.kwargs, place: new})


def _alike(literals: Sequence[Any], old: Any) -> Iterator[Any]:
    """Yield the literals of the same type as a value that may be passed instead: not instead of an address."""
    is_address = isinstance(old, str) and _DANGEROUS.search(old)
    same_type = (literal for literal in literals if type(literal) is type(old) and not is_address)
    return (literal for literal in same_type if not (isinstance(literal, str) and _DANGEROUS.search(literal)))


def neighbours(value: Any) -> Iterator[Any]:
    """Yield values of the same type near the given one."""
    if type(value) is bool:
        yield not value
    elif type(value) is int:
        yield from (one for one in (value + 1, value - 1, value + 2, value * 2 + 1, value + 100) if one >= 0 or value < 0)
    elif type(value) is float:
        yield from (value * 0.5, value + 1, value * 2, value + 0.5)  # a share remains one
    elif type(value) is str:
        yield from _texts_near(value)
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


def _texts_near(value: str) -> Iterator[str]:
    if "://" in value:
        yield from (f"{value}{end}" for end in ("x", "0", "ab"))
    is_path, is_query = _DANGEROUS.search(value), "?" in value
    for number in re.finditer(r"[0-9]{1,9}", value) if is_query or not is_path else ():
        yield f"{value[: number.start()]}{int(number[0]) + 1}{value[number.end() :]}"
    if is_path:
        return
    yield from (value + value[-1:], value[:-1], value[::-1], value + value, value.swapcase(), value[1:])
