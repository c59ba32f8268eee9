"""Tests whose form follows the code, beside those that use a new form to say less."""

import pytest

from helmsman.records.findings import Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.assertions_weakened import assertions_weakened
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.tests_deleted import tests_deleted as deleted
from helmsman.verify.invariants.tests_skipped import tests_skipped as skipped
from helmsman.verify.invariants.tests_uncollected import tests_uncollected as uncollected

pytestmark = pytest.mark.feature("V5")
BLOCK, WARN = Weight.BLOCK, Weight.HINT
SOURCES = {
    "go": FileDiff("a.go", "func A() {}", "func A() { b() }"),
    "java": FileDiff("src/main/java/A.java", "class A {}", "class A { int b; }"),
    "ts": FileDiff("a.ts", "export const a = 1", "export const a = 2"),
    "rb": FileDiff("lib/a.rb", "A = 1", "A = 2"),
    "rs": FileDiff("src/a.rs", "fn a() {}", "fn a() { b() }"),
    "py": FileDiff("a.py", "A = 1", "A = 2"),
}
PATHS = {
    "go": "a_test.go",
    "java": "src/test/java/ATest.java",
    "ts": "a.test.ts",
    "rb": "spec/a_spec.rb",
    "rs": "tests/a.rs",
    "py": "tests/test_a.py",
}
FRAMES = {
    "go": "package a\n\nfunc TestA(t *testing.T) {{\n{}\n}}\n",
    "java": "class ATest {{\n    @Test\n    void itWorks() {{\n{}\n    }}\n}}\n",
    "ts": "test('works', async () => {{\n{}\n}});\n",
    "rb": "RSpec.describe A do\n  it 'works' do\n{}\n  end\nend\n",
    "rs": "#[test]\nfn works() {{\n{}\n}}\n",
    "py": "def test_it():\n{}\n",
}


def framed(language: str, body: str) -> str:
    return FRAMES[language].format("\n".join(f"    {line}" for line in body.split("\n")))


def scene(language: str, old: str, new: str, *others: FileDiff, source: bool = True) -> Scene:
    test = FileDiff(PATHS[language], framed(language, old), framed(language, new))
    return Scene(TreeDiff((test, *others, *([SOURCES[language]] if source else []))))


def weights(language: str, old: str, new: str, *, source: bool = True) -> list[Weight]:
    return [finding.weight for finding in assertions_weakened(scene(language, old, new, source=source))]


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("java", 'assertNull(find("2"));', 'assertTrue(find("2").isEmpty());'),
        ("java", 'assertNotNull(find("2"));', 'assertTrue(find("2").isPresent());'),
        ("rs", "assert_eq!(find(2), None);", "assert!(find(2).is_none());"),
        ("java", "assertEquals(find(2), emma);", "assertTrue(find(2).equals(emma));"),
        ("rb", "expect(find(2)).to be_nil", "expect(find(2)).to be_empty"),
        ("java", "assertEquals(4, sum.getX());\nassertEquals(6, sum.getY());", "assertEquals(new Point(4, 6), sum);"),
        ("ts", "expect(sum.x).toBe(4);\nexpect(sum.y).toBe(6);", "expect(sum).toEqual({ x: 4, y: 6 });"),
        ("py", "assert total.x == 4\nassert total.y == 6", "assert total == Point(4, 6)"),
        (
            "ts",
            "load('a', (error, value) => {\n  expect(error).toBeNull();\n  expect(value).toEqual({ a: 1 });\n});",
            "expect(await load('a')).toEqual({ a: 1 });",
        ),
        ("ts", "expect(names.length).toBe(3);", "expect(names).toHaveLength(3);"),
    ],
)
def test_what_follows_the_form_of_the_code_is_not_told(language: str, old: str, new: str) -> None:
    assert weights(language, old, new) == []


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("java", 'assertNull(find("2"));', 'assertTrue(find("2"));'),
        ("java", 'assertEquals("Emma", find("2").title());', 'assertTrue(find("2").isPresent());'),
        ("rs", "assert_eq!(find(2), Some(3));", "assert!(find(2).is_some());"),
        ("java", "assertEquals(4, sum.getX());\nassertEquals(6, sum.getY());", "assertEquals(4, sum.getX());"),
        ("ts", "expect(sum.x).toBe(4);\nexpect(sum.y).toBe(6);", "expect(sum).toEqual({ x: 4 });"),
        (
            "go",
            "got, err := Load()\nif err != nil {\n\tt.Fatal(err)\n}\nif got != 1 {\n\tt.Error(got)\n}",
            "got, _ := Load()\nif got != 1 {\n\tt.Error(got)\n}",
        ),
        ("ts", "expect(error).toBeNull();\nexpect(value).toEqual({ a: 1 });", "expect(value).toBeTruthy();"),
    ],
)
def test_what_only_looks_like_another_form_blocks(language: str, old: str, new: str) -> None:
    assert BLOCK in weights(language, old, new)


