"""What runners, compilers and linters print when they fail is read as a class and a place."""
# ruff: noqa: E501, ISC004, RUF001 - outputs stand as tools print them

from pathlib import Path

import pytest

from helmsman.parsers.failures import failure_of
from helmsman.records.agent import ErrorVector
from helmsman.records.agent import FailureClass as Class

pytestmark = pytest.mark.feature("A3")

RECORDINGS = Path(__file__).parent.parent / "recordings" / "summaries"

TESTS = [
    (
        "pytest -q",
        "F.                                                                       [100%]\n"
        "=================================== FAILURES ===================================\n"
        "___________________________________ test_add ___________________________________\n\n"
        "    def test_add():\n>       assert add(1, 2) == 4\nE       assert 3 == 4\nE        +  where 3 = add(1, 2)\n\n"
        "tests/test_calc.py:5: AssertionError\n----------------------------- Captured stdout call -----------------------------\n"
        "ModuleNotFoundError: No module named 'colour'\n"
        "=========================== short test summary info ============================\n"
        "FAILED tests/test_calc.py::test_add - assert 3 == 4\n1 failed, 1 passed in 0.02s",
        "tests/test_calc.py::test_add",
        "assert 3 == 4",
    ),
    (
        "python -m pytest --tb=no -q tests | tail -3",
        "FAILED tests/test_calc.py::TestSum::test_m[a-1] - assert 1 == 2\n1 failed in 0.01s",
        "tests/test_calc.py::TestSum::test_m[a-1]",
        "assert 1 == 2",
    ),
    ("pytest -q tests/empty", "\nno tests ran in 0.01s", "pytest", "no tests ran"),
    (
        "npx jest",
        "FAIL src/calc.test.js\n  ✕ adds (3 ms)\n\n  ● calc › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n"
        "    Expected: 4\n    Received: 3\n\n      at Object.toBe (src/calc.test.js:3:20)\n\n"
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\nSnapshots:   0 total\nTime:        0.31 s",
        "calc › adds",
        "expect(received).toBe(expected) // Object.is equality",
    ),
    (
        "bundle exec rspec",
        "F\n\nFailures:\n\n  1) Calc adds\n     Failure/Error: expect(Calc.add(1, 2)).to eq(4)\n\n       expected: 4\n            got: 3\n"
        "     # ./spec/calc_spec.rb:5:in `block (2 levels) in <top (required)>'\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n"
        "1 example, 1 failure\n\nFailed examples:\n\nrspec ./spec/calc_spec.rb:4 # Calc adds",
        "./spec/calc_spec.rb:4 # Calc adds",
        "expect(Calc.add(1, 2)).to eq(4)",
    ),
    (
        "./gradlew test",
        "> Task :test FAILED\n\nCalcTest > testAdd() FAILED\n    org.opentest4j.AssertionFailedError: expected: <4> but was: <3>\n"
        "        at CalcTest.testAdd(CalcTest.java:12)\n\n1 test completed, 1 failed\n\nFAILURE: Build failed with an exception.\n\n"
        "* What went wrong:\nExecution failed for task ':test'.\n> There were failing tests.\n\nBUILD FAILED in 2s",
        "CalcTest > testAdd()",
        "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
    ),
    (
        "dotnet test",
        "  Failed Calc.Tests.Adds [12 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\nExpected: 4\nActual:   3\n"
        "  Stack Trace:\n     at Calc.Tests.Adds() in /nest/app/Tests.cs:line 9\n\n"
        "Failed!  - Failed:     1, Passed:     0, Skipped:     0, Total:     1, Duration: 12 ms",
        "Calc.Tests.Adds",
        "Assert.Equal() Failure: Values differ",
    ),
    (
        "node --test",
        "TAP version 13\n# Subtest: adds\nnot ok 1 - adds\n  ---\n  code: 'ERR_ASSERTION'\n  ...\n# tests 1\n# fail 1",
        "adds",
        None,
    ),
    ("ctest", "The following tests FAILED:\n\t  1 - calc_add (Failed)\nErrors while running CTest", "calc_add", None),
    ("bun test", "src/a.test.ts:\n(fail) calc > adds [0.21ms]\n\n 0 pass\n 1 fail", "calc > adds", None),
    (
        "python3 test_calc.py",
        'Traceback (most recent call last):\n  File "/nest/dev/test_calc.py", line 3, in <module>\n    assert add(1, 2) == 4\nAssertionError',
        "/nest/dev/test_calc.py:3",
        "AssertionError",
    ),
]

