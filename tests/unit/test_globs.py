"""Patterns that name paths of a repository."""

from helmsman.parsers.paths import matches_any


def test_a_pattern_means_what_people_expect() -> None:
    for pattern, path, matches in [
        ("check.sh", "check.sh", True),
        ("check.sh", "tools/check.sh", True),
        ("tools/*.sh", "tools/deep/check.sh", False),
        ("tools/**", "tools/deep/check.sh", True),
        ("**/conftest.py", "conftest.py", True),
        ("tests/", "my/tests/test_a.py", True),
        ("/tests/", "my/tests/test_a.py", False),
        ("a[b]", "a[b]", True),
        ("./tests/", "my/tests/test_a.py", False),
        ("./check.sh", "tools/check.sh", False),
        ("test_?.py", "test_a.py", True),
        ("test_?.py", "test_ab.py", False),
        ("", "a", False),
    ]:
        assert matches_any(path, [pattern]) is matches
