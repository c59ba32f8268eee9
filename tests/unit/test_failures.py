"""Two runs of one failure are one failure, recurrences are counted, and no output makes the reading raise or run away."""
# ruff: noqa: E501, ISC004, RUF001 - outputs stand as tools print them

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.parsers.failure_words import MESSAGE, WHERE, merge_failure
from helmsman.parsers.failures import failed_by_output, failure_of, parse_commands, words_of
from helmsman.records.agent import ErrorVector
from helmsman.records.agent import FailureClass as Class

pytestmark = pytest.mark.feature("A3")

# what differs from run to run ------------------------------------------------------------------------------------------

RUNS = [
    (
        "pytest -q",
        "____ test_add ____\n\nE       RuntimeError: <A object at {address}> gave up after {seconds}s (pid {pid})\n\n"
        "{tmp}/a.py:5: RuntimeError\n==== short test summary info ====\nFAILED tests/test_a.py::test_add - RuntimeError\n1 failed in {seconds}s",
    ),
    ("pytest -q", "E       assert '/tmp/pytest-of-me/pytest-{pid}/popen-gw{port}/test_x0/out' == 'x'\n1 failed in {seconds}s"),
    ("python a.py", 'Traceback (most recent call last):\n  File "{tmp}/a.py", line 3, in <module>\n    x()\nOSError: {id} at {clock}: port {port}'),
    ("node a.js", "Error: connect ECONNREFUSED 127.0.0.1:{port}\n    at TCPConnectWrap (node:net:1606:16)"),
    ("npx jest", "  ● calc › adds\n\n    Error: listen {clock} {address} {tmp}\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\nTime:  {seconds} s"),
    ("go test", "--- FAIL: TestSub ({seconds}s)\n    calc_test.go:14: {date}T{clock}Z got 3 from localhost:{port}\nFAIL\nFAIL\texample.com/calc\t{seconds}s"),
    ("cargo run", "thread 'main' ({pid}) panicked at src/main.rs:3:5:\ncannot open {tmp}/x: {id}"),
    ("./a.out", "/bin/bash: line 1: {pid} Segmentation fault      (core dumped) ./a.out"),
    ("./a.out", "=={pid}==ERROR: AddressSanitizer: heap-use-after-free on address {address} at pc {address}"),
    ("gcc a.c", "{tmp}/a.c:3:3: error: 'x' undeclared"),
    ("curl localhost:{port}", "curl: (7) Failed to connect to localhost port {port} after {port} ms: Couldn't connect to server"),
    ("node a.js", "(node:{pid}) Warning: x\nTypeError: took {seconds} ms, worker {pid}"),
    ("x", "{date} {clock},123 ERROR [{pid_long}] cannot go on"),
]  # fmt: skip
VARYING = st.fixed_dictionaries(
    {
        "address": st.integers(2**24, 2**63).map(hex),
        "pid": st.integers(1, 4_194_304).map(str),
        "pid_long": st.integers(10_000, 4_194_304).map(str),
        "port": st.integers(1024, 65535).map(str),
        "seconds": st.decimals(0, 1000, places=2).map(str),
        "clock": st.times().map(lambda time: time.strftime("%H:%M:%S")),
        "date": st.dates().map(lambda date: date.isoformat()),
        "id": st.uuids().map(str),
        "hash": st.integers(16**11, 16**12 - 1).map(lambda number: f"{number:012x}"),
        "tmp": st.from_regex(r"/tmp/(tmp[a-z0-9_]{8}|[a-zA-Z]{3,9}\.[a-zA-Z0-9]{6})", fullmatch=True),
    }
)


@pytest.mark.parametrize(("command", "output"), RUNS)
@settings(max_examples=20)
@given(one=VARYING, other=VARYING)
def test_two_runs_of_one_failure_are_equal(command: str, output: str, one: dict[str, str], other: dict[str, str]) -> None:
    first, second = (failure_of("Bash", command.format(**run), f"Exit code 1\n{output.format(**run)}") for run in (one, other))
    assert first == second
    assert first.message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E   assert 3 == 4\n1 failed in 0.1s", "E   assert 3 == 5\n1 failed in 0.1s"),
        ("FAILED a.py::test_x - no\n1 failed in 0.1s", "FAILED a.py::test_y - no\n1 failed in 0.1s"),
        ("a.c:3:3: error: 'x' undeclared", "a.c:4:3: error: 'x' undeclared"),
        ("cat: a: No such file or directory", "cat: b: No such file or directory"),
        ("cat: a: No such file or directory", "cat: a: Permission denied"),
    ],
)
def test_different_failures_stay_different(one: str, other: str) -> None:
    assert same(failure_of("Bash", "x", one)) != same(failure_of("Bash", "x", other))


