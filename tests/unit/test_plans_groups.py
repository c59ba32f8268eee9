"""Boxes that stand for others, and items that need all of those."""

from contextlib import suppress

import pytest

from helmsman.parsers.plan_files import read_plan, read_text
from helmsman.parsers.plan_form import Complaint

pytestmark = pytest.mark.feature("M8")


def parts(number: int) -> str:
    return "".join(f"  - [ ] T{each:04} part\n" for each in range(number))


@pytest.mark.parametrize(
    "asks", ["- [ ] X1 later (needs: G1)", "- [ ] X1 later\n  needs: G1", "- [ ] X1 later (needs: T0007, G1)"]
)
def test_a_group_may_stand_for_more_items_than_a_person_may_name(asks: str) -> None:
    last = read_plan("tasks.md", f"- [ ] G1\n{parts(250)}{asks}\n".encode()).items[-1]
    assert sorted(last.needs) == [f"T{number:04}" for number in range(250)]


@pytest.mark.parametrize("form", ["- [ ] X1 last (needs: {})", "- [ ] X1 last\n  needs: {}"])
def test_no_prerequisite_is_left_out_in_silence(form: str) -> None:
    names = [f"T{number:04}" for number in range(201)]
    assert len(read_plan("tasks.md", f"{parts(201)}{form.format(', '.join(names[1:]))}\n".encode()).items[-1].needs) == 200
    with pytest.raises(Complaint, match="needs: expected at most 200 entries"):
        read_plan("tasks.md", f"{parts(201)}{form.format(', '.join(names))}\n".encode())


def test_a_group_within_another_is_told_once() -> None:
    plan = read_text("markdown", "- [ ] G1 a\n  - [ ] G2 b\n    - [ ] T01 c\n  - [ ] T02 d\n- [ ] X1 e (needs: G2, G1, T02)\n")
    assert plan.items[-1].needs == ("T01", "T02")


ALL = ", ".join("1" + ".1" * depth for depth in range(25))
NESTED = "".join(f"- [ ] {'1' + '.1' * depth}. a\n" for depth in range(25)) + "".join(
    f"- [ ] {'1' + '.1' * 24}.{number + 2}. b\n" for number in range(1000)
)
"""A thousand items in groups within groups."""


@pytest.mark.feature("X4")
@pytest.mark.timeout(20)
def test_a_plan_of_many_groups_and_items_that_need_them_is_read_soon() -> None:
    plan = read_text("markdown", NESTED + "".join(f"- [ ] X{number:04} c (needs: {ALL})\n" for number in range(900)))
    assert {len(item.needs) for item in plan.items} == {0, 1000}
    with suppress(Complaint):
        read_plan("tasks.md", ("- [ ] G1\n" + "  - [ ] T1 a\n" * 40_000 + "- [ ] x (needs: G1)\n" * 40_000).encode())
