"""What the judge is shown: whole files first, bounded, and everything that is not shown told as such."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.tokens import tokens
from helmsman.verify.judge.view import view_outputs, view_sources
from tests.fakes.judge_questions import output

pytestmark = pytest.mark.feature("V7")
MANY = 24_000


def shown_order(*paths: str, texts: dict[str, str] | None = None) -> list[str]:
    view = view_sources([(path, (texts or {}).get(path, "x\n")) for path in paths], (), MANY)
    return sorted(view.lines, key=view.text.index)


def test_a_file_is_shown_whole_with_its_lines_numbered() -> None:
    view = view_sources([("a.py", "one\n\nthree\n")], (), MANY)
    assert "file a.py\n1\tone\n2\t\n3\tthree\n>>>" in view.text
    assert view.lines == {"a.py": 3}


def test_sources_come_before_tests_and_tests_before_the_rest() -> None:
    paths = (
        "README.md",
        "tests/test_a.py",
        "src/a.py",
        "package.json",
        "web/a.spec.ts",
        "cmd/a_test.go",
        "AppTests.java",
        "b.rs",
    )
    assert shown_order(*paths) == [
        "b.rs",
        "src/a.py",
        "AppTests.java",
        "cmd/a_test.go",
        "tests/test_a.py",
        "web/a.spec.ts",
        "README.md",
        "package.json",
    ]


def test_a_file_that_does_not_fit_is_cut_between_lines_and_says_so() -> None:
    huge = "".join(f"line {number} of many\n" for number in range(1, 9001))
    view = view_sources([("small.py", "x = 1\n"), ("huge.py", huge)], (), 6000)
    kept = view.lines["huge.py"]
    assert 0 < kept < 9000
    assert f"{kept}\tline {kept} of many\n[file cut after {kept:,} of 9,000 lines]\n>>>" in view.text
    assert f"line {kept + 1} of many" not in view.text
    assert "beginning of the file huge.py" in view.text
    assert view.lines["small.py"] == 1


def test_files_without_room_and_without_text_are_named_and_cannot_be_cited() -> None:
    sources = [("a.py", "x" * 1900 + "\n" + "y" * 1900 + "\n"), ("b.py", "z = 1\n" * 3000), ("logo.png", None)]
    view = view_sources(sources, (), 600)
    assert set(view.lines) == {"a.py"}
    assert "changed files that are NOT shown\nb.py (18,000 characters, no room)\nlogo.png (no text)" in view.text


PATHS = st.text(st.characters(codec=None), min_size=1, max_size=40)
TEXTS = st.none() | st.text(max_size=400) | st.text(min_size=1, max_size=9).map(lambda text: text * 3000)


@given(st.dictionaries(PATHS, TEXTS, max_size=8), st.lists(PATHS, max_size=5))
def test_any_files_fit_and_each_is_shown_or_named(files: dict[str, str | None], deleted: list[str]) -> None:
    view = view_sources(list(files.items()), deleted, 1000)
    names = 250 * (len(files) + len(deleted)) + 200
    assert tokens(view.text) <= 1000 + names
    assert view.text.encode()
    hidden = view.text.count(" characters, no room)") + view.text.count(" (no text)")
    assert len(view.lines) + hidden >= len({path.replace("`", "'") for path in files})


def test_an_output_is_shown_with_head_tail_and_verdict() -> None:
    text = view_outputs([output("pytest -q", passed=True, head="collected 3\n", tail="3 passed\n")], (), 1000)
    assert "output of the check pytest -q, which passed\ncollected 3\n\n[… some of the output was not kept …]\n3 passed" in text


def test_a_long_output_loses_its_middle_and_keeps_its_end() -> None:
    text = view_outputs([output("make", passed=False, head="begin" + "x" * 9000 + "end")], (), 500)
    assert tokens(text) < 500 + 60
    assert "which FAILED\nbegin" in text
    assert "xend\n>>>" in text
    assert "the middle of 9,008 characters is left out" in text
