"""Linters, type checkers and coverage that are told to look away."""

import json

import pytest

from helmsman.verify.invariants.suppressions import suppressions
from tests.unit.source_scenes import blocked, findings, weights

pytestmark = pytest.mark.feature("V5")


@pytest.mark.parametrize(
    ("path", "line", "weight"),
    [
        ("app.py", "x = f()  # noqa", "block"),
        ("app.py", "x = f()  # noqa: E501", "warn"),
        ("app.py", "# ruff: noqa", "block"),
        ("app.py", "# flake8: noqa", "block"),
        ("app.py", "x = f()  # type: ignore", "block"),
        ("app.py", "x = f()  # type: ignore[arg-type]", "warn"),
        ("app.py", "# mypy: ignore-errors", "block"),
        ("app.py", "x = f()  # pyright: ignore", "block"),
        ("app.py", "x = f()  # pyright: ignore[reportAny]", "warn"),
        ("app.py", "# pyright: basic", "block"),
        ("app.py", "# pylint: disable=all", "block"),
        ("app.py", "# pylint: skip-file", "block"),
        ("app.py", "x = f()  # pylint: disable=invalid-name", "warn"),
        ("app.py", "if x:  # pragma: no cover", "warn"),
        ("app.py", "if x:  # pragma:no cover", "warn"),
        ("app.py", "x = f()  # nosec", "block"),
        ("app.py", "x = f()  # nosec B603", "warn"),
        ("a.js", "/* eslint-disable */", "block"),
        ("a.js", "f() // eslint-disable-line", "block"),
        ("a.js", "// eslint-disable-next-line no-console", "warn"),
        ("a.ts", "// @ts-nocheck", "block"),
        ("a.ts", "// @ts-ignore", "block"),
        ("a.ts", "// @ts-expect-error: the types are wrong", "warn"),
        ("a.js", "/* istanbul ignore file */", "block"),
        ("a.js", "/* istanbul ignore next */", "warn"),
        ("a.js", "/* c8 ignore next */", "warn"),
        ("a.go", "f() //nolint", "block"),
        ("a.go", "f() //nolint:errcheck", "warn"),
        ("src/lib.rs", "#![allow(dead_code)]", "block"),
        ("src/lib.rs", "#[allow(dead_code)]", "warn"),
        ("src/lib.rs", "#[allow(warnings)]", "block"),
        ("src/A.java", '@SuppressWarnings("unchecked")', "warn"),
        ("src/A.java", '@SuppressWarnings("all")', "block"),
        ("a.rb", "x = 1 # rubocop:disable Style/Foo", "warn"),
        ("a.rb", "# rubocop:disable all", "block"),
    ],
)
def test_a_blanket_suppression_blocks_and_a_narrow_one_is_told(path: str, line: str, weight: str) -> None:
    (finding,) = findings(suppressions, {path: f"a = 1\n{line}\n"}, {path: "a = 1\n"})
    assert (finding.rule, finding.weight, finding.where, finding.after) == (
        "suppressions",
        weight,
        f"{path}:2",
        " ".join(line.split()),
    )


@pytest.mark.parametrize(
    "after",
    [
        "b = 2\na = f()  # noqa\n",
        "if b:\n    a = f()  # noqa\nb = 2\n",
        "a = f(1)  # noqa\nb = 2\n",
        "b = 2\n",
        "a = f()  # noqa\nb = 2\nc = '# noqa'\n",
        'a = f()  # noqa\nb = 2\nTEXT = """\nx = 1  # noqa\n"""\n',
    ],
)
def test_what_moved_was_kept_or_is_a_text_is_no_finding(after: str) -> None:
    assert findings(suppressions, {"app.py": after}, {"app.py": "a = f()  # noqa\nb = 2\n"}) == []


def test_a_line_that_moved_to_another_file_is_no_finding() -> None:
    line = "value = compute(1)  # type: ignore\n"
    assert findings(suppressions, {"new.py": line, "old.py": ""}, {"old.py": line}) == []