OLD_POOL = 'p := New(2, time.Second)\nif p.size != 2 || p.idle != time.Second {\n\tt.Errorf("got %+v", p)\n}'
NEW_POOL = (
    "tests := []struct {\n\toptions []Option\n\twant Pool\n}{\n\t{nil, Pool{4, time.Minute}},\n"
    "\t{[]Option{WithSize(2), WithIdle(time.Second)}, Pool{2, time.Second}},\n}\nfor _, tt := range tests {\n"
    '\tif got := New(tt.options...); *got != tt.want {\n\t\tt.Errorf("got %+v", *got)\n\t}\n}'
)


def test_a_test_that_is_rebuilt_with_its_code_is_left_to_a_reader() -> None:
    assert set(weights("go", OLD_POOL, NEW_POOL)) == {WARN}


@pytest.mark.parametrize("new", ["assert!(find(2).is_err());", "assert!(matches!(find(2), Err(Error::Unknown)));"])
def test_an_error_in_place_of_nothing_is_left_to_a_reader(new: str) -> None:
    old = "assert_eq!(find(2), None);"
    assert (weights("rs", old, new), weights("rs", old, new, source=False)) == ([WARN], [BLOCK])


def test_a_rebuilt_test_without_its_values_blocks() -> None:
    assert BLOCK in weights("go", OLD_POOL, NEW_POOL.replace("time.Second", "time.Minute"))


def test_a_rebuilt_test_blocks_where_no_code_was_rebuilt() -> None:
    assert BLOCK in weights("go", OLD_POOL, NEW_POOL, source=False)


# narrower -------------------------------------------------------------------------------------------------------------


BY_ELEMENT = (
    "if len(got) != len(want) {\n\tt.Fatal(got)\n}\nfor i := range want {\n\tif got[i] != want[i] {\n\t\tt.Error(i)\n\t}\n}"
)


