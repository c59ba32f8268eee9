"""Paths and commands, as sentences name them."""

import pytest

from helmsman.records.evidence import CommandRun
from helmsman.verify.claims.commands import covers, failed_last, is_command, is_test_command, may_test, normal, only_step
from helmsman.verify.claims.paths import Paths, as_path, git_would_show

pytestmark = pytest.mark.feature("V6")


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("`src/app.py`", "src/app.py"),
        ("src/app.py:12-30", "src/app.py"),
        ("`tests/test_a.py::test_b`", "tests/test_a.py"),
        ("[`src/a.ts`](src/a.ts#L3)", "src/a.ts"),
        ("README.md's", "README.md"),
        ("`Makefile`", "Makefile"),
        ("Makefile", "Makefile"),
        (".gitignore", ".gitignore"),
        ("`main.js`", "main.js"),
    ],
)
def test_a_word_that_names_a_file_is_a_path(word: str, path: str) -> None:
    assert as_path(word) == path


@pytest.mark.parametrize(
    "word",
    [
        *(
            "",
            "`",
            "makefile",
            "license",
            "main.js",
            "Node.js",
            "`next.js`",
            "e.g",
            "1.2.3",
            "example.com",
            "`foo.bar()`",
            "json.loads",
        ),
        *("https://example.org/a.py", "//x/a.py", "src/*.py", "{a,b}.ts", ".py", "...py", "src/", "`two words.py`", "<name>.py"),
    ],
)
def test_a_word_that_may_be_something_else_is_none(word: str) -> None:
    assert as_path(word) == ""


def test_a_path_is_found_by_whole_folders_only() -> None:
    known = Paths(["src/app.py", "b.py"])
    assert [path in known for path in ("app.py", "x/src/app.py", "xsrc/app.py", "p.py", "lib/b.py", "")] == [
        *(True, True, False, False, True, False),
    ]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/app.py", True),
        ("src/.env/a.py", True),
        ("build/a.py", False),
        ("a/__pycache__/b.pyc", False),
        ("/w/src/a.py", True),
        ("/w", False),
    ],
)
def test_git_shows_what_lies_in_the_worktree_and_is_not_junk(path: str, shown: bool) -> None:
    assert git_would_show(path, (), "/w") == shown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pytest -q", "pytest"),
        ("CI=1 .venv/bin/python -m pytest -q --tb=short 2>&1", "pytest"),
        ("timeout 60 uv run pytest tests", "pytest tests"),
        ("npm run test -- --ci", "npm test"),
        ("go test ./...", "go test"),
        ("ruff check .", "ruff check"),
        ("python3 test_calc.py", "python test_calc.py"),
        ("pytest -k dates", "pytest -k dates"),
        ("", ""),
        ("env", "env"),
        ("timeout", "timeout"),
        ("A=1", ""),
    ],
)
def test_a_command_is_reduced_to_what_it_runs(command: str, words: str) -> None:
    assert " ".join(normal(command)) == words


@pytest.mark.parametrize(
    "command", ["pytest", "npm test", "npm run test:unit", "go test ./...", "make check", "./run_tests.sh", "tox -e py"]
)
def test_commands_that_run_tests_are_known_by_their_names(command: str) -> None:
    assert is_test_command(command)


@pytest.mark.parametrize(
    "command", ["", "ruff check", "npm install", "make", "cat tests/test_a.py", "git commit -m test", "test -f x"]
)
def test_other_commands_are_not_tests(command: str) -> None:
    assert not is_test_command(command)


@pytest.mark.parametrize(
    ("text", "known"), [("npm install", True), ("make", True), ("go", False), ("test_adds", False), ("", False), ("a b", False)]
)
def test_a_quoted_text_is_a_command_by_its_first_word(text: str, known: bool) -> None:
    assert is_command(text) == known


def test_only_a_line_that_does_one_thing_has_an_exit_code_of_its_own() -> None:
    lines = ("cd app && npm test", "npm test; ls", "npm test | tail", "npm test || true", "")
    assert [bool(only_step(line)) for line in lines] == [True, False, False, False, False]


def test_a_whole_runner_covers_its_parts_and_nothing_else_does() -> None:
    assert covers(("pytest",), ("pytest", "tests/unit"))
    assert not covers(("pytest", "tests/unit"), ("pytest",))
    assert not covers(("make",), ("make", "lint"))


def test_a_failure_counts_until_tests_went_well_again() -> None:
    failed, passed, look = (
        CommandRun(command=command, failed=wrong) for command, wrong in (("pytest", True), ("tox", False), ("ls", False))
    )
    assert failed_last(("pytest",), (passed, failed, look))
    assert not failed_last(("pytest",), (failed, passed))
    assert not failed_last(("pytest",), (look,))


@pytest.mark.parametrize(
    ("command", "may"), [("ls -la && git status", False), ("sh ci.sh", True), ("ls; ./x", True), ("ls " * 100, True)]
)
def test_a_command_may_run_tests_unless_it_only_looks_and_moves(command: str, may: bool) -> None:
    assert may_test(command) == may