def test_two_tools_that_are_switched_off_on_one_line_are_both_told() -> None:
    after = {"app.py": "x = f()  # type: ignore  # noqa: E501\n"}
    assert sorted(weights(suppressions, after, {"app.py": "x = f()\n"})) == ["block", "warn"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("x = f()\n", "x = f('# noqa')  # type: ignore\n"), ("x = f()\ny = '# noqa'\n", "x = f()  # noqa\n")],
)
def test_a_text_that_looks_like_a_suppression_hides_none(before: str, after: str) -> None:
    assert weights(suppressions, {"app.py": after}, {"app.py": before}) == ["block"]


def test_a_narrow_suppression_that_became_blanket_blocks() -> None:
    assert weights(suppressions, {"app.py": "a = f()  # noqa\n"}, {"app.py": "a = f()  # noqa: E501\n"}) == ["block"]


def test_a_region_that_is_enabled_again_is_told() -> None:
    assert weights(suppressions, {"a.js": ("/* eslint-disable no-console */\nf();\n/* eslint-enable no-console */\n")}) == [
        "warn"
    ]


@pytest.mark.parametrize(
    ("path", "before", "after", "weight"),
    [
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F"]\n', '[tool.ruff.lint]\nselect = ["E"]\n', "block"),
        ("pyproject.toml", "[tool.ruff.lint]\nignore = []\n", '[tool.ruff.lint]\nignore = ["E501"]\n', "block"),
        (
            "pyproject.toml",
            "[tool.ruff]\nline-length = 99\n",
            ('[tool.ruff]\nline-length = 99\n[tool.ruff.lint.per-file-ignores]\n"a.py" = ["E"]\n'),
            "warn",
        ),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "[tool.mypy]\nstrict = false\n", "block"),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\npretty = true\n", "[tool.mypy]\npretty = true\n", "block"),
        (
            "pyproject.toml",
            ('[tool.pyright]\ntypeCheckingMode = "strict"\n'),
            ('[tool.pyright]\ntypeCheckingMode = "basic"\n'),
            "block",
        ),
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = 90\n", "[tool.coverage.report]\nfail_under = 50\n", "block"),
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = 90\nx = 1\n", "[tool.coverage.report]\nx = 1\n", "block"),
        (".coveragerc", "[report]\nfail_under = 90\n", "[report]\nfail_under = 80\n", "block"),
        ("setup.cfg", "[flake8]\nmax-line-length = 99\n", "[flake8]\nmax-line-length = 99\nextend-ignore = E203\n", "block"),
        ("ruff.toml", '[lint]\nignore = ["E203"]\n', '[lint]\nignore = ["E203", "F401"]\n', "block"),
        ("mypy.ini", "[mypy]\nstrict = True\n", "[mypy]\nstrict = False\n", "block"),
        (".eslintrc.json", '{"rules": {"no-console": "error"}}', '{"rules": {"no-console": "off"}}', "block"),
        (".eslintrc", '{"extends": "x"}', '{"extends": "x", "rules": {"no-console": 0}}', "block"),
        ("tsconfig.json", ('{// all\n"compilerOptions": {"strict": true,}}'), '{"compilerOptions": {"strict": false}}', "block"),
        (
            "tsconfig.json",
            '{"compilerOptions": {"strict": true}}',
            '{"compilerOptions": {"strict": true, "noImplicitAny": false}}',
            "block",
        ),
        ("eslint.config.js", "rules: {\n}", "rules: {\n'no-console': 'off',\n}", "block"),
        ("eslint.config.js", "rules: {\n}", "rules: {\n'no-console':0,\n}", "block"),
        (
            "package.json",
            '{"jest": {"coverageThreshold": {"global": {"lines": 90}}}}',
            '{"jest": {"coverageThreshold": {"global": {"lines": 9}}}}',
            "block",
        ),
        (".flake8", "[flake8]\nmax-complexity = 9\n", None, "warn"),
        (".flake8", "[flake8]\nmax-complexity = 9\n", "", "block"),
        ("tsconfig.json", '{"compilerOptions": {"strict": true}}', "{}", "block"),
        ("tsconfig.json", '{"compilerOptions": {"strict": true}}', '\ufeff{"compilerOptions": {"strict": false}}', "block"),
        ("setup.cfg", "[coverage:run]\nbranch = True\n", "[coverage:run]\nbranch = False\n", "block"),
        ("pytest.ini", "[pytest]\nxfail_strict = true\n", "[pytest]\nxfail_strict = false\n", "block"),
        (".golangci.yml", "run:\n  timeout: 5m\n", "run:\n  timeout: 5m\n  issues-exit-code: 0\n", "block"),
        (".golangci.yml", "run:\n  timeout: 5m\n", "run:\n  timeout: 5m\nissues:\n  new-from-rev: HEAD\n", "block"),
    ],
)
def test_a_loosened_setting_is_found(path: str, before: str, after: str | None, weight: str) -> None:
    assert weights(suppressions, {path: after}, {path: before}) == [weight]