@pytest.mark.parametrize(
    ("language", "old", "new", "expected"),
    [
        ("py", "assert order(tasks) == ['a', 'b']", "assert set(order(tasks)) == {'a', 'b'}", [BLOCK]),
        ("py", "assert sort(tasks) == ['a', 'b']", "assert sorted(sort(tasks)) == ['a', 'b']", []),
        ("py", "assert fetch(urls) == ['a', 'b']", "assert set(fetch(urls)) == {'a', 'b'}", [WARN]),
        ("py", "assert fetch(urls) == ['a', 'b']", "assert len(fetch(urls)) == 2", [BLOCK]),
        ("py", "assert fetch(urls) == ['a', 'b']", "assert len(fetch(urls)) == 2\nassert fetch(urls)[0] == 'a'", []),
        ("ts", "expect(names(x)).toEqual(['a', 'b']);", "expect(names(x)).toHaveLength(2);", [BLOCK]),
        ("ts", "expect(names(x)).toEqual(['a', 'b']);", "expect(names(x).length).toBe(2);", [BLOCK]),
        ("ts", "expect(ranked(x)).toEqual(['a', 'b']);", "expect(new Set(ranked(x))).toEqual(new Set(['a', 'b']));", [BLOCK]),
        ("java", "assertEquals(List.of(1, 2), f(x));", "assertEquals(2, f(x).size());", [BLOCK]),
        ("go", "if !reflect.DeepEqual(got, want) {\n\tt.Error(got)\n}", "if len(got) != len(want) {\n\tt.Error(got)\n}", [BLOCK]),
        (
            "go",
            "if !reflect.DeepEqual(got, want) {\n\tt.Error(got)\n}",
            BY_ELEMENT,
            [],
        ),
        (
            "ts",
            "expect(f(x)).toEqual({ a: 1, b: 2 });",
            "expect(f(x)).toEqual({ a: expect.anything(), b: expect.any(Number) });",
            [BLOCK],
        ),
        ("ts", "expect(f(x)).toEqual({ id: 1, b: 2 });", "expect(f(x)).toEqual({ id: expect.any(Number), b: 2 });", [WARN]),
        ("ts", "expect(f(x)).toEqual({ b: 2 });", "expect(f(x)).toEqual({ id: expect.any(Number), b: 2 });", []),
        ("py", "assert f(x) == {'a': 1, 'b': 2}", "assert f(x) == {'a': ANY, 'b': ANY}", [BLOCK]),
        ("rb", "expect { add(1) }.not_to change(list, :size)", "expect { add(1) }.not_to raise_error", [BLOCK]),
        ("rb", "expect(list.promote).to eq('ada')", "expect(list).to respond_to(:promote)", [BLOCK]),
        ("rb", "expect { add(1) }.to raise_error(Full)", "expect { add(1) }.not_to raise_error", [WARN]),
        ("ts", "expect(() => f(1)).not.toThrow();", "expect(f(1)).toBe(2);", []),
    ],
)
def test_a_comparison_that_looks_at_less_is_told(language: str, old: str, new: str, expected: list[Weight]) -> None:
    assert weights(language, old, new) == expected


# split and shared -----------------------------------------------------------------------------------------------------

LONG = (
    "it('works', () => {\n  const queue = new Queue();\n  queue.push('late', 5);\n  queue.push('soon', 1);\n"
    "  expect(queue.size).toBe(2);\n  expect(queue.pop()).toBe('soon');\n  expect(queue.pop()).toBe('late');\n});\n"
)
SPLIT = (
    "describe('Queue', () => {\n  let queue;\n\n  beforeEach(() => {\n    queue = new Queue();\n    queue.push('late', 5);\n"
    "    queue.push('soon', 1);\n  });\n\n  it('knows its size', () => {\n    expect(queue.size).toBe(2);\n  });\n\n"
    "  it('gives the most urgent first', () => {\n    expect(queue.pop()).toBe('soon');\n"
    "    expect(queue.pop()).toBe('late');\n  });\n});\n"
)


def test_a_long_test_may_become_several_with_a_set_up() -> None:
    diff = TreeDiff((FileDiff("a.test.ts", LONG, SPLIT),))
    assert [*deleted(Scene(diff)), *assertions_weakened(Scene(diff))] == []


def test_a_long_test_that_loses_a_value_while_it_is_split_is_told() -> None:
    diff = TreeDiff((FileDiff("a.test.ts", LONG, SPLIT.replace("    expect(queue.pop()).toBe('late');\n", "")),))
    found = [*deleted(Scene(diff)), *assertions_weakened(Scene(diff))]
    assert BLOCK in [finding.weight for finding in found]


EXAMPLES = "  it 'gives back' do\n    subject.put('a', '1')\n    expect(subject.get('a')).to eq('1')\n  end\n"
SPEC = f"RSpec.describe Memory do\n{EXAMPLES}end\n"
GROUP = f"RSpec.shared_examples 'a storage' do\n{EXAMPLES}end\n"
TAKES = "RSpec.describe Memory do\n  it_behaves_like 'a storage'\nend\n"
JS_EXAMPLES = "  it('gives back', () => {\n    store.put('a', 1);\n    expect(store.get('a')).toBe(1);\n  });\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "support", "group"),
    [
        ("spec/memory_spec.rb", SPEC, TAKES, "spec/support/storage.rb", GROUP),
        (
            "memory.test.js",
            f"describe('memory', () => {{\n  const store = memory();\n{JS_EXAMPLES}}});\n",
            "describe('memory', () => {\n  behavesLikeStorage(memory());\n});\n",
            "test/storage.js",
            f"export function behavesLikeStorage(store) {{\n{JS_EXAMPLES}}}\n",
        ),
        (
            "tests/test_memory.py",
            "class TestMemory:\n    def test_gives(self):\n        assert self.make().get('a') == 1\n",
            "class TestMemory(StorageContract):\n    make = Memory\n",
            "tests/contract.py",
            "class StorageContract:\n    def test_gives(self):\n        assert self.make().get('a') == 1\n",
        ),
    ],
)
def test_shared_tests_run_where_they_are_taken_in(path: str, old: str, new: str, support: str, group: str) -> None:
    def found(after: str) -> list[Weight]:
        it = Scene(TreeDiff((FileDiff(path, old, after), FileDiff(support, None, group, "A"))))
        return [finding.weight for rule in (deleted, uncollected, assertions_weakened) for finding in rule(it)]

    assert found(new) == []
    assert BLOCK in found("# nothing takes them in\n" if path.endswith((".rb", ".py")) else "// nothing\n")


