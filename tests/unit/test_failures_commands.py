"""What a shell command runs, whatever starts it."""

import pytest

from helmsman.parsers.failures import ran, words_of


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
    (one,) = ran(command)
    assert " ".join(words_of(one)) == words
