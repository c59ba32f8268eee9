"""bench/redteam.py counts what held, and tells what fell."""

from pathlib import Path

from bench.redteam import lines, run, scopes

ATTACKS = '''"""The first scope."""
import pytest

def test_that_holds(): ...

@pytest.mark.parametrize("way", ["one", "two"])
def test_that_falls(way): assert way == "one"

@pytest.mark.skip
def test_that_is_not_attempted(): ...

def test_that_cannot_be_made_ready(nothing): ...
'''


def test_each_case_is_an_attempt_and_what_failed_or_broke_fell(tmp_path: Path) -> None:
    (tmp_path / "test_1_first.py").write_text(ATTACKS)
    (tmp_path / "test_2_broken.py").write_text('"""The second scope."""\nimport nothing_of_that_name\n')
    first, second = scopes(tmp_path, run(tmp_path, ["-p", "no:randomly", "--continue-on-collection-errors"]))
    assert (first.title, first.attempted, first.held, first.skipped) == ("The first scope", 4, 2, 1)
    assert first.fell == ["test_that_falls[two]", "test_that_cannot_be_made_ready"]
    assert (second.attempted, second.held) == (1, 0)
    assert [line.split() for line in lines([first, second])][-1] == ["all", "5", "2", "1"]
