"""What the rules about sources and configuration have in common."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.findings import Finding
from helmsman.verify.commands import simple_commands
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants import findings as all_findings
from helmsman.verify.invariants.always_equal import always_equal
from helmsman.verify.invariants.assertions_weakened import assertions_weakened
from helmsman.verify.invariants.collection import collection
from helmsman.verify.invariants.detection import detection
from helmsman.verify.invariants.hard_coded import hard_coded
from helmsman.verify.invariants.patched import patched
from helmsman.verify.invariants.protected_files import protected
from helmsman.verify.invariants.reading.additions import additions
from helmsman.verify.invariants.reading.kinds import is_source, is_test, language, serves_tests
from helmsman.verify.invariants.reading.python_code import changed_parts
from helmsman.verify.invariants.scene import Rule, Scene
from helmsman.verify.invariants.stubs import stubs
from helmsman.verify.invariants.suppressions import suppressions
from tests.unit.source_scenes import findings, scene

pytestmark = pytest.mark.feature("V5")

RULES: tuple[Rule, ...] = (hard_coded, detection, always_equal, stubs, suppressions, protected, collection, patched)
COMMANDS = ("make test", "npm test", "tox", "nox", "just check", "sh check.sh", "python -m pytest")
PATHS = (
    "app.py",
    "tests/test_app.py",
    "conftest.py",
    "a.js",
    "a.test.ts",
    "a.go",
    "a_test.go",
    "src/lib.rs",
    "A.java",
    "a.rb",
    "a.php",
    "pyproject.toml",
    "package.json",
    "setup.cfg",
    "tox.ini",
    "Makefile",
    "justfile",
    "noxfile.py",
    "check.sh",
    "tsconfig.json",
    "Cargo.toml",
    "jest.config.js",
)


@pytest.mark.parametrize(
    "path",
    [
        "test_a.py",
        "tests/a_test.py",
        "app/tests.py",
        "src/a.test.ts",
        "a.spec.js",
        "__tests__/a.js",
        "pkg/a_test.go",
        "tests/a.rs",
        "src/test/java/A.java",
        "ATest.java",
        "spec/a_spec.rb",
        "tests/ATest.php",
    ],
)
def test_tests_are_known_by_their_path(path: str) -> None:
    assert is_test(path)
    assert serves_tests(path)
    assert not is_source(path)


@pytest.mark.parametrize(
    "path", ["src/app.py", "latest.py", "contest.js", "main.go", "src/lib.rs", "attest/Attestation.java", "lib/a.rb"]
)
def test_sources_are_no_tests(path: str) -> None:
    assert not is_test(path)
    assert is_source(path)


@pytest.mark.parametrize("path", ["conftest.py", "tests/helpers.py", "tests/fakes/server.py", "src/__mocks__/a.js"])
def test_what_serves_tests_is_neither(path: str) -> None:
    assert serves_tests(path)
    assert not is_source(path)


@pytest.mark.parametrize(
    ("path", "name"), [("a.py", "python"), ("a.tsx", "javascript"), ("README.md", ""), ("Makefile", ""), ("a.RS", "rust")]
)
def test_a_language_is_known_by_its_suffix(path: str, name: str) -> None:
    assert language(path) == name


LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "    c = 3", "", "return None", "d = compute(4)"]), max_size=12)


@given(LINES, LINES)
def test_a_file_gains_what_it_has_more_often_than_before(old: list[str], new: list[str]) -> None:
    (addition,) = additions(TreeDiff((FileDiff("a.py", "\n".join(old), "\n".join(new)),)))
    gained = [line.text.strip() for line in addition.lines]
    for text in {line.strip() for line in (*old, *new)} - {""}:
        before, after = ([line.strip() for line in side].count(text) for side in (old, new))
        assert gained.count(text) == max(0, after - before)
    assert all(new[line.number - 1] == line.text for line in addition.lines)


@given(LINES)
def test_lines_in_another_order_are_no_addition(lines: list[str]) -> None:
    assert additions(TreeDiff((FileDiff("a.py", "\n".join(lines), "\n".join(lines[::-1])),)))[0].lines == ()


FUNCTIONS = st.lists(st.sampled_from([f"def f{n}(x):\n    return x + {n}\n" for n in range(6)]), max_size=6, unique=True)


@given(FUNCTIONS, FUNCTIONS)
def test_the_changed_parts_of_a_module_are_its_new_functions(old: list[str], new: list[str]) -> None:
    file = FileDiff("a.py", "\n\n".join(old), "\n\n".join(new))
    names = {node.name for part in changed_parts(file) for node in part.tree.body if isinstance(node, ast.FunctionDef)}
    assert names >= {text[4:6] for text in set(new) - set(old)}


def test_a_part_knows_its_lines_in_the_file() -> None:
    before = 'import re\n\n\ndef f():\n    return """\ndef no():\n    pass\n"""\n\n\n'
    file = FileDiff("a.py", before, f"{before}@cached\ndef g():\n    return 1\n\n\nx = [\n1,\n]\n")
    lines = {part.line(node) for part in changed_parts(file) for node in part.tree.body if isinstance(node, ast.FunctionDef)}
    assert 12 in lines


@given(st.text(max_size=200))
def test_any_command_is_read(text: str) -> None:
    assert all(one.words for one in simple_commands(text))


WORDS = st.sampled_from([
    "def f(x):", "    return 5", "\n", "if x == 2:", '"""', "'", "(", "{", "}", "//", "/*", "# noqa", "class A:", "\\", "\x0c",
    "\r\n", "\0", "[tool.pytest.ini_options]", "addopts = 1", "test:", "\tpytest", '{"jest": {', "\ud800", "=>", "$(X)",
    "X = $(X)", "@patch(", "assert f(2) == 5",
])  # fmt: skip
TEXTS = st.lists(WORDS, max_size=30).map("\n".join) | st.text(max_size=100) | st.none()