def test_the_failing_test_does_not_depend_on_parallel_order() -> None:
    one, other = "_____ test_a _____\nE   assert 1 == 2\n", "_____ test_b _____\nE   assert 3 == 4\n"
    recap = "==== short test summary info ====\nFAILED t.py::test_{} - x\nFAILED t.py::test_{} - x\n2 failed in 0.1s"
    there = failure_of("Bash", "pytest", one + other + recap.format("a", "b"))
    back = failure_of("Bash", "pytest", other + one + recap.format("b", "a"))
    assert there == back
    assert (there.where, there.message) == ("t.py::test_a", "assert 1 == 2")


# recurrence -----------------------------------------------------------------------------------------------------------

KINDS = st.sampled_from(list(Class))
ERRORS = st.builds(ErrorVector, kind=KINDS, where=st.sampled_from("abc"), message=st.sampled_from(["x", "y"]))


def same(error: ErrorVector) -> tuple[Class, str, str]:
    return error.kind, error.where, error.message


def counted(errors: Iterable[ErrorVector]) -> tuple[ErrorVector, ...]:
    merged: tuple[ErrorVector, ...] = ()
    for error in errors:
        merged = merge_failure(merged, error)
    return merged


def test_a_failure_that_comes_again_is_counted_and_moves_to_the_end() -> None:
    a, b = (ErrorVector(kind=Class.TEST, where=name, message="m") for name in "ab")
    assert merge_failure((a, b), a) == (b, a.model_copy(update={"times": 2}))


@given(st.lists(ERRORS, max_size=60))
def test_a_list_of_failures_holds_each_once_and_the_newest(errors: list[ErrorVector]) -> None:
    merged = counted(errors)
    assert len([*merged]) <= 20
    assert not errors or same(merged[-1]) == same(errors[-1])
    assert len({*map(same, merged)}) == len(merged)
    assert sum(error.times for error in merged) <= len(errors)


def test_the_oldest_of_more_than_twenty_is_dropped() -> None:
    errors = [ErrorVector(kind=Class.OTHER, where=f"a{number}") for number in range(25)]
    assert [error.where for error in counted(errors)] == [f"a{number}" for number in range(5, 25)]


# hostile --------------------------------------------------------------------------------------------------------------


def bounded(vector: ErrorVector) -> bool:
    texts = (vector.where, vector.message)
    return len(vector.where) <= WHERE and len(vector.message) <= MESSAGE and all(len(text.splitlines()) <= 1 for text in texts)


def test_what_is_no_text_is_classified_as_well() -> None:
    for odd in (None, 7, b"x", ["x"]):
        given: Any = odd
        assert bounded(failure_of(given, given, given))
        assert failed_by_output(given, given) is False


