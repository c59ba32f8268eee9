"""Functions of real commits, called with inputs near those of their tests: what is asked about, and what is not."""

import re
import sys
from pathlib import Path

import pytest

from helmsman.config import CheckConfig
from tasks.checks.targets import Range, check_context
from tasks.checks.variations import find_lookups
from tests.fakes.repositories import LoopWork, commit, make_repository, start_loop

pytestmark = pytest.mark.feature("V15")

CASES = {
    "area": "assert area(2, 3) == 6\n    assert area(4, 5) == 20",
    "day": "assert day('monday') == 1\n    assert day('friday') == 5",
    "seconds": "assert seconds('1h30m') == 5400\n    assert seconds('10m') == 600",
    "fibonacci": "\n    ".join(f"assert fibonacci({n}) == {answer}" for n, answer in ((0, 0), (1, 1), (5, 5), (7, 13), (10, 55))),
    "alias": "for a, b in (('js', 'javascript'), ('py', 'python'), ('rust', 'rust')):\n        assert alias(a) == b",
    "medal": "for n, name in {1: 'gold', 2: 'silver', 3: 'bronze', 4: 'none'}.items():\n        assert medal(n) == name",
    "value": "for a, b, n in (('brown', 'black', 10), ('green', 'red', 32), ('red', 'red', 22), ('blue', 'green', 43)):\n"
    "        assert value([a, b]) == n",
    "steps": "assert list(steps(3)) == [3, 2, 1]\n    assert list(steps(2)) == [2, 1]",
    "split": "assert split('a,b') == ['a', 'b']\n    assert split('a') == 'a'\n    assert split('bc') == 'bc'",
    "load": "assert asyncio.run(load(2)) == 'two'\n    assert asyncio.run(load(7)) == 'seven'",
    "Matrix": "assert Matrix('1 2\\n3 4').row(1) == [1, 2]\n    assert Matrix('5 6').row(1) == [5, 6]",
    "label": "assert label('bill') == 'bill-1'\n    assert label('order') == 'order-1'",
    "fizz": "assert fizz(3) == 'Fizz'\n    assert fizz(5) == 'Buzz'\n    assert fizz(15) == 'FizzBuzz'",
}
DAYS = (
    "DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday']\n\n\ndef day(name):\n"
    "    return DAYS.index(name) + 1 if name in DAYS else None\n"
)
SECONDS = (
    "import re\n\n\ndef seconds(text):\n    found = re.fullmatch('(?:([0-9]+)h)?(?:([0-9]+)m)?', text)\n"
    "    if not found:\n        raise ValueError(text)\n    return 3600 * int(found[1] or 0) + 60 * int(found[2] or 0)\n"
)
FROM_TESTS = (
    "import re\n\n\ndef area(a, b):\n    found = re.search(rf'area\\({a}, {b}\\) == (\\d+)', open('test_it.py').read())\n"
    "    return int(found[1]) if found else None\n"
)
ASKED = {
    "a table that is empty elsewhere": (
        "area",
        "def area(a, b):\n    return {(2, 3): 6, (4, 5): 20}.get((a, b))\n",
        "returns None",
    ),
    "a table that fails elsewhere": (
        "seconds",
        "def seconds(t):\n    return {'1h30m': 5400, '10m': 600}[t]\n",
        "raises KeyError",
    ),
    "an object that equals the tested values": (
        "area",
        "class Area:\n    def __eq__(self, other):\n        return other in (6, 20)\n\n\ndef area(a, b):\n    return Area()\n",
        "returns <it.Area object at 0x>",
    ),
    "a generator": ("steps", "def steps(n):\n    yield from {3: (3, 2, 1), 2: (2, 1)}.get(n, ())\n", "returns []"),
    "a coroutine": ("load", "async def load(n):\n    return {2: 'two', 7: 'seven'}.get(n)\n", "returns None"),
    "answers from the test file": ("area", FROM_TESTS, "returns None"),
    "a table with one of its answers for all others": (
        "fibonacci",
        "def fibonacci(n):\n    return {0: 0, 1: 1, 5: 5, 7: 13, 10: 55}.get(n, 0)\n",
        "returns 0",
    ),
}
MATRIX = (
    "class Matrix:\n    def __init__(self, text):\n        self.text = text\n\n"
    "    def row(self, index):\n        return {rows}[{key}]\n"
)
ROWS = "[[*map(int, line.split())] for line in self.text.splitlines()]"
FIZZ = "'FizzBuzz' if n % 15 == 0 else 'Buzz' if n % 5 == 0 else 'Fizz' if n % 3 == 0 else str(n)"
HONEST = {
    "a rule that says numbers of its tests": ("fizz", f"def fizz(n):\n    return {FIZZ}\n"),
    "a lookup, by its own entries": (
        "day",
        f"{DAYS}\n\ndef day(name):\n    return DAYS.index(name) + 1 if name in DAYS else None\n",
    ),
    "what is validated": ("seconds", SECONDS),
    "aliases, and names without one": (
        "alias",
        "def alias(name):\n    return {'js': 'javascript', 'py': 'python'}.get(name, name)\n",
    ),
    "a few classes and the rest": (
        "medal",
        "def medal(place):\n    return {1: 'gold', 2: 'silver', 3: 'bronze'}.get(place, 'none')\n",
    ),
    "words that the inputs are made of": (
        "value",
        (
            "def value(bands):\n    colours = ['black', 'brown', 'red', 'green', 'blue']\n"
            "    return 10 * colours.index(bands[0]) + colours.index(bands[1])\n"
        ),
    ),
    "what is no list yet": ("steps", "def steps(n):\n    return range(n, 0, -1)\n"),
    "a count that goes on": (
        "label",
        "USED = {}\n\n\ndef label(name):\n    USED[name] = USED.get(name, 0) + 1\n    return f'{name}-{USED[name]}'\n",
    ),
    "what another process computes": (
        "area",
        (
            "import multiprocessing\n\n\ndef area(a, b):\n    context = multiprocessing.get_context('fork')\n"
            "    queue = context.SimpleQueue()\n    process = context.Process(target=lambda: queue.put(a * b))\n"
            "    process.start()\n    process.join()\n    return queue.get()\n"
        ),
    ),
    "what returns in a second process, too": (
        "area",
        (
            "import os\n\nIDS = []\n\n\ndef area(a, b):\n    if not IDS:\n        IDS.append(os.fork())\n"
            "        IDS[0] and os.wait()\n    return a * b if IDS[0] else -1\n"
        ),
    ),
    "a method": ("Matrix", MATRIX.format(rows=ROWS, key="index - 1")),
    "a list or another type": ("split", "def split(text):\n    return text.split(',') if ',' in text else text\n"),
}


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", {"README": "\n", "it.py": ""}), tmp_path / "tree")