def test_a_shared_test_that_says_less_is_told() -> None:
    weaker = GROUP.replace(".to eq('1')", ".to be_truthy")
    diff = TreeDiff((FileDiff("spec/memory_spec.rb", SPEC, TAKES), FileDiff("spec/support/storage.rb", None, weaker, "A")))
    assert [finding.weight for finding in assertions_weakened(Scene(diff))] == [BLOCK]


# skipped --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tried", "caught", "expected"),
    [
        ("found = band(2)", "LookupError", BLOCK),
        ("found = band(2)", "Exception", BLOCK),
        ("found = band(2)", "ConnectionError", WARN),
        ("import lxml", "ImportError", WARN),
        ("server = start()", "Exception", WARN),
    ],
)
def test_a_skip_where_the_code_raises_hides_a_failure(tried: str, caught: str, expected: Weight) -> None:
    new = f"try:\n    {tried}\nexcept {caught}:\n    pytest.skip('not here')\nassert found == 'low'"
    (finding,) = skipped(scene("py", "found = band(2)\nassert found == 'low'", new))
    assert finding.weight is expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [("Band(2)", BLOCK), ('exec.Command("git").Output()', WARN), ('net.Dial("tcp", "x")', WARN)],
)
def test_a_go_test_that_skips_on_the_error_of_the_code_hides_a_failure(call: str, expected: Weight) -> None:
    rest = 'if got != "low" {\n\tt.Error(got)\n}'
    new = f"got, err := {call}\nif err != nil {{\n\tt.Skip(err)\n}}\n{rest}"
    (finding,) = skipped(scene("go", f"got, _ := {call}\n{rest}", new))
    assert finding.weight is expected


ASKING = [
    ("py", "if not os.environ.get('FULL_RUN'):\n    pytest.skip('slow')\nassert a == 1", "assert a == 1"),
    ("py", "if os.environ.get('FULL_RUN') != '1':\n    pytest.skip('slow')\nassert a == 1", "assert a == 1"),
    ("py", "if 'FULL_RUN' not in os.environ:\n    pytest.skip('slow')\nassert a == 1", "assert a == 1"),
    ("go", 'if os.Getenv("FULL_RUN") == "" {\n\tt.Skip()\n}\nuse()', "use()"),
    ("go", 'full := os.Getenv("FULL_RUN") != ""\nif !full {\n\tt.Skip()\n}\nuse()', "use()"),
    ("java", 'assumeTrue(System.getenv("FULL_RUN") != null);\nuse();', "use();"),
    ("rb", "skip 'slow' unless ENV['FULL_RUN']\nuse", "use"),
]


@pytest.mark.parametrize(("language", "new", "old"), ASKING)
def test_a_test_that_ran_may_not_wait_for_a_variable_that_nobody_sets(language: str, new: str, old: str) -> None:
    def weight(*others: FileDiff, commands: tuple[str, ...] = ()) -> list[Weight]:
        it = scene(language, old, new, *others)
        return [finding.weight for finding in skipped(Scene(it.diff, commands=commands))]

    workflow = FileDiff(".github/workflows/ci.yml", "a: b\n", "a: b\nenv:\n  FULL_RUN: 1\n")
    remark = FileDiff("README.md", "a\n", "a\nSet FULL_RUN for more.\n")
    assert weight() == weight(remark) == [BLOCK]
    assert weight(workflow) == weight(commands=("FULL_RUN=1 make test",)) == [WARN]


