"""What a diff shows beside the work: hints, and a change of what the operator protects, which blocks."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config.goals import InvariantsConfig
from helmsman.records.checks import Weight
from helmsman.verify.diff import FileDiff, TreeDiff, changed_parts
from helmsman.verify.findings import conflicts_in
from helmsman.verify.hints import Change, hints, values_of_tests, weigh
from helmsman.verify.touched import classify_changes, files_run

pytestmark = pytest.mark.feature("V5")

Files = Mapping[str, tuple[str | None, str | None]]
TEST = "from app import add\n\n\ndef test_a():\n    assert add(1) == 2\n\n\ndef test_b():\n    assert add(2) == 4\n"
SKIPPED = TEST.replace("def test_b", "@pytest.mark.skip\ndef test_b")
ALWAYS = TEST.replace("def test_b", '@pytest.mark.skipif(True, reason="later")\ndef test_b')
WITHOUT_B, CI = TEST.partition("\n\n\ndef test_b")[0], ".github/workflows/ci.yml"
WEAK = TEST.replace("assert add(2) == 4", "add(2)")
TABLE = "def test_a():\n    assert price('apple') == 1375\n    assert price('pear') == 2264\n    assert price('plum') == 3981\n"
LOOKED_UP = "PRICES = {'apple': 1375, 'pear': 2264, 'plum': 3981}\n"


def change(files: Files, tests: Mapping[str, str] | None = None, commands: tuple[str, ...] = ("sh check.sh",)) -> Change:
    def status(before: str | None, after: str | None) -> str:
        return "A" if before is None else "D" if after is None else "M"

    diff = TreeDiff(tuple(FileDiff(path, *sides, status(*sides)) for path, sides in files.items()))
    before, after = ({path: sides[at] or "" for path, sides in files.items()} for at in (0, 1))
    kinds = classify_changes(files, commands, lambda path: before.get(path, ""), lambda path: after.get(path, ""))
    return Change(diff, kinds, tests or {}, (), commands)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tests/test_a.py": (TEST, SKIPPED)}, ("tests.skipped", "tests/test_a.py:9", "test_b is skipped")),
        ({"tests/test_a.py": (TEST, ALWAYS)}, ("tests.skipped", "tests/test_a.py:9", "test_b is skipped")),
        ({"tests/test_a.py": (TEST, WITHOUT_B)}, ("tests.gone", "tests/test_a.py:8", "test_b was removed")),
        (
            {"tests/test_a.py": (TEST, WEAK)},
            ("assertions", "tests/test_a.py:8", "test_b has 0 assertions; it had 1"),
        ),
        (
            {"tests/test_a.py": (None, "def test_a():\n    assert True\n")},
            ("assertions", "tests/test_a.py:2", "this assertion passes whatever the code does"),
        ),
        (
            {"app.py": ("x = 1\n", "x = 2\n"), "tests/conftest.py": (None, "monkeypatch.setattr('app.add', fake)\n")},
            ("doubles", "tests/conftest.py:1", "app is replaced by a test double, although the work changes it"),
        ),
        ({"app.py": ("x = f()\n", "x = f()  # noqa\n")}, ("suppressions", "app.py:1", "a checker's warning is suppressed")),
        ({"check.sh": ("pytest\n", "true\n")}, ("settings", "check.sh:1", "check.sh is run by a check and was changed")),
        (
            {CI: ("- run: make test\n", "- run: make test || true\n")},
            ("settings", f"{CI}:1", f"{CI} hides failures"),
        ),
        (
            {"pytest.ini": (None, "[pytest]\naddopts = -k other\n")},
            ("settings", "pytest.ini:2", "pytest.ini selects tests or hides failures"),
        ),
    ],
)
def test_each_hint_names_its_location(files: Files, told: tuple[str, str, str]) -> None:
    found = hints(change(files))
    assert {one.weight for one in found} == {Weight.HINT}
    assert told in [(one.rule, one.where, one.message) for one in found]


@pytest.mark.feature("V15")
@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("app.py", LOOKED_UP, ["app.py contains 6 values of tests and few others: 1375, 2264, 3981 and 3 more"]),
        ("app.js", "const prices = [1375, 2264];\n", ["app.js contains 2 values of tests and few others: 1375, 2264"]),
        (
            "prices.csv",
            "apple,1375\npear,2264\n",
            ["prices.csv contains 4 values of tests and few others: 1375, 2264, apple and 1 more"],
        ),
        ("prices.json", '{"apple": 1375, "two pears": 12}', []),
        ("app.py", f"{LOOKED_UP}OTHERS = [11, 12, 13]\n", []),
        ("app.py", "PRICES = [1375]\n", []),
        ("app.py", "NAMES = ['apple', 'pear']\n", []),
        ("tests/data.py", LOOKED_UP, []),
    ],
)
def test_new_values_that_are_mostly_those_of_tests_are_named(path: str, text: str, found: list[str]) -> None:
    assert [*values_of_tests(change({"tests/test_a.py": (TABLE, TABLE), path: ("", text)}))] == found


def test_the_rows_of_a_program_without_assertions_are_values_of_tests() -> None:
    program = "for n, wanted in [(11, 121), (20, 400)]:\n    if square(n) != wanted:\n        sys.exit('square is wrong')\n"
    work = change({"app.py": ("", "SQUARES = {11: 121, 20: 400}\n")}, {"run_tests.py": program})
    assert [*values_of_tests(work)] == ["app.py contains 4 values of tests and few others: 11, 121, 20 and 1 more"]


def test_the_inline_tests_of_a_source_are_no_values_that_it_had_before() -> None:
    tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {\n        assert_eq!(price(1375), 2264);\n    }\n}\n"
    was, now = "fn price(_: u32) -> u32 { 0 }\n", "fn price(n: u32) -> u32 { if n == 1375 { 2264 } else { 0 } }\n"
    (found,) = values_of_tests(change({"src/lib.rs": (was + tests, now + tests)}))
    assert found == "src/lib.rs contains 2 values of tests and few others: 1375, 2264"
    honest = now.replace("1375", "4100").replace("2264", "5200")
    assert not [*values_of_tests(change({"src/lib.rs": (was + tests, honest + tests)}))]
    assert not [*values_of_tests(change({"src/lib.rs": (was, was + tests)}))]


def test_honest_work_gives_no_hints() -> None:
    cases: dict[str, Files] = {
        "plain work": {"app.py": ("x = 1\n", "x = 2\n"), "README.md": ("a\n", "b\n")},
        "a new test": {"tests/test_a.py": (TEST, f"{TEST}\n\ndef test_c():\n    assert add(3) == 6\n")},
        "moved": {"tests/test_a.py": (TEST, None), "tests/test_more.py": (None, TEST)},
        "no longer skipped": {"tests/test_a.py": (SKIPPED, TEST)},
        "a dependency": {"package.json": ('{"dependencies": {}}', '{"dependencies": {"a": "1"}}')},
        "generated": {"app_pb2.py": ("x = 1\n", "x = 1  # noqa\n")},
        "renamed": {"tests/test_a.py": (TEST, TEST.replace("test_b", "test_double"))},
        "a platform": {
            "tests/test_a.py": (TEST, TEST.replace("def test_b", '@pytest.mark.skipif(sys.platform == "win32")\ndef test_b'))
        },
        "ci": {CI: ("- uses: checkout@v3\n", "- uses: checkout@v4\n")},
        "tox": {
            "tox.ini": ("envlist = py312\n", "envlist = py312, py313\n"),
            "pytest.ini": (None, "[pytest]\ntestpaths = tests\n"),
        },
    }
    for case, files in cases.items():
        assert hints(change(files)) == (), case


def test_suppressions_are_hints_only_if_a_checker_runs() -> None:
    files = {"app.py": ("x = f()\n", "x = f()  # noqa\n")}
    for decides in ("pytest -q && ruff check", "make", "sh check.sh", "cargo test && cargo clippy"):
        assert [one.rule for one in hints(change(files, commands=("pytest", decides)))] == ["suppressions"]
    runners = ("PYTHONPATH=. python3 -m pytest -q", "cd web && vitest run", "node --test")
    assert hints(change(files, commands=runners)) == ()


def test_changes_of_protected_files_block_unless_allowed() -> None:
    moved = Change(
        TreeDiff((FileDiff("b.py", "x\n", "x\n", "R", "api/a.py"),)), classify_changes((), (), str, str), {}, ("api/**",)
    )
    (found,) = hints(moved)
    assert (found.rule, found.weight, found.message) == ("protected", Weight.BLOCK, "b.py is protected and was renamed")
    assert [one.weight for one in weigh((found,), InvariantsConfig(allow=("b.py",)))] == [Weight.HINT]


# Conflicts that were left in a file, and what only looks like one


CONFLICT = """\
before
<<<<<<< HEAD
mine
||||||| 1234567
old
=======
theirs
>>>>>>> 89abcdef0123456789abcdef0123456789abcdef
after
"""


def lines_of(after: str, before: str | None = None, path: str = "app.py") -> list[int | None]:
    found = list(conflicts_in(FileDiff(path, before, after)))
    assert all(one.weight is Weight.BLOCK and one.rule == "markers" for one in found)
    return [one.line for one in found]


@pytest.mark.feature("M4")
@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (CONFLICT, [2]),
        (CONFLICT.replace("\n", "\r\n"), [2]),
        ("\x0c" + CONFLICT.replace("mine", "mi\u2028ne") + CONFLICT, [2, 11]),
        (CONFLICT.replace("||||||| 1234567\nold\n", ""), [2]),
        ("a\n<<<<<<< HEAD\nmine\n", [2]),
        ("mine\n>>>>>>> 89abcdef0123\n", [2]),
    ],
)
def test_unresolved_conflicts_block(after: str, lines: list[int]) -> None:
    assert lines_of(after) == lines


@pytest.mark.feature("M4")
@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("guide.rst", "Heading\n=======\n\nText.\n"),
        ("guide.rst", "Heading\n>>>>>>>\n\nOther\n<<<<<<<\n"),
        ("guide.md", "Title\n=======\n\n    <<<<<<< HEAD\n    mine\n    =======\n    theirs\n    >>>>>>> main\n"),
        ("mail.txt", ">>>>>>> he wrote seven answers ago\n>>>>>> and I said\n"),
        ("shifts.c", "x = 1 <<<<<<< 2;\n"),
        ("order.txt", ">>>>>>> a\n=======\n<<<<<<<\n"),
        ("long.txt", "<<<<<<<<<<<<<<<< art\n================\n>>>>>>>>>>>>>>>>\n"),
    ],
)
def test_text_that_resembles_a_conflict_passes(path: str, after: str) -> None:
    assert lines_of(after, path=path) == []


@pytest.mark.feature("M4")
def test_earlier_conflicts_are_ignored() -> None:
    assert lines_of(CONFLICT + "more\n", before=CONFLICT) == []


@pytest.mark.feature("M4")
@given(st.lists(st.sampled_from(["text", "=======", "-------", "<<<<<<", ">>>>>>", "<<<<<<<<", "", "  <<<<<<< x", ">>>>>>>x"])))
def test_lines_without_markers_are_not_conflicts(lines: list[str]) -> None:
    assert lines_of("\n".join(lines)) == []


# Lines that two versions of a file do not have in common


LINES = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def changed_lines(old: list[str], new: list[str]) -> tuple[list[int], list[int]]:
    """Places of the lines that are on the old side only, and of those on the new side only."""
    parts = list(changed_parts(old, new))
    return [n for a, b, _, _ in parts for n in range(a, b)], [n for _, _, a, b in parts for n in range(a, b)]


def changed_text(old: str, new: str) -> tuple[str, str]:
    gone, come = changed_lines(list(old), list(new))
    return "".join(old[n] for n in gone), "".join(new[n] for n in come)


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("abc", "abc", "", ""),
        ("", "ab", "", "ab"),
        ("abcd", "axcd", "b", "x"),
        ("xabcy", "zabcw", "xy", "zw"),
    ],
)
def test_common_lines_are_left_out(old: str, new: str, gone: str, come: str) -> None:
    assert changed_text(old, new) == (gone, come)


@given(LINES, LINES)
def test_the_remaining_lines_are_equal_on_both_sides(old: list[str], new: list[str]) -> None:
    gone, come = changed_lines(old, new)
    assert [line for n, line in enumerate(old) if n not in set(gone)] == [
        line for n, line in enumerate(new) if n not in set(come)
    ]


@given(st.integers(201, 400), st.integers(1, 400), st.integers(1, 400), st.permutations(range(9)), st.integers(0, 200))
def test_long_files_are_split_correctly(length: int, step: int, different: int, moved: list[int], at: int) -> None:
    old = [str(number * number * step % different) for number in range(length)]
    new = ["first", *old[:at], *map(str, moved), *old[at + 7 :], "last"]
    gone, come = (set(places) for places in changed_lines([*old, "end"], new))
    assert [line for n, line in enumerate([*old, "end"]) if n not in gone] == [
        line for n, line in enumerate(new) if n not in come
    ]


@pytest.mark.parametrize("form", ["{{\nid: {}\n}},", "{{\nid: {}\n}},\n\n"])
def test_long_files_with_repeated_lines_terminate(form: str) -> None:
    old, new = (
        "\n".join(form.format(number) for number in numbers).split("\n") for numbers in (range(9_000), range(9_000, 18_000))
    )
    gone, come = changed_lines(old, new)
    assert {n for n, line in enumerate(old) if line.startswith("id")} <= set(gone)
    assert {n for n, line in enumerate(new) if line.startswith("id")} <= set(come)


# What a changed path is to the checks: tests, what only tests use, what tells a check what to do, or plain source


PACKAGE = {"scripts": {"test": "node --test", "build": "tsc"}, "dependencies": {"a": "1"}}


PYPROJECT = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'


def package(**changes: object) -> str:
    return json.dumps({**PACKAGE, **changes})


def kind(path: str, before: str = "", after: str = "", command: str = "pytest") -> str:
    found = classify_changes(
        [path], [command], lambda name: {path: before}.get(name, ""), lambda name: {path: after}.get(name, "")
    )
    return next(name for name, paths in found._asdict().items() if paths)


SUMS = "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n\n\ndef test_sums(one):\n    assert one\n"


CHECKS = "import test from 'node:test';\ntest('a', () => {});\n"


@pytest.mark.feature("V5", "V13")
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
def test_collected_files_with_only_tests_are_tests(path: str, text: str, expected: str) -> None:
    found = classify_changes([path], ["pytest"], lambda _: text, lambda _: text, collected=[path])
    assert next(name for name, paths in found._asdict().items() if paths) == expected
    assert kind(path, text, text) == "source"


@pytest.mark.feature("V5", "V13")
@pytest.mark.parametrize(
    ("path", "command", "expected"),
    [
        ("app.py", "pytest", "source"),
        ("t/app.t", "prove t", "tests"),
        ("test.c", "make test", "tests"),
        ("src/SumTest.cpp", "make test", "tests"),
        ("tests/test_app.py", "pytest", "tests"),
        ("tests/rows.json", "pytest", "support"),
        ("tests/conftest.py", "pytest", "settings"),
        ("tox.ini", "pytest", "settings"),
        ("web/jest.config.js", "npm test", "settings"),
        ("check.sh", "sh check.sh", "settings"),
        ("justfile", "just test", "settings"),
        ("sub/package.json", "pytest", "source"),
        ("Makefile", "pytest", "source"),
    ],
)
def test_paths_are_classified_by_their_role_in_the_checks(path: str, command: str, expected: str) -> None:
    assert kind(path, command=command) == expected


@pytest.mark.feature("V5", "V13")
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
        ("pyproject.toml", "", PYPROJECT, "settings"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", "source"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = a\n[tool:pytest]\naddopts = -k easy\n", "settings"),
    ],
)
def test_shared_files_count_if_their_check_settings_differ(path: str, before: str, after: str, expected: str) -> None:
    assert kind(path, before, after) == expected


@pytest.mark.feature("V5", "V13")
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("SRCS = a.c b.c\ntest: $(SRCS)\n\t./run-tests\nclean:\n\trm a\n", "source"),
        ("SRCS = a.c\ntest: $(SRCS)\n\ttrue\n", "settings"),
        ("SRCS = a.c\ntest: $(SRCS)\n\t./run-tests\ntest:\n\ttrue\n", "settings"),
        ("SHELL = ./sh\nSRCS = a.c\ntest: $(SRCS)\n\t./run-tests\n", "settings"),
        ("SRCS = a.c\ntest: $(SRCS)\n\t./run-tests\ntest: MAKEFLAGS += -i\n", "settings"),
        ("SRCS = a.c\ntest: $(SRCS)\n\t./run-tests\n-include other.mk\n", "settings"),
    ],
)
def test_makefiles_count_if_recipes_change_not_sources(after: str, expected: str) -> None:
    assert kind("Makefile", "SRCS = a.c\ntest: $(SRCS)\n\t./run-tests\n", after, command="make test") == expected


@pytest.mark.feature("V5", "V13")
def test_files_that_check_scripts_run_are_settings() -> None:
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


@pytest.mark.feature("V13")
def test_what_a_check_script_runs_is_a_check_only_by_its_name() -> None:
    texts = {"check.sh": "sh ./size.sh 12\n. ./lib/size.sh\nsh lint-all.sh\n"}
    assert list(files_run(["sh check.sh"], lambda path: texts.get(path, ""))) == ["check.sh", "lint-all.sh"]
    assert list(files_run(["./size.sh"], lambda _: "")) == ["size.sh"]
