"""Required tests count only where they were seen to run."""

from pathlib import Path

import pytest

from helmsman.parsers.test_report import read_junit
from helmsman.verify.rerun import ran

RECORDINGS = Path(__file__).parent.parent / "recordings" / "summaries"
pytestmark = pytest.mark.feature("V10")

XML = """<testsuites><testsuite>
<testcase classname="tests.test_shop.TestTotal" name="test_a"/>
<testcase classname="tests.test_shop" name="test_param[1-2]"/>
<testcase classname="tests.test_shop" name="test_b"><skipped/></testcase>
<testcase classname="tests.test_shop" name="test_c"><failure/></testcase>
</testsuite></testsuites>"""


def test_a_report_names_what_ran_whether_it_passed_or_not() -> None:
    seen = ("test_a", "TestTotal::test_a", "tests.test_shop.TestTotal::test_a", "test_c", "test_param")
    assert ran([*seen, "test_b", "est_a", "test_missing"], read_junit(XML).ran, "") == seen


@pytest.mark.feature("V3")
@pytest.mark.parametrize("reporter", ["spec", "tap"])
def test_a_test_that_node_skipped_or_has_as_a_todo_did_not_run(reporter: str) -> None:
    names = {
        "passing": ["adds them"],
        "failing": ["child fails"],
        "skipped": ["adds", "not yet", "with a reason"],
        "todo": ["adds", "planned", "planned and failing", "planned and passing"],
    }
    seen = {
        kind: ran(named, (), (RECORDINGS / f"node_{kind}_{reporter}.txt").read_text(encoding="utf-8"))
        for kind, named in names.items()
    }
    assert seen == {"passing": ("adds them",), "failing": ("child fails",), "skipped": ("adds",), "todo": ("adds",)}


RAN = [
    "tests/test_shop.py::test_a PASSED",
    "--- PASS: test_a (0.00s)",
    "test_a_longer, then test_a ok",
    " \u2713 src/todo.test.ts > test_a 3ms",
    " \u2713 todo list > pending > test_a",
    "--- PASS: TestOrders/pending/test_a (0.00s)",
    "--- PASS: test_a/pending (0.00s)",
    "TODO.test.js test_a",
    " \u2713 src/todo.test.ts > math > test_a 3ms",
    " \u2713 skipped items > test_a",
    " \u2713 SKIP list > test_a",
    " \u2713 a mark (skip) ahead > test_a",
    " \u2715 todo list > test_a",
    "ok 3 - skipped items, test_a",
    "skips.test.js > test_a ok",
    "[WARNING] Tests run: 15, Failures: 0, Errors: 0, Skipped: 5, Time elapsed: 0.01 s - in com.acme.test_a",
    "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 50, Time elapsed: 0.01 s -- in com.acme.test_a",
    "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in com.acme.test_a",
]
SKIPPED = [
    "tests/test_shop.py::test_a SKIPPED (later)",
    "tests/test_shop.py::test_a XFAIL",
    "tests/test_shop.py::test_a_longer_name PASSED",
    "my_test_a ok",
    "SKIPPED [1] tests/test_shop.py::test_a - later",
    "XFAIL tests/test_shop.py::test_a - later",
    "--- SKIP: test_a (0.00s)",
    "  \u25cb skipped test_a",
    "  \u25cb \x1b[33mskipped\x1b[39m test_a",
    "  \u270e todo test_a",
    "(skip) test_a",
    "[  SKIPPED ] Shop.test_a (0 ms)",
    "  Skipped Shop.Tests.test_a [1 ms]",
    "test shop::test_a ... ignored, not yet",
    " 2/3 Test #2: test_a ...........***Not Run (Disabled)",
    "test_a (PENDING: later)",
    "ok 2 - test_a # TODO",
    "test_a SKIPPED: see test_a",
    "(skip) math > test_a",
    "(todo) math > sums > test_a",
    "web:test: (skip) math > test_a",
    "  - [skip] math \u203a test_a",
    "  - [todo] math \u203a test_a",
    "  \u25cb skipped math test_a",
    "  \u25cb \x1b[33mskipped\x1b[39m math test_a",
    "  \u270e todo math test_a",
    " \u2193 src/math.test.ts > math > test_a",
    "  Skipped math > test_a",
    "  skipping math > test_a",
    "SKIP math > test_a",
    "math > todo (skip) a.test.ts:test_a",
    "2: skip skip test_a",
    "[gw0] [ 50%] SKIPPED tests/my folder/test_shop.py::test_a",
    "Running test_a ... skipped",
    "=== SKIP: the whole of math, test_a (0.00s)",
    "[WARNING] Tests run: 5, Failures: 0, Errors: 0, Skipped: 5, Time elapsed: 0.01 s - in com.acme.test_a",
    "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in com.acme.test_a",
    "",
]


def test_a_line_of_output_names_what_ran_unless_it_says_skipped() -> None:
    assert [line for line in RAN if not ran(["test_a"], (), line)] == []
    assert [line for line in SKIPPED if ran(["test_a"], (), line)] == []


@pytest.mark.parametrize(
    "name", ["marks a todo as done", "skips what is pending", "TestOrders/disabled", "TODO list", "skipped rows"]
)
def test_a_name_that_speaks_of_skipping_is_seen_to_run(name: str) -> None:
    assert ran([name], (), f"  \u2713 {name} (3 ms)") == (name,)
    assert ran([name], (), f"  \u25cb skipped {name}") == ()


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