DEEPER = [
    (
        Class.MISSING_MODULE,
        "pytest",
        "==================================== ERRORS ====================================\n"
        "_______________________ ERROR collecting tests/test_a.py _______________________\n"
        "ImportError while importing test module '/nest/tests/test_a.py'.\ntests/test_a.py:1: in <module>\n    import yaml\n"
        "E   ModuleNotFoundError: No module named 'yaml'\n=========================== short test summary info ============================\n"
        "ERROR tests/test_a.py\n!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n"
        "=============================== 1 error in 1.82s ===============================",
        "tests/test_a.py:1",
    ),
    (Class.MISSING_MODULE, "python -m pytest", "/usr/bin/python3: No module named pytest", "pytest"),
    (
        Class.MISSING_MODULE,
        "node index.js",
        "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module 'express'\nRequire stack:\n- /nest/app/index.js\n"
        "    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)\n    at Object.<anonymous> (/nest/app/index.js:1:17)\n"
        "  code: 'MODULE_NOT_FOUND',\n\nNode.js v22.3.0",
        "/nest/app/index.js:1",
    ),
    (
        Class.MISSING_MODULE,
        "npm run build",
        '[vite]: Rollup failed to resolve import "dayjs" from "/nest/app/src/a.ts".',
        "dayjs",
    ),
    (
        Class.MISSING_MODULE,
        "go build ./...",
        "main.go:4:2: no required module provides package github.com/x/y; to add it:\n\tgo get github.com/x/y",
        "main.go:4",
    ),
    (
        Class.MISSING_MODULE,
        "cargo build",
        "error[E0432]: unresolved import `serde`\n --> src/lib.rs:1:5\n  |\n1 | use serde::Serialize;\n\nerror: could not compile `calc` (lib) due to 1 previous error",
        "src/lib.rs:1",
    ),
    (
        Class.MISSING_MODULE,
        "ruby a.rb",
        "<internal:/usr/lib/ruby/rubygems.rb>:136:in `require': cannot load such file -- nokogiri (LoadError)",
        "nokogiri",
    ),
    (
        Class.MISSING_MODULE,
        "javac A.java",
        "A.java:1: error: package org.junit does not exist\nimport org.junit.Test;\n1 error",
        "A.java:1",
    ),
    (
        Class.MISSING_MODULE,
        "pip install nosuch",
        "ERROR: Could not find a version that satisfies the requirement nosuch (from versions: none)\nERROR: No matching distribution found for nosuch",
        "nosuch",
    ),
    (
        Class.MISSING_MODULE,
        "npm install @x/nosuch",
        "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/@x%2fnosuch - Not found\nnpm error 404\n"
        "npm error 404  '@x/nosuch@*' is not in this registry.",
        "@x/nosuch",
    ),
    (
        Class.MISSING_MODULE,
        "make",
        "/usr/bin/ld: cannot find -lssl: No such file or directory\ncollect2: error: ld returned 1 exit status",
        "ssl",
    ),
    (
        Class.SYNTAX,
        "pytest -q",
        "==================================== ERRORS ====================================\n"
        "E     File \"/nest/tests/test_a.py\", line 3\nE       def test(\nE               ^\nE   SyntaxError: '(' was never closed\n"
        "=========================== short test summary info ============================\nERROR tests/test_a.py\n"
        "!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n1 error in 0.08s",
        "/nest/tests/test_a.py:3",
    ),
    (
        Class.MISSING_MODULE,
        "pytest -q",
        "_______________________ ERROR collecting tests/test_a.py _______________________\n"
        "tests/test_a.py:1: in <module>\n    import calc\ncalc.py:2: in <module>\n    import yaml\n"
        "E   ModuleNotFoundError: No module named 'yaml'\nERROR tests/test_a.py\n1 error in 0.08s",
        "calc.py:2",
    ),
    (
        Class.SYNTAX,
        "python a.py",
        '  File "/nest/dev/a.py", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax',
        "/nest/dev/a.py:3",
    ),
    (Class.SYNTAX, "go build", "# example.com/calc\n./calc.go:5:2: syntax error: unexpected newline, expected )", "calc.go:5"),
    (
        Class.SYNTAX,
        "gcc a.c",
        "a.c: In function ‘main’:\na.c:3:11: error: expected ‘;’ before ‘}’ token\n    3 |   return 0",
        "a.c:3",
    ),
    (Class.SYNTAX, "npx tsc --noEmit", "src/a.ts(3,5): error TS1005: ';' expected.", "src/a.ts:3"),
    (Class.SYNTAX, "make", "Makefile:3: *** missing separator.  Stop.", "Makefile:3"),
    (Class.SYNTAX, "cargo check", "error: this file contains an unclosed delimiter\n --> src/lib.rs:9:3\n", "src/lib.rs:9"),
]

