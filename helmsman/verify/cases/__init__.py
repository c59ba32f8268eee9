"""Test cases as they stand in sources: what they are called, what they assert, what skips them."""

from helmsman.verify.cases.model import Assertion, Case, Guard, Kind, Reading, Skip, SkipKind
from helmsman.verify.cases.paths import is_source, is_test_file, is_test_support, language_of
from helmsman.verify.cases.reading import cases_in, reading_of

__all__ = [
    "Assertion",
    "Case",
    "Guard",
    "Kind",
    "Reading",
    "Skip",
    "SkipKind",
    "cases_in",
    "is_source",
    "is_test_file",
    "is_test_support",
    "language_of",
    "reading_of",
]
