"""Loops that merge at the same time, and somebody who looks at the base all the while."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helmsman.records.state import LoopState
from tests.fakes.landings import Landing, Sampler, proven, repository
from tests.fakes.repositories import sh

pytestmark = pytest.mark.feature("M4")


@pytest.mark.slow
def test_no_tree_of_the_base_is_unverified_at_any_moment(tmp_path: Path) -> None:
    """Each passes alone, and of the first two only one can be merged as it is."""
    top = repository(tmp_path / "top")
    works = {"a": {"items/a": "1\n"}, "b": {"items/b": "1\n"}, "c": {"c.py": "1\n"}, "d": {"d.py": "1\n"}}
    loops = [proven(top, tmp_path, files, loop=name) for name, files in works.items()]
    with Sampler(top) as sampler, ThreadPoolExecutor(len(loops)) as pool:
        states = dict(zip(works, pool.map(Landing.land, loops), strict=True))
    merged = {name: state.merged is not None for name, state in states.items()}
    assert sorted(merged.values()) == [False, True, True, True], [
        state.ending.reason for state in states.values() if state.ending
    ]
    assert merged["c"]
    assert merged["d"]
    assert _kinds(states) == ["checks"]
    assert len(sampler.seen) == 4  # where it began, and three merges
    assert sampler.failing() == []
    assert sh(top, "status", "--porcelain") == ""


def _kinds(states: dict[str, LoopState]) -> list[str]:
    return [state.merging.trouble.kind for state in states.values() if state.merging.trouble]