OBJECTIONS = [
    (Class.TYPES, "mypy src", 'src/a.py:3: error: Incompatible return value type (got "str", expected "int")  [return-value]\nFound 1 error in 1 file (checked 4 source files)', "src/a.py:3"),
    (Class.TYPES, "pyright", '/nest/dev/a.py\n  /nest/dev/a.py:3:12 - error: "foo" is not a known attribute of "None" (reportOptionalMemberAccess)\n1 error, 0 warnings, 0 informations', "/nest/dev/a.py:3"),
    (Class.TYPES, "npx tsc --noEmit", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.", "src/a.ts:3"),
    (Class.TYPES, "make types", "a.py:7: error: Missing return statement\nFound 1 error in 1 file (checked 1 source file)\nmake: *** [Makefile:4: types] Error 1", "a.py:7"),
    (Class.LINT, "ruff check .", "src/a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option.", "src/a.py:1"),
    (Class.LINT, "ruff check .", "F401 [*] `os` imported but unused\n --> src/a.py:1:8\n  |\n1 | import os\n  |        ^^\nFound 1 error.", "src/a.py:1"),
    (Class.LINT, "npx eslint .", "\n/nest/app/src/a.js\n  3:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n", "/nest/app/src/a.js:3"),
    (Class.LINT, "npx prettier --check .", "Checking formatting...\n[warn] src/a.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.", "src/a.ts"),
    (Class.LINT, "black --check .", "would reformat src/a.py\n\nOh no! 💥 💔 💥\n1 file would be reformatted, 3 files would be left unchanged.", "src/a.py"),
    (Class.LINT, "ruff format --check", "Would reformat: src/a.py\n1 file would be reformatted", "src/a.py"),
    (Class.LINT, "ruff format --check", "unformatted: File would be reformatted\n --> bad.py:2:1\n  |\n1 file would be reformatted", "bad.py:2"),
    (Class.LINT, "cargo clippy -- -D warnings", "error: unneeded `return` statement\n --> src/lib.rs:2:5\n  |\n2 |     return 1;\n  = help: for further information visit https://rust-lang.github.io/rust-clippy/master/index.html#needless_return\n\nerror: could not compile `calc` (lib) due to 1 previous error", "src/lib.rs:2"),
    (Class.LINT, "go vet ./...", "# example.com/calc\n./calc.go:7:2: fmt.Printf format %d has arg s of wrong type string", "calc.go:7"),
    (Class.LINT, "git commit -m x", "ruff.....................................................................Failed\n- hook id: ruff\n- exit code: 1\n", "ruff"),
    (Class.BUILD, "gcc a.c", "a.c: In function ‘main’:\na.c:3:3: error: ‘x’ undeclared (first use in this function)", "a.c:3"),
    (Class.BUILD, "make", "/usr/bin/ld: /tmp/ccX3bQ1z.o: in function `main':\na.c:(.text+0xa): undefined reference to `foo'\ncollect2: error: ld returned 1 exit status\nmake: *** [Makefile:2: a] Error 1", "make"),
    (Class.BUILD, "cargo build", "   Compiling calc v0.1.0 (/nest/calc)\nerror[E0308]: mismatched types\n --> src/lib.rs:2:5\n  |\n\nerror: could not compile `calc` (lib) due to 1 previous error", "src/lib.rs:2"),
    (Class.BUILD, "go build ./...", "# example.com/calc\n./calc.go:5:2: undefined: foo", "calc.go:5"),
    (Class.BUILD, "go test ./...", "# example.com/calc [example.com/calc.test]\n./calc_test.go:8:2: declared and not used: a\nFAIL\texample.com/calc [build failed]\nFAIL", "calc_test.go:8"),
    (Class.BUILD, "mvn compile", "[ERROR] COMPILATION ERROR : \n[ERROR] /nest/app/src/main/java/A.java:[3,5] cannot find symbol\n[INFO] BUILD FAILURE", "/nest/app/src/main/java/A.java:3"),
    (Class.BUILD, "gradle build", "FAILURE: Build failed with an exception.\n\n* What went wrong:\nA problem occurred evaluating root project 'app'.\n\nBUILD FAILED in 1s", "gradle"),
    (Class.BUILD, "dotnet build", "/nest/app/A.cs(3,5): error CS0103: The name 'foo' does not exist in the current context [/nest/app/app.csproj]\n\nBuild FAILED.", "/nest/app/A.cs:3"),
    (Class.BUILD, "cmake -B build", 'CMake Error at CMakeLists.txt:3 (find_package):\n  Could not find a package configuration file provided by "Foo"', "CMakeLists.txt:3"),
    (Class.BUILD, "make all", "gcc -c a.c\nmake: *** [Makefile:4: a.o] Error 1", "Makefile:4"),
    (Class.BUILD, "npm install", "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: react@19.0.0", "npm"),
    (Class.BUILD, "yarn build", "error Command failed with exit code 1.\ninfo Visit the documentation for this command.", "yarn"),
]  # fmt: skip


def read(command: str, output: str) -> ErrorVector:
    return failure_of("Bash", command, f"Exit code 1\n{output}")


def test_a_failing_test_is_named_and_quoted() -> None:
    for command, output, where, message in TESTS:
        vector = read(command, output)
        assert (vector.kind, vector.where) == (Class.TEST, where)
        assert vector.message == message or (message is None and vector.message)


@pytest.mark.parametrize(
    "table", [DEEPER, OBJECTIONS], ids=["a cause that lies deeper than the test", "what objects to the code"]
)
def test_an_output_is_read_as_its_class_and_place(table: list[tuple[Class, str, str, str]]) -> None:
    for kind, command, output, where in table:
        vector = read(command, output)
        assert (vector.kind, vector.where) == (kind, where), output
        assert vector.message


RECORDED = {
    "pytest_red": (Class.TEST, "test_calc.py::TestGroup::test_m", "AssertionError: assert 'a - b' == 'c'"),
    "pytest_broken": (Class.MISSING_MODULE, "test_calc.py:1", "ModuleNotFoundError: No module named 'nowhere'"),
    "unittest_red": (Class.TEST, "test_err (sub_test.T.test_err)", "KeyError: 'x'"),
    "unittest_broken": (Class.MISSING_MODULE, "/workspace/test_calc.py:1", "ModuleNotFoundError: No module named 'nowhere'"),
    "jest_red": (Class.TEST, "calc › inner › fails › with arrow", "● x"),
    "vitest_red": (Class.TEST, "vitest/red.test.js > calc > inner > fails › with arrow", "Error: ● x"),
    "cargo_red": (Class.TEST, "integ_err", 'Error: "no"'),
    "mocha_red": (
        Class.TEST,
        "calc deep: inner fails with text",
        "AssertionError [ERR_ASSERTION]: The expression evaluated to a falsy value:",
    ),
    "go_failing": (Class.TEST, "TestSub", "got 3, want 1"),
    "go_broken": (Class.BUILD, "calc_test.go:5", "undefined: Nowhere"),
    "maven_failing": (Class.TEST, "CalcTest$Inner.deep", "org.opentest4j.AssertionFailedError: expected: <3> but was: <1>"),
    "rspec_failing": (
        Class.TEST,
        "'./spec/calc_spec.rb[1:3:2]' # calc with numbers is positive",
        "it('subtracts') { expect(2 - 1).to eq 3 }",
    ),
    "phpunit_red": (Class.TEST, r"Calc\CalcTest::testDivide", "DivisionByZeroError: Division by zero"),
}


def test_outputs_of_real_runners_are_read() -> None:
    outputs = {name: (RECORDINGS / f"{name}.txt").read_text("utf-8") for name in RECORDED}
    found = {name: read(name.partition("_")[0], output) for name, output in outputs.items()}
    assert {name: (vector.kind, vector.where, vector.message) for name, vector in found.items()} == RECORDED