LONG = 500_000
"""Whatever takes time by its square takes more than a minute for this."""
PIECES = [
    "a", "(", " ", "\n", "\t", "1", "/", ":", "a.", "a:", "a: ", "\x1b[", "\x1b", '"', "'", "a/b.go:1:1: x\n", "E   \n", "E   a", "error: ",
    "a.py:1: error: x\n", "[warn] a\n", "error: a\n --> a:1:1\n", "/tmp/", "0x", "-", "a > b", "FAIL: a\n", '  File "a", line 1\n', "Error",
    "\x00", "\r", "[ERROR] ", "make: *** [", "()" , "expect(", "::", "a a", "./", "\\", "=", "  ● a\n", "thread 'a' panicked at ", "1s ", "at a (",
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("form", ["{}", "Exit code 1\n{}\n1 failed in 0.1s"])
def test_huge_output_is_read_in_bounded_time(form: str) -> None:
    for piece in PIECES:
        text = form.format(piece * (LONG // len(piece)))
        assert bounded(failure_of("Bash", "pytest", text))
        assert failed_by_output(piece * (100_000 // len(piece)), text) is False
        assert isinstance(failed_by_output("pytest | tail", text), bool)


def test_the_failure_at_the_end_of_a_megabyte_is_read() -> None:
    vector = failure_of(
        "Bash", "pytest", "Exit code 1\n" + "collecting ...\n" * 100_000 + "FAILED a.py::test_x - no\n1 failed in 0.1s"
    )
    assert (vector.kind, vector.where) == (Class.TEST, "a.py::test_x")


@pytest.mark.parametrize(
    ("output", "failures"),
    [
        ("error: could not compile `calc` (lib) due to 3 previous errors; 7 warnings emitted", 3),
        ("✖ 305 problems (5 errors, 300 warnings)", 305),
        ("✖ 3 problems (0 errors, 3 warnings)", 3),
        ("Found 2 violations", 2),
        ("0 errors, 4 warnings", 0),
        ("a.c:3: error: x\na.c:9: error: y", 2),
    ],
)
def test_the_extent_is_a_count_else_the_number_of_error_lines(output: str, failures: int) -> None:
    assert failure_of("Bash", "make", f"Exit code 1\n{output}").extent == failures


# What a shell command runs, whatever starts it


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pytest -q", "pytest"),
        ("CI=1 .venv/bin/python -m pytest -q --tb=short 2>&1", "pytest"),
        ("timeout 60 uv run pytest tests", "pytest tests"),
        ("npm run test -- --ci", "npm test"),
        ("go test ./...", "go test ./..."),
        ("ruff check .", "ruff check ."),
        ("python3 test_calc.py", "python test_calc.py"),
        ("pytest -k dates", "pytest dates"),
    ],
)
def test_a_command_is_reduced_to_what_it_runs(command: str, words: str) -> None:
    (one,) = parse_commands(command)
    assert " ".join(words_of(one)) == words


# A test file that cannot be imported is told as such


def test_a_test_file_that_cannot_be_imported_is_a_broken_build_and_no_test_that_failed() -> None:
    cases = {
        "no test ran": ("ERROR test_a.py - NameError: name 'x' is not defined\n!!!!!!!!!! Interrupted: 2 errors during collection !!!!!!!!!!", Class.BUILD, "words.py:1"),
        "others ran and failed": ("ERROR test_a.py - NameError: name 'x' is not defined\nFAILED test_b.py::test_it - assert 1 == 2", Class.TEST, "test_a.py"),
    }  # fmt: skip
    for case, (ending, kind, where) in cases.items():
        output = (
            "____________________________ ERROR collecting test_a.py ____________________________\n"
            "test_a.py:1: in <module>\n    import words\nwords.py:1: in <module>\n    y = x\n        ^\nE   NameError: name 'x' is not defined\n"
            f"============================= short test summary info ==============================\n{ending}\n2 errors in 0.15s"
        )
        found = failure_of("Bash", "pytest -q", f"Exit code 2\n{output}")
        assert (found.kind, found.where, found.message) == (kind, where, "NameError: name 'x' is not defined"), case


# A failure behind an exit code of 0 is noticed where a runner was hidden and says itself that it failed; nowhere else


PYTEST = "FAILED tests/test_a.py::test_x - assert 3 == 4\n1 failed, 4 passed in 0.12s"


JEST = "Test Suites: 1 failed, 1 total\nTests:       1 failed, 4 passed, 5 total\nSnapshots:   0 total\nTime:        0.31 s"


CARGO = "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`"


MYPY = "src/a.py:3: error: Missing return statement  [return]\nFound 1 error in 1 file (checked 4 source files)"


HIDDEN = [
    ("pytest -q 2>&1 | tail -5", PYTEST),
    ('pytest -q; echo "exit: $?"', f"{PYTEST}\nexit: 1"),
    ("pytest -q > out.log 2>&1; tail -3 out.log", PYTEST),
    ("bash -c 'pytest -q | tail -5'", PYTEST),
    ("pytest -q\ngit status --short", f"{PYTEST}\n M a.py"),
    ("pytest -q && echo good || echo bad", f"{PYTEST}\nbad"),
    ("docker compose exec app pytest -q | tail", PYTEST),
    ("npm test | tee log", JEST),
    ("cargo test; echo done", f"{CARGO}\ndone"),
    ("cargo build 2>&1 | tail -1", "error: could not compile `calc` (lib) due to 1 previous error"),
    ("go test ./... | tail -4", "--- FAIL: TestSub (0.00s)\n    a_test.go:14: got 3, want 1\nFAIL\nFAIL\texample.com/calc\t0.004s\nFAIL"),
    ("go build ./... 2>&1 | head", "# example.com/calc\n./calc.go:5:2: undefined: foo"),
    ("make || true", "gcc -c a.c\na.c:3:3: error: ‘x’ undeclared\nmake: *** [Makefile:4: a.o] Error 1"),
    ("mypy src | tail -2", MYPY),
    ("npx pyright | tail -1", "3 errors, 0 warnings, 0 informations"),
    ("npx tsc --noEmit | head -3", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'."),
    ("ruff check . | tail -2; ruff format --check .", "Found 3 errors.\n[*] 1 fixable with the `--fix` option."),
    ("npx eslint . | tail -3", "✖ 3 problems (2 errors, 1 warning)"),
    ("python test_calc.py 2>&1 | tail -4", "----------------------------------------------------------------------\nRan 2 tests in 0.000s\n\nFAILED (failures=1)"),
    ("mvn -q test | tail -3", "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE"),
    ("./run_tests.sh | tail -2", PYTEST),
]  # fmt: skip


HONEST = [
    ("pytest -q 2>&1 | tail -5", ".....                                                                    [100%]\n5 passed in 0.12s"),
    ("pytest -q", PYTEST),
    ("! pytest -q; echo red as it should be", PYTEST),
    ("cat test.log", PYTEST),
    ("grep -rn error src | head", "src/a.py:3: error: no such thing"),
    ("git log --oneline | head -3", "1a2b3c4 Fix: 1 failed, 4 passed in 0.12s"),
    ("git commit -m 'pytest -q | tail' ; git status", PYTEST),
    ("cat > run.sh <<'EOF'\npytest -q | tail\nEOF\ncat run.sh", PYTEST),
    ("# pytest -q | tail\nls; cat a.txt", PYTEST),
    ("which pytest; ls", "/usr/bin/pytest"),
    ("pytest --collect-only -q | tail", "tests/test_a.py::test_failed\n\n1 test collected in 0.01s"),
    ("pytest --version; python --version", "pytest 9.0.0"),
    ("ruff check --help | tail", "Found 3 errors."),
    ("npm test | tail -5", "Test Suites: 1 passed, 1 total\nTests:       5 passed, 5 total\nSnapshots:   0 total\nTime:        0.31 s"),
    ("npm install jest@latest | tail -3", PYTEST),
    ("npm install | tail -3", "added 120 packages in 3s\n\n2 vulnerabilities (1 low, 1 high)"),
    ("cargo test 2>&1 | tail -3", "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"),
    ("cargo build 2>&1 | tail -3", "warning: `calc` (lib) generated 3 warnings\n    Finished `dev` profile target(s) in 0.07s"),
    ("make 2>&1 | tail -2", "make: [Makefile:3: clean] Error 1 (ignored)\ncc -o a a.o"),
    ("pyright | tail -1", "0 errors, 2 warnings, 0 informations"),
    ("ruff check --fix . | tail -2", "Found 3 errors (3 fixed, 0 remaining)."),
    ("npx eslint . | tail -3", "✖ 3 problems (0 errors, 3 warnings)"),
    ("sed -n 1,40p tests/test_a.py | head; true", "def test_x():\n    assert 'FAILED (failures=1)'"),
    ("curl -s localhost | head", "error: 1 failed"),
]  # fmt: skip


def test_a_hidden_failure_is_noticed() -> None:
    assert [one for one in HIDDEN if not failed_by_output(*one)] == []


def test_an_honest_success_is_no_failure() -> None:
    assert [one for one in HONEST if failed_by_output(*one)] == []


def test_a_hidden_runner_that_says_nothing_of_failures_passed() -> None:
    assert [command for command, _ in HIDDEN if failed_by_output(command, "All good, 5 passed")] == []
