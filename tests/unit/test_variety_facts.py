"""What one file contributes to the variety of a tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.variety_facts import FileFacts
from helmsman.verify.variety import facts_of, worth_reading

pytestmark = pytest.mark.feature("S15")

PYTHON = '''\
from typing import Any, cast
import os  # noqa: F401

__all__ = ["load"]

TEXT = """
x = 1  # noqa
"""


def load(value: Any) -> int:
    from shop.late import slow

    return cast("int", slow(value))  # type: ignore[misc]


def not_listed() -> None: ...
'''

TYPESCRIPT = """\
import { price } from "./price";
import type { Cart } from "../cart";
export { tax } from "./tax.js";
import "./setup";
// @ts-ignore
const total = (cart: any): number => price(cart as unknown as Cart);
const unused = 1;
export const rate = 2, text = "as any";
export default total;
export { rate as other, text as more };
async function later() { const heavy = await import("./heavy"); return heavy; }
"""


def test_python_is_counted_as_a_tree() -> None:
    found = facts_of("shop/api.py", PYTHON)
    assert (found.role, found.lines, found.suppressions, found.casts, found.public_names) == ("source", 10, 2, 2, 1)
    assert set(found.imports) == {"typing.Any", "typing.cast", "os"}
    assert found.late == ("shop.late.slow",)


@pytest.mark.parametrize(
    "text",
    [
        'TEXT = (\n    "a"\n    "b"  # noqa: E501\n)\n',
        'LINE = "# noqa"  # type: ignore\n',
        "x = f()  # pragma:no cover\n",
    ],
)
def test_a_suppression_beside_a_text_is_counted(text: str) -> None:
    assert facts_of("shop/a.py", text).suppressions == 1


def test_an_annotated_list_of_what_is_public_is_heeded() -> None:
    assert facts_of("shop/a.py", "__all__: list[str] = ['a']\n\ndef a(): ...\n\ndef b(): ...\n").public_names == 1


def test_only_what_stands_under_type_checking_is_imported_late() -> None:
    found = facts_of("shop/a.py", "if TYPE_CHECKING:\n    import a\nelse:\n    import b\n")
    assert (found.imports, found.late) == (("b",), ("a",))


def test_a_name_with_export_in_it_begins_no_statement() -> None:
    found = facts_of("web/a.ts", "import type { exportOptions } from './options';\n")
    assert (found.imports, found.late) == ((), ("./options",))


def test_typescript_is_counted_by_its_lines() -> None:
    found = facts_of("web/total.ts", TYPESCRIPT)
    assert (found.suppressions, found.casts, found.public_names) == (1, 2, 5)
    assert found.imports == ("./price", "./tax.js", "./setup")
    assert found.late == ("../cart", "./heavy")
    assert found.lonely == ("later", "unused")


def test_words_in_javascript_that_has_no_types_are_no_casts() -> None:
    assert facts_of("web/total.js", "const x = {as: any, y: any};\n").casts == 0


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a/shop.go", "func Sum(x interface{}, y any) int {}\nfunc (s *T) Get() {}\nfunc own() {}\n", (2, 2, 0)),
        ("a/shop.go", "var x = f() //nolint:errcheck\n", (0, 0, 1)),
        ("src/lib.rs", "#[allow(dead_code)]\npub fn sum() { unsafe { go() } }\nfn own() {}\n", (1, 1, 1)),
        ("src/main/java/A.java", '@SuppressWarnings("all")\npublic class A {\n  public int b;\n  int c;\n}\n', (0, 2, 1)),
        ("src/A.cs", "// a dynamic list\npublic dynamic a;\n", (1, 1, 0)),
        ("lib/a.rb", "def a; end # rubocop:disable Style/X\n", (0, 0, 1)),
        ("run.sh", "# shellcheck disable=SC2086\necho $1\n", (0, 0, 1)),
    ],
)
def test_other_languages_are_counted_by_their_tables(path: str, text: str, expected: tuple[int, int, int]) -> None:
    found = facts_of(path, text)
    assert (found.casts, found.public_names, found.suppressions) == expected


def test_tests_and_what_never_runs_of_them_are_counted_in_test_files_only() -> None:
    text = (
        "import pytest\n\ndef test_a():\n    assert f() == 1\n\n@pytest.mark.skip\ndef test_b():\n    assert f() == 2  # noqa\n"
    )
    found = facts_of("tests/test_a.py", text)
    assert (found.role, found.tests, found.skips, found.suppressions, found.casts) == ("tests", 2, 1, 0, 0)
    assert facts_of("shop/a.py", text).tests == 0


def test_a_test_that_only_some_platform_skips_is_no_skip() -> None:
    text = "import pytest, sys\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_b():\n    assert f() == 2\n"
    assert facts_of("tests/test_a.py", text).skips == 0


def test_rust_keeps_its_tests_beside_the_code_and_they_are_not_lines_of_source() -> None:
    text = "pub fn sum() {}\n#[cfg(test)]\nmod tests {\n  #[test]\n  fn adds() { assert_eq!(sum(), 1); }\n}\n"
    found = facts_of("src/lib.rs", text)
    assert (found.role, found.lines, found.tests) == ("source", 1, 1)


@pytest.mark.parametrize(
    "path", ["README.md", "web/node_modules/a/b.js", "vendor/x.go", "dist/app.js", "web/app.min.js", "shop/migrations/0001.py"]
)
def test_what_nobody_writes_by_hand_is_not_worth_reading(path: str) -> None:
    assert not worth_reading(path)
    assert facts_of(path, "x = 1  # noqa\n") == FileFacts()


def test_a_generated_file_counts_as_nothing() -> None:
    assert facts_of("shop/schema.py", "# Code generated by protoc. DO NOT EDIT.\nx = 1  # noqa\n") == FileFacts()


def test_private_names_that_a_text_only_defines_are_lonely() -> None:
    text = "_LIMIT = 3\n_USED = 4\n\ndef _old():\n    return _USED\n\n@route\ndef _view(): ...\n\n__version__ = '1'\n"
    found = facts_of("shop/a.py", text)
    assert found.lonely == ("_LIMIT", "_old")
    assert found.mentions == ("_USED", "_view")


def test_python_that_cannot_be_parsed_gives_what_its_lines_tell() -> None:
    found = facts_of("shop/a.py", "def (:\nx = 1  # noqa\n")
    assert (found.role, found.lines, found.suppressions, found.public_names) == ("source", 2, 1, 0)


PATHS = st.sampled_from(
    ["a.py", "tests/test_a.py", "a.ts", "a.test.ts", "a.go", "src/a.rs", "A.java", "a.rb", "a.php", "a.c", "a.sh"]
)
PIECES = st.sampled_from(
    [
        "import ",
        "from ",
        "export {",
        "'",
        '"""',
        "(",
        "{",
        "as any",
        "# noqa",
        "// @ts-ignore",
        "\n",
        "_x",
        "require('./",
        "\\",
        "`",
    ]
)
TEXTS = st.lists(PIECES | st.text(st.characters(codec="utf-8"), max_size=5), max_size=60).map("".join)


@given(PATHS, TEXTS)
def test_any_text_gives_facts_that_can_be_kept(path: str, text: str) -> None:
    found = facts_of(path, text)
    assert FileFacts.model_validate_json(found.model_dump_json(exclude_defaults=True)) == found
    assert found.lines <= text.count("\n") + 1


@given(PATHS, st.text(st.characters(), max_size=60))
def test_halves_of_characters_are_read_too(path: str, text: str) -> None:
    assert facts_of(path, text).lines <= text.count("\n") + 1


@pytest.mark.parametrize("piece", ["import ", "export {", "_x = 1\n", '"', "# noqa\n", "from './a' ", "(", "as unknown ", "'\\"])
def test_a_long_hostile_text_gives_bounded_facts(piece: str) -> None:
    for path in ("a.py", "a.ts", "a.go"):
        found = facts_of(path, piece * (400_000 // len(piece)))
        assert len(found.imports) <= 500
        assert len(found.mentions) <= 2000
        assert found.lines <= 200_000