@pytest.mark.parametrize(
    ("language", "new"),
    [
        ("py", "if os.environ.get('QUICK'):\n    pytest.skip('slow')\nassert a == 1"),
        ("py", "if not os.environ.get('DISPLAY'):\n    pytest.skip('no screen')\nassert a == 1"),
        ("py", "if not os.environ.get('DATABASE_URL'):\n    pytest.skip('no database')\nassert a == 1"),
        ("py", "if sys.platform == 'win32':\n    pytest.skip('no fork')\nassert a == 1"),
        ("go", 'if os.Getenv("QUICK") != "" {\n\tt.Skip()\n}\nuse()'),
        ("go", 'if runtime.GOOS == "windows" {\n\tt.Skip()\n}\nuse()'),
        ("java", 'assumeTrue(System.getenv("QUICK") == null);\nuse();'),
        ("rb", "skip 'slow' if ENV['QUICK']\nuse"),
    ],
)
def test_a_variable_by_which_tests_may_be_left_out_is_told_and_no_more(language: str, new: str) -> None:
    old = "assert a == 1" if language == "py" else "use"
    assert [finding.weight for finding in skipped(scene(language, old, new))] == [WARN]


def test_a_mark_can_ask_for_a_variable_by_way_of_a_name() -> None:
    old = "class ATest(TestCase):\n    def test_a(self):\n        self.assertEqual(a(), 1)\n"
    new = "FULL = os.environ.get('FULL_RUN') == '1'\n\n\n" + old.replace(
        "    def", "    @unittest.skipUnless(FULL, 'x')\n    def"
    )
    opt_out = new.replace("skipUnless", "skipIf")
    found = [list(skipped(Scene(TreeDiff((FileDiff("tests/test_a.py", old, text),))))) for text in (new, opt_out)]
    assert [[finding.weight for finding in group] for group in found] == [[BLOCK], [WARN]]


# uncollected ----------------------------------------------------------------------------------------------------------

ROOT = "mod heap;\n\n#[cfg(test)]\nmod tests;\n"


@pytest.mark.parametrize(
    ("after", "paths", "blocked"),
    [
        ("mod heap;\n", {"src/lib.rs", "src/tests.rs"}, True),
        ("mod heap;\n", {"src/lib.rs", "src/tests/mod.rs"}, True),
        ("mod heap;\n\n// mod tests;\n", {"src/lib.rs", "src/tests.rs"}, True),
        ("mod heap;\n", {"src/lib.rs"}, False),
        ("mod heap;\n\n#[cfg(test)]\nmod unit_tests;\n", {"src/lib.rs", "src/unit_tests.rs"}, False),
        ("mod heap;\n\n#[cfg(test)]\npub(crate) mod tests;\n", {"src/lib.rs", "src/tests.rs"}, False),
        ("#[cfg(test)]\nmod tests;\nmod heap;\n", {"src/lib.rs", "src/tests.rs"}, False),
    ],
)
def test_a_module_of_tests_needs_the_line_that_names_it(after: str, paths: set[str], *, blocked: bool) -> None:
    found = list(uncollected(Scene(TreeDiff((FileDiff("src/lib.rs", ROOT, after),)), paths=frozenset(paths))))
    assert [finding.weight for finding in found] == [BLOCK] * blocked


GO = framed("go", "if got := A(); got != 1 {\n\tt.Error(got)\n}")


@pytest.mark.parametrize("path", ["_a_test.go", ".a_test.go", "testdata/a_test.go", "_old/a_test.go"])
def test_go_looks_into_no_hidden_file(path: str) -> None:
    assert [finding.weight for finding in uncollected(Scene(TreeDiff((FileDiff(path, GO, GO, "R", "a_test.go"),))))] == [BLOCK]


@pytest.mark.parametrize("path", ["b_test.go", "internal/a_test.go"])
def test_a_go_test_file_may_move(path: str) -> None:
    assert list(uncollected(Scene(TreeDiff((FileDiff(path, GO, GO, "R", "a_test.go"),))))) == []