@given(st.sampled_from(PATHS), TEXTS, TEXTS, st.sampled_from(RULES))
def test_no_text_makes_a_rule_fail(path: str, before: str | None, after: str | None, rule: Rule) -> None:
    found = findings(rule, {path: after}, {path: before}, commands=COMMANDS, tests={"tests/test_b.py": after or ""})
    assert len(found) <= 30


@given(st.sampled_from(PATHS), st.lists(WORDS, max_size=30).map("\n".join), st.sampled_from(RULES))
def test_what_did_not_change_is_never_found(path: str, text: str, rule: Rule) -> None:
    assert findings(rule, {path: text}, {path: text}) == []


HOSTILE = {
    "spaces": " " * 100_000,
    "one line": "x = 1 == 2 or " * 6_666,
    "quotes": "'\"" * 33_333,
    "escapes": '"' + '\\"' * 33_333,
    "brackets": "(" * 33_333,
    "sums": "x = " + "1+" * 16_666 + "1",
    "decorators": "@a\n" * 16_666,
    "blank lines": "\n" * 66_666,
    "functions": "def f(x):\n    pass\n" * 1_666,
    "branches": "if (x === 2) return 5;\n" * 1_666,
    "entries": "{2: 5, " * 10_000,
    "comments": "x = f()  # noqa\n" * 1_666,
    "targets": "test: test test test\n\ttrue\n" * 1_666,
    "variables": "A = $(A)$(B)\n" * 3_333,
    "words": "public static equals " * 3_333,
    "env": "env PYTEST_ " * 6_666,
    "tables": "[[a." * 6_666,
    "calls": "expect(f(1)).toBe(1)\n" * 1_666,
}


@pytest.mark.slow
@pytest.mark.timeout(30)  # the square of any of these would take far longer
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_noise_is_read_in_linear_time(text: str) -> None:
    for path in PATHS:
        for rule in RULES:
            assert len(findings(rule, {path: text}, {path: "x = 1\n"}, commands=COMMANDS, tests={"tests/test_b.py": text})) <= 30


def test_half_a_character_is_told_as_a_question_mark() -> None:
    (finding,) = findings(stubs, {"app.py": "x = 1  # TODO: \ud800\n"})
    assert finding.after == "x = 1 # TODO: ?"


def test_rules_agree_on_a_scene_without_changes() -> None:
    empty = Scene(diff=TreeDiff())
    assert [list(rule(empty)) for rule in RULES] == [[]] * len(RULES)


