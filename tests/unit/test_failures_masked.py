"""A failure behind an exit code of 0 is noticed where a runner was hidden and says itself that it failed; nowhere else."""
# ruff: noqa: E501, RUF001 - outputs stand as tools print them

import pytest

from helmsman.parsers.failures import failed_by_output

pytestmark = pytest.mark.feature("A3")

PYTEST = "FAILED tests/test_a.py::test_x - assert 3 == 4\n1 failed, 4 passed in 0.12s"
PYTEST_LAST = "=========================== 1 failed, 4 passed in 0.12s ============================"
JEST = "Test Suites: 1 failed, 1 total\nTests:       1 failed, 4 passed, 5 total\nSnapshots:   0 total\nTime:        0.31 s"
CARGO = "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`"
MYPY = "src/a.py:3: error: Missing return statement  [return]\nFound 1 error in 1 file (checked 4 source files)"

HIDDEN = [
    ("pytest -q 2>&1 | tail -5", PYTEST),
    ("pytest 2>&1 | tail -1", PYTEST_LAST),
    (".venv/bin/python -m pytest -q | grep -E 'passed|failed'", "1 failed, 4 passed in 0.12s"),
    ("cd api && uv run pytest -q || true", PYTEST),
    ('pytest -q; echo "exit: $?"', f"{PYTEST}\nexit: 1"),
    ("pytest -q > out.log 2>&1; tail -3 out.log", PYTEST),
    ("pytest -q | tee out.log; cat out.log", PYTEST),
    ("bash -c 'pytest -q | tail -5'", PYTEST),
    ("bash -lc 'pytest -q | tail -5'", PYTEST),
    ("grep -q x <<< word\npytest -q | tail -5", PYTEST),
    ("echo $((1 << 4))\npytest -q | tail -5", PYTEST),
    ("pytest -q\ngit status --short", f"{PYTEST}\n M a.py"),
    ("if pytest -q; then echo good; else echo bad; fi", f"{PYTEST}\nbad"),
    ("pytest -q && echo good || echo bad", f"{PYTEST}\nbad"),
    ("docker compose exec app pytest -q | tail", PYTEST),
    ("(cd api; pytest -q) | tail -3", PYTEST),
    ("set -e; pytest -q | tail -3", PYTEST),
    ("npm test | tee log", JEST),
    ("npx jest 2>&1 | grep -E '^Tests:'", "Tests:       1 failed, 4 passed, 5 total"),
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
    ("npm run test:unit | tail -2", PYTEST),
    ("python test_calc.py | tail -2", PYTEST),
]  # fmt: skip

HONEST = [
    ("pytest -q 2>&1 | tail -5", ".....                                                                    [100%]\n5 passed in 0.12s"),
    ("pytest -q | tail -3", "4 passed, 1 skipped, 1 xfailed in 0.12s"),
    ("pytest -q", PYTEST),
    ("pytest -q && echo done", f"{PYTEST}\ndone"),
    ("! pytest -q; echo red as it should be", PYTEST),
    ("cat test.log", PYTEST),
    ("tail -20 test.log | grep failed", "1 failed, 4 passed in 0.12s"),
    ("grep -rn error src | head", "src/a.py:3: error: no such thing"),
    ("git log --oneline | head -3", "1a2b3c4 Fix: 1 failed, 4 passed in 0.12s"),
    ("git commit -m 'pytest -q | tail' ; git status", PYTEST),
    ("echo 'pytest -q | tail'; cat notes.txt", PYTEST),
    ("cat > run.sh <<'EOF'\npytest -q | tail\nEOF\ncat run.sh", PYTEST),
    ("# pytest -q | tail\nls; cat a.txt", PYTEST),
    ("which pytest; ls", "/usr/bin/pytest"),
    ("pytest --collect-only -q | tail", "tests/test_a.py::test_failed\n\n1 test collected in 0.01s"),
    ("pytest --version; python --version", "pytest 9.0.0"),
    ("ruff check --help | tail", "Found 3 errors."),
    ("npm test | tail -5", "Test Suites: 1 passed, 1 total\nTests:       5 passed, 5 total\nSnapshots:   0 total\nTime:        0.31 s"),
    ("npm install jest@latest | tail -3", PYTEST),
    ("npm install | tail -3", "added 120 packages in 3s\n\n2 vulnerabilities (1 low, 1 high)"),
    ("npm ls | head", "app@1.0.0 /nest/app\n└── x@1.0.0"),
    ("cargo test 2>&1 | tail -3", "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"),
    ("cargo build 2>&1 | tail -3", "warning: `calc` (lib) generated 3 warnings\n    Finished `dev` profile target(s) in 0.07s"),
    ("go test ./... | tail", "ok  \texample.com/calc\t0.004s"),
    ("make 2>&1 | tail -2", "make: [Makefile:3: clean] Error 1 (ignored)\ncc -o a a.o"),
    ("make | tail -1", "make: Nothing to be done for 'all'."),
    ("mypy src | tail -1", "Success: no issues found in 4 source files"),
    ("pyright | tail -1", "0 errors, 2 warnings, 0 informations"),
    ("ruff check --fix . | tail -2", "Found 3 errors (3 fixed, 0 remaining)."),
    ("ruff check . | tail -1; ruff format .", "All checks passed!\n3 files reformatted"),
    ("npx eslint . | tail -3", "✖ 3 problems (0 errors, 3 warnings)"),
    ("black . | tail -1; true", "1 file reformatted, 3 files left unchanged."),
    ("sed -n 1,40p tests/test_a.py | head; true", "def test_x():\n    assert 'FAILED (failures=1)'"),
    ("curl -s localhost | head", "error: 1 failed"),
    ("docker compose logs app | tail", PYTEST),
]  # fmt: skip


def test_a_hidden_failure_is_noticed() -> None:
    assert [one for one in HIDDEN if not failed_by_output(*one)] == []


def test_an_honest_success_is_no_failure() -> None:
    assert [one for one in HONEST if failed_by_output(*one)] == []


def test_a_hidden_runner_that_says_nothing_of_failures_passed() -> None:
    assert [command for command, _ in HIDDEN if failed_by_output(command, "All good, 5 passed")] == []
