"""What a changed path is to the checks: tests, what only tests use, what tells a check what to do, or plain source."""

import json
from collections.abc import Mapping

import pytest

from helmsman.verify.touched import files_run, touched

pytestmark = pytest.mark.feature("V5", "V13")

PACKAGE = {"scripts": {"test": "node --test", "build": "tsc"}, "dependencies": {"a": "1"}}
PYPROJECT = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'


def package(**changes: object) -> str:
    return json.dumps({**PACKAGE, **changes})


def kind(path: str, before: str = "", after: str = "", command: str = "pytest") -> str:
    found = touched([path], [command], lambda name: {path: before}.get(name, ""), lambda name: {path: after}.get(name, ""))
    return next(name for name, paths in found._asdict().items() if paths)


SUMS = "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n\n\ndef test_sums(one):\n    assert one\n"
CHECKS = "import test from 'node:test';\ntest('a', () => {});\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("checks/sums.py", SUMS, "tests"),
        ("checks/sums.py", f"{SUMS}\n\ndef add(a, b):\n    return a + b\n", "source"),
        ("checks/sums.mjs", CHECKS, "tests"),
        ("checks/sums.mjs", f"{CHECKS}export const one = 1;\n", "source"),
        ("checks/none.py", "ROWS = [1]\n", "source"),
    ],
)
def test_what_the_runner_collected_is_a_test_where_nothing_else_is_in_it(path: str, text: str, expected: str) -> None:
    found = touched([path], ["pytest"], lambda _: text, lambda _: text, collected=[path])
    assert next(name for name, paths in found._asdict().items() if paths) == expected
    assert kind(path, text, text) == "source"


@pytest.mark.parametrize(
    ("path", "command", "expected"),
    [
        ("app.py", "pytest", "source"),
        ("tests/test_app.py", "pytest", "tests"),
        ("tests/rows.json", "pytest", "support"),
        ("tests/conftest.py", "pytest", "settings"),
        ("tox.ini", "pytest", "settings"),
        ("web/jest.config.js", "npm test", "settings"),
        ("check.sh", "sh check.sh", "settings"),
        ("check.sh", "pytest", "source"),
        ("justfile", "just test", "settings"),
        ("sub/package.json", "pytest", "source"),
        ("Makefile", "pytest", "source"),
        ("app.py", "python app.py", "source"),
    ],
)
def test_a_path_is_what_it_is_to_the_checks(path: str, command: str, expected: str) -> None:
    assert kind(path, command=command) == expected


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("package.json", package(), package(dependencies={"a": "1", "b": "2"}), "source"),
        ("package.json", package(), package(scripts={**PACKAGE["scripts"], "lint": "eslint ."}), "source"),
        ("package.json", package(), package(scripts={"test": "true", "build": "tsc"}), "settings"),
        ("package.json", package(), package(scripts={**PACKAGE["scripts"], "pretest": "sh mend.sh"}), "settings"),
        ("package.json", package(), package(jest={"testMatch": ["easy.js"]}), "settings"),
        ("package.json", package(), "{", "settings"),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"a"', '"b"'), "source"),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('["tests"]', '["tests/easy"]'), "settings"),
        ("pyproject.toml", PYPROJECT, "", "settings"),
        ("pyproject.toml", "", PYPROJECT, "settings"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", "source"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = a\n[tool:pytest]\naddopts = -k easy\n", "settings"),
    ],
)
def test_a_file_that_holds_settings_beside_others_counts_where_the_settings_differ(
    path: str, before: str, after: str, expected: str
) -> None:
    assert kind(path, before, after) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("SRCS = a.c b.c\ntest: $(SRCS)\n\t./run-tests\nclean:\n\trm a\n", "source"),
        ("SRCS = a.c\ntest: $(SRCS)\n\ttrue\n", "settings"),
        ("SRCS = a.c\ntest: $(SRCS)\n\t./run-tests\ntest:\n\ttrue\n", "settings"),
    ],
)
def test_a_makefile_judges_by_its_recipes_and_not_by_what_is_built(after: str, expected: str) -> None:
    assert kind("Makefile", "SRCS = a.c\ntest: $(SRCS)\n\t./run-tests\n", after, command="make test") == expected


def test_what_the_scripts_of_a_check_run_is_part_of_it() -> None:
    texts: Mapping[str, str] = {
        "Makefile": "test:\n\t@sh ci/test.sh\n",
        "ci/test.sh": "set -e\ncd web && npm test\n",
        "web/package.json": json.dumps({"scripts": {"test": "node run-tests.js && ./more.sh"}}),
    }
    found = list(files_run(["make test"], lambda path: texts.get(path, "")))
    assert [path for path in found if path in {*texts, "web/run-tests.js", "web/more.sh"}] == [
        "Makefile",
        "ci/test.sh",
        "web/package.json",
        "web/run-tests.js",
        "web/more.sh",
    ]
