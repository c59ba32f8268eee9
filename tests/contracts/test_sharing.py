"""How the workers of xdist share the tests out: what is long begins early, and what is cheap is not handed out one by one."""

import pytest

from tests.conftest import turn, unit_of


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/unit/test_a.py::test_b", "tests/unit/test_a.py"),
        ("tests/contracts/test_a.py::test_b[x::y]", "tests/contracts/test_a.py"),
        ("tests/integration/test_a.py::test_b", "tests/integration/test_a.py::test_b"),
        ("tests/e2e/test_a.py::test_b[x@y]", "tests/e2e/test_a.py::test_b[x@y]"),
        ("tests/e2e/test_ui.py::test_b", "team"),
        ("tests/e2e/test_demo.py::test_b[x]", "demo"),
        ("tests/contracts/test_wheel.py::test_b", "wheel"),
    ],
)
def test_cheap_tests_are_handed_out_by_the_file_dear_ones_by_themselves_and_groups_whole(nodeid: str, unit: str) -> None:
    assert unit_of(nodeid) == unit


def test_groups_come_first_and_the_cheapest_last() -> None:
    folders = ("e2e", "flows", "integration", "security", "unit", "contracts")
    assert [turn(f"tests/{folder}/test_a.py::test_b") for folder in folders] == [1, 2, 3, 4, 5, 5]
    assert turn("tests/contracts/test_a.py::test_b@wheel", in_group=True) == 0


def test_a_worker_runs_its_tests_in_that_order(request: pytest.FixtureRequest) -> None:
    turns = [turn(item.nodeid, in_group=item.get_closest_marker("xdist_group") is not None) for item in request.session.items]
    assert turns == sorted(turns) or not hasattr(request.config, "workerinput")