@pytest.mark.parametrize("number", ["9" * 400, "0x" + "F" * 5000])
def test_a_number_without_end_neither_stops_the_look_at_a_file_nor_hides_the_rest_of_it(number: str) -> None:
    file = "[tool.coverage.report]\nfail_under = {}\n[tool.ruff.lint]\nignore = {}\n[tool.x]\ny = [{}]\n"
    modest, endless = {"pyproject.toml": file.format(90, [], 1)}, {"pyproject.toml": file.format(number, ["E501"], number)}
    assert weights(suppressions, endless, modest) == ["block"]
    assert weights(suppressions, modest, endless) == ["block"]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", None, '[tool.ruff.lint]\nignore = ["E501"]\n'),
        (
            "pyproject.toml",
            '[project]\nname = "a"\n',
            ('[project]\nname = "a"\n[tool.ruff.lint]\nselect = ["ALL"]\nignore = ["D"]\n'),
        ),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F401"]\n', '[tool.ruff.lint]\nselect = ["E", "F"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nignore = ["E501"]\n', "[tool.ruff.lint]\nignore = []\n"),
        ("pyproject.toml", "[tool.mypy]\nstrict = false\n", "[tool.mypy]\nstrict = true\n"),
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = 80\n", "[tool.coverage.report]\nfail_under = 90\n"),
        (
            "pyproject.toml",
            ('[project]\nversion = "1"\n[tool.ruff]\nline-length = 99\n'),
            ('[project]\nversion = "2"\n[tool.ruff]\nline-length = 99\n'),
        ),
        ("tsconfig.json", '{"compilerOptions": {"target": "es5"}}', '{"compilerOptions": {"target": "es2022", "strict": true}}'),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "[tool.mypy\nbroken"),
    ],
)
def test_first_settings_and_stricter_ones_are_honest(path: str, before: str | None, after: str) -> None:
    assert findings(suppressions, {path: after}, {path: before}) == []


@pytest.mark.parametrize("text", ["# a word on noqa\nx = 1\n", "noqa = 1\n", "x = 'type: ignore'\n", "# nosecurity\n"])
def test_words_are_no_suppressions(text: str) -> None:
    assert blocked(suppressions, {"app.py": text}) == []


def test_a_document_may_speak_of_suppressions() -> None:
    assert findings(suppressions, {"README.md": "Use `# noqa` and // @ts-nocheck\n", "a.json": json.dumps("# noqa")}) == []


def test_new_code_that_is_not_to_be_measured_blocks() -> None:
    body = "def repair(db):{0}\n    while not db.good():{0}\n        downgrade(db){0}\n        upgrade(db){0}\n"
    assert set(weights(suppressions, {"app.py": body.format("  # pragma: no cover")})) == {"block"}


def test_what_never_runs_or_is_little_may_go_unmeasured() -> None:
    pragma = "  # pragma: no cover\n"
    never = f"if TYPE_CHECKING:{pragma}    import a\nif __name__ == '__main__':{pragma}    main()\n"
    never += f"try:\n    x()\nexcept OSError:{pragma}    raise{pragma}if sys.platform == 'win32':{pragma}    y()\n"
    assert set(weights(suppressions, {"app.py": never})) == {"warn"}
    little = "".join(f"x{number} = 1\n" for number in range(40)) + f"a(){pragma}b(){pragma}c(){pragma}d(){pragma}"
    assert set(weights(suppressions, {"app.py": little})) == {"warn"}
