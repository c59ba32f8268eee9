"""Which unchanged files the judge is shown: those that criteria and checks name, and tests of what was changed."""

import pytest

from helmsman.verify.judge.view import is_product, named_files

pytestmark = pytest.mark.feature("V7")
PATHS = ("calc.py", "check.sh", "tests/__init__.py", "tests/test_calc.py", "docs/a/README.md", "docs/b/README.md", ".ci/run")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Every function in calc.py has a docstring.", ["calc.py"]),
        ("./check.sh", ["check.sh"]),
        ("pytest tests/test_calc.py::test_half -q", ["tests/test_calc.py"]),
        ("python -m unittest tests.test_calc", ["tests/test_calc.py"]),
        ("See `test_calc.py`, then calc.py.", ["tests/test_calc.py", "calc.py"]),
        ("sh .ci/run", [".ci/run"]),
        ("README.md says so", []),  # there are two
        ("calc is done, e.g. by hand", []),
    ],
)
def test_a_file_is_named_by_its_path_as_a_module_or_by_a_name_that_is_there_once(text: str, expected: list[str]) -> None:
    assert named_files([text], PATHS) == expected


@pytest.mark.parametrize(
    ("path", "generated"),
    [
        ("pkg/__pycache__/calc.cpython-311.pyc", True),
        ("uv.lock", True),
        ("web/package-lock.json", True),
        ("app.min.js", True),
        ("calc.py", False),
        ("lock.py", False),
        ("package.json", False),
    ],
)
def test_what_a_program_writes_is_known_by_its_name(path: str, generated: bool) -> None:
    assert is_product(path) is generated