HONEST = '''"""Prices."""

from dataclasses import dataclass

DISCOUNTS = {"gold": 20, "silver": 10, "bronze": 5}


@dataclass(frozen=True)
class Price:
    """An amount in cents."""

    cents: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Price) and self.cents == other.cents

    def discounted(self, level: str) -> "Price":
        """Less what the level grants."""
        if level not in DISCOUNTS:
            return self
        return Price(self.cents * (100 - DISCOUNTS[level]) // 100)


def factorial(n: int) -> int:
    if n == 0:
        return 1
    return n * factorial(n - 1)


def first(items: list[int]) -> int | None:
    for item in items:
        return item
    return None
'''
HONEST_TESTS = """import pytest
from prices import Price, factorial, first


@pytest.mark.parametrize(("n", "expected"), [(0, 1), (1, 1), (5, 120)])
def test_factorial(n, expected):
    assert factorial(n) == expected


def test_discount():
    assert Price(100).discounted("gold") == Price(80)


def test_first():
    assert first([]) is None
    assert first([3]) == 3
"""


def test_ordinary_work_is_not_even_told() -> None:
    work = scene({"prices.py": HONEST, "tests/test_prices.py": HONEST_TESTS, "conftest.py": "import pytest\n"}, commands=COMMANDS)
    assert [finding for rule in RULES for finding in rule(work)] == []


@pytest.mark.timeout(30)  # it takes a tenth of a second, and the square of it far longer
def test_five_thousand_lines_in_three_hundred_files_are_read_in_linear_time() -> None:
    functions = "".join(
        f"def f{n}(x):\n    '''Add.'''\n    if x > {n}:\n        return x\n    return x + {n}\n\n\n" for n in range(2, 4)
    )
    files = {f"src/m{n}.py": functions.replace("def f", f"def g{n}_") for n in range(300)}
    work = scene(files, dict.fromkeys(files, "import re\n\n\n"), commands=COMMANDS, tests={"tests/test_a.py": HONEST_TESTS})
    assert [finding for rule in RULES for finding in rule(work)] == []


@pytest.mark.parametrize("number", ["0x" + "F" * 5000, "0b" + "1" * 20_000])
def test_a_number_that_python_writes_in_no_decimal_digits_stops_no_rule(number: str) -> None:
    source = (
        f"class A:\n    def __eq__(self, other):\n        return {number} == {number}\n\n\ndef f(x):\n    return {number}\n\n\n"
        f"def g(x):\n    # for now\n    return {number}\n\n\nT = {{{number}: 1}}\n"
    )
    tests = f"def test_a():\n    assert f(1) == {number}\n    assert [{number}] == [{number}]\n"
    rules = (*RULES, assertions_weakened)
    found = {finding.rule for rule in rules for finding in findings(rule, {"app.py": source, "tests/test_app.py": tests})}
    assert {"always_equal", "stubs"} <= found


def test_a_rule_for_which_a_file_is_too_deep_says_so_and_sees_the_others() -> None:
    def recursing(work: Scene) -> list[Finding]:
        if any(file.path == "deep.py" for file in work.diff):
            raise RecursionError
        return findings(always_equal, {file.path: file.after for file in work.diff})

    equal = "class A:\n    def __eq__(self, other):\n        return True\n"
    work = scene({"a.py": equal, "deep.py": equal, "z.py": equal})
    found = [(finding.rule, finding.path, finding.weight.value) for finding in all_findings(work, (recursing, always_equal))]
    told = [("always_equal", "a.py", "block"), ("nested_too_deeply", "deep.py", "block"), ("always_equal", "z.py", "block")]
    assert found[:3] == told
    assert [path for _, path, _ in found[3:]] == ["a.py", "deep.py", "z.py"]


@pytest.mark.parametrize("one", ["x" + ".a" * 900, "-" * 900 + "x", "x" + "[0]" * 900, " + ".join(["x"] * 900), "!" * 4000 + "x"])
def test_a_deep_tree_ends_no_look_at_a_diff(one: str) -> None:
    source = f"class A:\n    def __eq__(self, other):\n        return {one} == {one}\n"
    tests = f"def test_a():\n    assert {one} == {one}\n"
    script = f"it('adds', () => {{\n  assert({one});\n}});\n"
    work = scene({"app.py": source, "tests/test_app.py": tests, "src/a.test.js": script, "z.py": "# type: ignore\n"})
    found = {(finding.rule, finding.path) for finding in all_findings(work)}
    assert ("always_equal", "app.py") in found or one.startswith("!")
    assert not [path for rule, path in found if rule == "nested_too_deeply"]
