"""Reads a file in the way its language is read."""

from helmsman.verify.cases.lines import read_lines
from helmsman.verify.cases.masks import masked
from helmsman.verify.cases.model import Case, Reading
from helmsman.verify.cases.paths import is_test_file, language_of
from helmsman.verify.cases.python import read_python


def cases_in(path: str, text: str) -> tuple[Case, ...]:
    """The tests that a runner would collect from a file; none where it is no test file."""
    return reading_of(path, text).cases if is_test_file(path, text) else ()


def reading_of(path: str, text: str) -> Reading:
    """Everything that a file says about tests, whatever it is called. Never raises."""
    language = language_of(path)
    if not language:
        return Reading()
    parsed = read_python(path, text) if language == "python" else None
    return parsed if parsed is not None else read_lines(path, text, language)


def code_of(path: str, text: str) -> str:
    """Program text without comments, white space and tests."""
    language = language_of(path)
    text = without_tests(path, text)
    return "".join((masked(text, language).code if language else text).split())


def without_tests(path: str, text: str) -> str:
    """A Rust source has its tests at its end."""
    return text.partition("#[cfg(test)]")[0] if path.endswith(".rs") else text
