"""A test file that cannot be imported is told as such."""
# ruff: noqa: E501 - outputs stand as tools print them

import pytest

from helmsman.parsers.failures import failure_of
from helmsman.records.agent import FailureClass as Class

pytestmark = pytest.mark.feature("A3")


def test_a_test_file_that_cannot_be_imported_is_a_broken_build_and_no_test_that_failed() -> None:
    cases = {
        "no test ran": ("ERROR test_a.py - NameError: name 'x' is not defined\n!!!!!!!!!! Interrupted: 2 errors during collection !!!!!!!!!!", Class.BUILD, "words.py:1"),
        "others ran and failed": ("ERROR test_a.py - NameError: name 'x' is not defined\nFAILED test_b.py::test_it - assert 1 == 2", Class.TEST, "test_a.py"),
    }  # fmt: skip
    for case, (ending, kind, where) in cases.items():
        output = (
            "____________________________ ERROR collecting test_a.py ____________________________\n"
            "test_a.py:1: in <module>\n    import words\nwords.py:1: in <module>\n    y = x\n        ^\nE   NameError: name 'x' is not defined\n"
            f"============================= short test summary info ==============================\n{ending}\n2 errors in 0.15s"
        )
        found = failure_of("Bash", "pytest -q", f"Exit code 2\n{output}")
        assert (found.kind, found.where, found.message) == (kind, where, "NameError: name 'x' is not defined"), case
