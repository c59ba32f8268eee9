"""Required tests count only where they were seen to run."""

import pytest

from helmsman.verify.junit import read_ran
from helmsman.verify.required import ran

pytestmark = pytest.mark.feature("V10")

XML = """<testsuites><testsuite>
<testcase classname="tests.test_shop.TestTotal" name="test_a"/>
<testcase classname="tests.test_shop" name="test_param[1-2]"/>
<testcase classname="tests.test_shop" name="test_b"><skipped/></testcase>
<testcase classname="tests.test_shop" name="test_c"><failure/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("test_a", True),
        ("TestTotal::test_a", True),
        ("tests.test_shop.TestTotal::test_a", True),
        ("test_c", True),
        ("test_b", False),
        ("est_a", False),
        ("test_param", True),
        ("test_missing", False),
    ],
)
def test_a_report_names_what_ran_whether_it_passed_or_not(name: str, seen: bool) -> None:
    assert ran([name], read_ran(XML), "") == ((name,) if seen else ())


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("tests/test_shop.py::test_a PASSED", True),
        ("--- PASS: test_a (0.00s)", True),
        ("tests/test_shop.py::test_a SKIPPED (later)", False),
        ("tests/test_shop.py::test_a XFAIL", False),
        ("tests/test_shop.py::test_a_longer_name PASSED", False),
        ("my_test_a ok", False),
        ("test_a_longer, then test_a ok", True),
        ("", False),
    ],
)
def test_a_line_of_output_names_what_ran_unless_it_says_skipped(line: str, seen: bool) -> None:
    assert ran(["test_a"], (), line) == (("test_a",) if seen else ())


def test_where_nothing_is_required_nothing_is_looked_for() -> None:
    assert ran([], ["test_a"], "test_a") == ()