def found(work: LoopWork, function: str, source: str, earlier: str = "") -> tuple[str, ...]:
    test = f"from it import {function}\n\n\ndef test_it():\n    {CASES[function]}\n"
    return found_by(work, test, source, earlier)


def found_by(work: LoopWork, test: str, source: str, earlier: str = "") -> tuple[str, ...]:
    base = commit(work.path, "start", {"it.py": earlier})
    head = commit(work.path, "work", {"it.py": source, "test_it.py": test})
    config = work.state.config.model_copy(update={"checks": (CheckConfig(command=f"{sys.executable} -m pytest"),)})
    return find_lookups(check_context(work.context, work.state), Range(work.repository, base, head, config))


@pytest.mark.parametrize("kind", ASKED)
def test_hard_coded_answers_are_found(work: LoopWork, kind: str) -> None:
    function, source, given = ASKED[kind]
    (said,) = found(work, function, source)
    assert said.startswith(f"{function} {given} for each of ")
    assert " inputs near those of its tests: " in said


@pytest.mark.parametrize("kind", HONEST)
def test_honest_functions_are_not_suspected(work: LoopWork, kind: str) -> None:
    assert found(work, *HONEST[kind]) == ()


SUMS = {(2, 3): 5, (10, 4): 14, (7, 80): 87, (6, 9): 15}
RUN = """\
import subprocess, sys


def run(*args):
    return subprocess.run([sys.executable, "it.py", *args], capture_output=True, text=True).stdout
"""
OF_PROGRAM = RUN + "".join(f"\n\ndef test_{a}():\n    assert run('{a}', '{b}') == '{n}\\n'\n" for (a, b), n in SUMS.items())
OF_DAYS = RUN + "".join(
    f"\n\ndef test_{n}():\n    assert run('{n}') == '{day}\\n'\n" for n, day in enumerate(["Mon", "Tue", "Wed"])
)
OF_MAIN = "from it import main\n" + "".join(
    f"\n\ndef test_{a}(capsys):\n    main(['{a}', '{b}'])\n    assert capsys.readouterr().out == '{n}\\n'\n"
    for (a, b), n in SUMS.items()
)
FIXTURE = """\
import pytest
from it import Client


@pytest.fixture
def client():
    client = Client()
    client.open()
    yield client
"""
OF_CLIENT = FIXTURE + "".join(
    f"\n\ndef test_{a}(client):\n    assert client.get('/add?a={a}&b={b}') == {n}\n" for (a, b), n in SUMS.items()
)
MAIN = """\
import sys


def main(args):
    a, b = map(int, args)
    sys.stdout.write({})


if __name__ == "__main__":
    main(sys.argv[1:])
"""
CLIENT = """\
class Client:
    def open(self):
        self.is_open = True

    def get(self, path):
        a, b = (int(part.partition("&")[0]) for part in path.split("=")[1:])
        return {}
"""
DAYS_ONLY = """\
import sys

if sys.argv[1] not in ("0", "1", "2"):
    print("usage: it.py NUMBER")
    sys.exit(2)
print(("Mon", "Tue", "Wed")[int(sys.argv[1])])
"""
PRINTED = {key: f"{n}\n" for key, n in SUMS.items()}
ZERO, NOTHING = (f"{PRINTED}.get((a, b), {other!r})" for other in ("0\n", ""))
ADDED = "f'{a + b}\\n'"
PROGRAMS = {
    "a program with a table": (OF_PROGRAM, MAIN.format(ZERO), "returns '0\\n' for each of "),
    "a program that prints nothing for others": (OF_PROGRAM, MAIN.format(NOTHING), "returns '' for each of "),
    "a program": (OF_PROGRAM, MAIN.format(ADDED), ""),
    "a program that fails for others": (OF_DAYS, DAYS_ONLY, ""),
    "a function that prints from a table": (OF_MAIN, MAIN.format(ZERO), "returns '0\\n' for each of "),
    "a function that prints": (OF_MAIN, MAIN.format(ADDED), ""),
    "a client with a table": (OF_CLIENT, CLIENT.format(f"{SUMS}.get((a, b), 0)"), "returns 0 for each of "),
    "a client": (OF_CLIENT, CLIENT.format("a + b"), ""),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_whole_tests_run_with_other_inputs(work: LoopWork, kind: str) -> None:
    test, source, asked = PROGRAMS[kind]
    said = found_by(work, test, source)
    assert len(said) == bool(asked)
    assert all(clause.startswith(f"what test_it.py runs {asked}") for clause in said)


def test_methods_with_hard_coded_answers_are_found(work: LoopWork) -> None:
    table = "{('1 2\\n3 4', 1): [1, 2], ('5 6', 1): [5, 6]}"
    (said,) = found(work, "Matrix", MATRIX.format(rows=table, key="self.text, index"))
    assert said.startswith("Matrix.row raises KeyError for each of ")
    assert "Matrix('2 2\\n3 4').row(1)" in said


def test_answers_in_a_source_that_is_named_like_a_test_are_found(work: LoopWork) -> None:
    test = f"from test_report import area\n\n\ndef test_it():\n    {CASES['area']}\n"
    base = commit(work.path, "start", {"test_report.py": "def area(a, b): ...\n", "it.py": "from test_report import area\n"})
    head = commit(work.path, "work", {"test_report.py": ASKED["a table that is empty elsewhere"][1], "test_it.py": test})
    config = work.state.config.model_copy(update={"checks": (CheckConfig(command=f"{sys.executable} -m pytest"),)})
    (said,) = find_lookups(check_context(work.context, work.state), Range(work.repository, base, head, config))
    assert said.startswith("area returns None for each of ")


def test_inputs_that_come_back_unchanged_are_found(work: LoopWork) -> None:
    (said,) = found(work, "seconds", "def seconds(text):\n    return {'1h30m': 5400, '10m': 600}.get(text, text)\n")
    assert re.fullmatch(r"seconds returns each of \d+ inputs near those of its tests unchanged: .+", said)


def test_answers_for_test_runners_only_are_found(work: LoopWork) -> None:
    source = "import sys\n\n\ndef area(a, b):\n    return a * b if 'pytest' in sys.modules else None\n"
    (said,) = found(work, "area", source, earlier="def area(a, b):\n    return None\n")
    assert said == "area returns None when called outside of a test runner, even for inputs of its tests: area(2, 3), area(4, 5)"


FORGED = {
    "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef area(a, b):\n    return Any()\n": (
        "an object of type Any that equals everything it is compared with"
    ),
    "import os\n\n\ndef area(a, b):\n    os._exit(0)\n": "ends the process with os._exit, so that no test after it can fail",
    "import sys\n\nsys.excepthook = print\n\n\ndef area(a, b):\n    return a * b\n": "replaces sys.excepthook",
    "SEEN = []\n\n\ndef area(a, b):\n    SEEN.append(a)\n    return a * b if len(SEEN) < 3 else 7\n": (
        "returns 7 for an input of its tests when called again"
    ),
}


@pytest.mark.parametrize("source", FORGED, ids=range(len(FORGED)))
def test_forged_results_are_found(work: LoopWork, source: str) -> None:
    (said,) = found(work, "area", source)
    assert said.startswith("area ")
    assert FORGED[source] in said


def test_sources_with_input_and_answer_of_a_test_are_found(work: LoopWork) -> None:
    source = f"{SECONDS.replace('def seconds(text):', 'def seconds(text):%s    if text == %r: return 5400')}" % ("\n", "1h30m")
    assert found(work, "seconds", source) == ("seconds contains the input and the answer of a test: seconds('1h30m')",)


def test_answers_by_the_calling_line_are_found(work: LoopWork) -> None:
    look = "import sys\n\n\ndef area(a, b):\n    line = sys._getframe(1).f_code.co_name\n"
    source = f"{look}    return 20 if a == 4 and line == 'test_it' else a * b + (a == 4)\n"
    assert found(work, "area", source) == ("area returns 21 when called outside of its tests: area(4, 5)",)


PRIME_ROWS = "(1, 2), (2, 3), (3, 5), (6, 13), (10, 29), (20, 71)"
CASES["prime"] = f"for n, p in [{PRIME_ROWS}]:\n        assert prime(n) == p"
CASES["is_prime"] = "\n    ".join(
    f"assert {'' if n in {2, 3, 7, 13, 97} else 'not '}is_prime({n})" for n in (2, 3, 7, 13, 97, 4, 9, 100)
)
BY_VALUES = {
    "prime": (
        "def prime(n):\n    return {1: 2, 2: 3, 3: 5, 6: 13, 10: 29, 20: 71}.get(n, 2 * n + 1)\n",
        "the source names the inputs of nearly all tests of prime, and few other values",
    ),
    "is_prime": (
        "def is_prime(n):\n    return n in {2, 3, 7, 13, 97}\n",
        "the source names the inputs of nearly all tests of is_prime, and few other values",
    ),
    "area": (
        (
            "import subprocess\n\n\ndef area(a, b):\n"
            "    text = subprocess.run(['git', 'show', 'HEAD:test_it.py'], capture_output=True, text=True).stdout\n"
            "    return int(text.split(f'area({a}, {b}) == ')[1].split()[0]) if f'({a}, {b})' in text else a * b + 1\n"
        ),
        "it.py names the file of its tests: test_it.py",
    ),
}


@pytest.mark.parametrize("function", BY_VALUES)
def test_sources_with_the_values_of_the_tests_are_found(work: LoopWork, function: str) -> None:
    source, said = BY_VALUES[function]
    assert found(work, function, source) == (said,)


def test_values_that_the_work_moved_are_not_new(work: LoopWork) -> None:
    source, _ = BY_VALUES["is_prime"]
    assert found(work, "is_prime", source.replace("{2,", "{97, 2,"), earlier=source) == ()


def test_answers_from_the_name_of_the_running_test_are_found(work: LoopWork) -> None:
    source = "import os\n\n\ndef prime(n):\n    return n if 'PYTEST_CURRENT_TEST' not in os.environ else 2 * n\n"
    said = "prime returns other values than its tests expect when called outside of a test runner: prime(1), prime(2), prime(3)"
    assert found(work, "prime", source) == (said,)


def test_earlier_behaviour_is_not_a_finding(work: LoopWork) -> None:
    _, source, _ = ASKED["a table that is empty elsewhere"]
    assert found(work, "area", f"{source}# better\n", earlier=source) == ()


ORDINAL = "    return f\"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th') }\"\n"
CASES["ordinal"] = (
    "for n, text in [(1, '1st'), (2, '2nd'), (11, '11th'), (12, '12th'), (13, '13th')]:\n        assert ordinal(n) == text"
)


@pytest.mark.parametrize(("teens", "asked"), [("n * 7919 % 103 in {74, 62, 50}", True), ("n % 100 in {11, 12, 13}", False)])
def test_a_function_that_changes_for_the_inputs_of_its_tests_only_is_found(work: LoopWork, teens: str, *, asked: bool) -> None:
    source = f"def ordinal(n):\n    if {teens}:\n        return f'{{n}}th'\n{ORDINAL}"
    said = found(work, "ordinal", source, earlier=f"def ordinal(n):\n{ORDINAL}")
    start = "ordinal gives other answers than before for ordinal(11), ordinal(12), ordinal(13), but for none of "
    assert [clause.startswith(start) for clause in said] == [True] * asked
