"""Patterns that name paths of a repository."""

import pytest

from helmsman.parsers.globs import matches_any


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("check.sh", "check.sh", True),
        ("check.sh", "tools/check.sh", True),
        ("tools/*.sh", "tools/check.sh", True),
        ("tools/*.sh", "tools/deep/check.sh", False),
        ("tools/**", "tools/deep/check.sh", True),
        ("**/conftest.py", "conftest.py", True),
        ("**/conftest.py", "a/b/conftest.py", True),
        ("tests/", "tests/unit/test_a.py", True),
        ("tests/", "my/tests/test_a.py", True),
        ("/tests/", "my/tests/test_a.py", False),
        ("/tests/", "tests/test_a.py", True),
        ("a[b]", "a[b]", True),
        ("./tests/", "tests/unit/test_a.py", True),
        ("./tests/", "my/tests/test_a.py", False),
        ("./check.sh", "check.sh", True),
        ("./check.sh", "tools/check.sh", False),
        ("test_?.py", "test_a.py", True),
        ("test_?.py", "test_ab.py", False),
        ("a+b(1).py", "a+b(1).py", True),
        ("", "a", False),
    ],
)
def test_a_pattern_means_what_people_expect(pattern: str, path: str, matches: bool) -> None:
    assert matches_any(path, [pattern]) is matches


def test_no_pattern_matches_nothing() -> None:
    assert not matches_any("a", [])
