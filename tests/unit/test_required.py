"""Required tests count only where they were seen to run."""

from pathlib import Path

import pytest

from helmsman.parsers.test_report import read_ran
from helmsman.verify.required import ran

RECORDINGS = Path(__file__).parent.parent / "recordings" / "summaries"
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


@pytest.mark.feature("V3")
@pytest.mark.parametrize("reporter", ["spec", "tap"])
@pytest.mark.parametrize(
    ("kind", "name", "seen"),
    [
        ("passing", "adds them", True),
        ("failing", "child fails", True),
        ("skipped", "not yet", False),
        ("skipped", "with a reason", False),
        ("skipped", "adds", True),
        ("todo", "planned", False),
        ("todo", "planned and failing", False),
        ("todo", "planned and passing", False),
        ("todo", "adds", True),
    ],
)
def test_a_test_that_node_skipped_or_has_as_a_todo_did_not_run(reporter: str, kind: str, name: str, *, seen: bool) -> None:
    output = (RECORDINGS / f"node_{kind}_{reporter}.txt").read_text(encoding="utf-8")
    assert ran([name], (), output) == ((name,) if seen else ())


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
        ("SKIPPED [1] tests/test_shop.py::test_a - later", False),
        ("XFAIL tests/test_shop.py::test_a - later", False),
        ("--- SKIP: test_a (0.00s)", False),
        ("  \u25cb skipped test_a", False),
        ("  \u25cb \x1b[33mskipped\x1b[39m test_a", False),
        ("  \u270e todo test_a", False),
        ("(skip) test_a", False),
        ("[  SKIPPED ] Shop.test_a (0 ms)", False),
        ("  Skipped Shop.Tests.test_a [1 ms]", False),
        ("test shop::test_a ... ignored, not yet", False),
        (" 2/3 Test #2: test_a ...........***Not Run (Disabled)", False),
        ("test_a (PENDING: later)", False),
        ("ok 2 - test_a # TODO", False),
        ("test_a SKIPPED: see test_a", False),
        (" \u2713 src/todo.test.ts > test_a 3ms", True),
        (" \u2713 todo list > pending > test_a", True),
        ("--- PASS: TestOrders/pending/test_a (0.00s)", True),
        ("--- PASS: test_a/pending (0.00s)", True),
        ("TODO.test.js test_a", True),
        ("(skip) math > test_a", False),
        ("(todo) math > sums > test_a", False),
        ("web:test: (skip) math > test_a", False),
        ("  - [skip] math \u203a test_a", False),
        ("  - [todo] math \u203a test_a", False),
        ("  \u25cb skipped math test_a", False),
        ("  \u25cb \x1b[33mskipped\x1b[39m math test_a", False),
        ("  \u270e todo math test_a", False),
        (" \u2193 src/math.test.ts > math > test_a", False),
        ("  Skipped math > test_a", False),
        ("  skipping math > test_a", False),
        ("SKIP math > test_a", False),
        ("math > todo (skip) a.test.ts:test_a", False),
        ("2: skip skip test_a", False),
        ("[gw0] [ 50%] SKIPPED tests/my folder/test_shop.py::test_a", False),
        ("Running test_a ... skipped", False),
        ("=== SKIP: the whole of math, test_a (0.00s)", False),
        (" \u2713 src/todo.test.ts > math > test_a 3ms", True),
        (" \u2713 skipped items > test_a", True),
        (" \u2713 SKIP list > test_a", True),
        (" \u2713 a mark (skip) ahead > test_a", True),
        (" \u2715 todo list > test_a", True),
        ("ok 3 - skipped items, test_a", True),
        ("skips.test.js > test_a ok", True),
        ("[WARNING] Tests run: 5, Failures: 0, Errors: 0, Skipped: 5, Time elapsed: 0.01 s - in com.acme.test_a", False),
        ("[WARNING] Tests run: 15, Failures: 0, Errors: 0, Skipped: 5, Time elapsed: 0.01 s - in com.acme.test_a", True),
        ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 50, Time elapsed: 0.01 s -- in com.acme.test_a", True),
        ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in com.acme.test_a", True),
        ("[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in com.acme.test_a", False),
        ("", False),
    ],
)
def test_a_line_of_output_names_what_ran_unless_it_says_skipped(line: str, seen: bool) -> None:
    assert ran(["test_a"], (), line) == (("test_a",) if seen else ())


@pytest.mark.parametrize(
    "name", ["marks a todo as done", "skips what is pending", "TestOrders/disabled", "TODO list", "skipped rows"]
)
def test_a_name_that_speaks_of_skipping_is_seen_to_run(name: str) -> None:
    assert ran([name], (), f"  \u2713 {name} (3 ms)") == (name,)
    assert ran([name], (), f"  \u25cb skipped {name}") == ()


@pytest.mark.parametrize("name", ["skipped rows are kept", "SKIP lists are sorted"])
def test_a_line_that_begins_with_a_name_is_not_skipped_for_the_first_word_of_the_name(name: str) -> None:
    assert ran([name], (), f"  {name}") == (name,)


@pytest.mark.parametrize(
    ("start", "skipped", "passed"),
    [
        ("=== RUN   test_a", "--- SKIP: test_a (0.00s)", "--- PASS: test_a (0.00s)"),
        ("[ RUN      ] Shop.test_a", "[  SKIPPED ] Shop.test_a (0 ms)", "[       OK ] Shop.test_a (0 ms)"),
        ("[INFO] Running com.acme.test_a", "Tests run: 2, Skipped: 2 - in com.acme.test_a", "Tests run: 2, Skipped: 0"),
    ],
)
def test_the_start_of_a_test_counts_unless_it_was_skipped_thereafter(start: str, skipped: str, passed: str) -> None:
    assert ran(["test_a"], (), f"{start}\n{skipped}\n") == ()
    assert ran(["test_a"], (), f"{start}\n{passed}\n") == ("test_a",)


def test_where_nothing_is_required_nothing_is_looked_for() -> None:
    assert ran([], ["test_a"], "test_a") == ()
