"""What a shell command runs, whatever starts it, and whether that runs tests."""

import pytest

from helmsman.verify.failures.commands import is_test_command, normal


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
