"""Which words name files, and which names can mean one file."""

import pytest

from helmsman.parsers.paths import Paths, as_path, git_would_show

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


def test_a_word_that_may_be_something_else_is_none() -> None:
    words = ("", "`", "makefile", "main.js", "`next.js`", "e.g", "1.2.3", "example.com", "`foo.bar()`", "json.loads", "<name>.py")
    paths = ("https://example.org/a.py", "//x/a.py", "src/*.py", "{a,b}.ts", ".py", "...py", "src/", "`two words.py`")
    assert [word for word in (*words, *paths) if as_path(word)] == []


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
    assert git_would_show(path, "/w") == shown
