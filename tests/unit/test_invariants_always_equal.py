"""Objects that equal everything, assertions that do nothing, runs that end well before they began."""

import pytest

from helmsman.verify.invariants.always_equal import always_equal
from tests.unit.source_scenes import blocked, findings, weights

pytestmark = pytest.mark.feature("V5")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app.py", "class A:\n    def __eq__(self, other):\n        return True\n"),
        ("app.py", "class A:\n    def __ne__(self, other):\n        '''Never.'''\n        return False\n"),
        ("app.py", "class A:\n    __eq__ = lambda self, other: True\n"),
        ("tests/test_a.py", "class Anything:\n    def __eq__(self, other):\n        return True\n"),
        ("src/main/java/A.java", "public boolean equals(Object other) {\n    return true;\n}\n"),
        ("src/A.kt", "override fun equals(other: Any?): Boolean = true\n"),
        ("src/a.js", "class A {\n  equals(other) {\n    return true;\n  }\n}\n"),
        ("lib/a.rb", "def ==(other)\n  true\nend\n"),
        ("src/lib.rs", "fn eq(&self, other: &Self) -> bool {\n    true\n}\n"),
        ("a.go", "func (a A) Equal(b A) bool {\n\treturn true\n}\n"),
        ("src/A.cs", "public override bool Equals(object other) => true;\n"),
        ("src/A.php", "public function equals($other): bool {\n    return true;\n}\n"),
    ],
)
def test_an_object_that_equals_everything_blocks(path: str, source: str) -> None:
    assert weights(always_equal, {path: source}) == ["block"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("conftest.py", "import os\nos._exit(0)\n"),
        ("tests/conftest.py", "def pytest_configure(config):\n    os._exit(0)\n"),
        ("tests/test_a.py", "import atexit, os\natexit.register(os._exit, 0)\n"),
        ("tests/test_a.py", "sys.exit(0)\n"),
        ("app.py", "import sys\nsys.exit(0)\n"),
        ("app.py", "raise SystemExit(0)\n"),
        ("app.py", "raise SystemExit\n"),
        ("tests/conftest.py", "pytest.exit('done', returncode=0)\n"),
        ("src/a.test.js", "afterAll(() => process.exit(0));\n"),
        ("src/a.test.js", "process.exitCode = 0;\n"),
        ("a_test.go", "func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n"),
        ("tests/a.rs", "std::process::exit(0);\n"),
        ("src/test/java/ATest.java", "System.exit(0);\n"),
        ("spec/a_spec.rb", "at_exit do\n  exit!(0)\nend\n"),
        ("tests/ATest.php", "exit(0);\n"),
        ("tests/ATest.php", "die;\n"),
        ("src/test/kotlin/ATest.kt", "exitProcess(0)\n"),
    ],
)
def test_a_run_that_ends_well_before_it_began_blocks(path: str, source: str) -> None:
    assert weights(always_equal, {path: source}) == ["block"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("tests/helpers.py", "def assert_same(a, b):\n    pass\n"),
        ("tests/conftest.py", "def assertValid(x):\n    return True\n"),
        ("tests/conftest.py", "unittest.TestCase.assertEqual = lambda *a: None\n"),
        ("tests/test_a.py", "np.testing.assert_allclose = lambda *a, **k: None\n"),
        ("src/a.test.js", "assert.equal = () => {};\n"),
        ("src/a.test.js", "function assertSame(a, b) {}\n"),
    ],
)
def test_an_assertion_that_does_nothing_blocks(path: str, source: str) -> None:
    assert weights(always_equal, {path: source}) == ["block"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app.py", "class A:\n    def __bool__(self):\n        return True\n"),
        ("app.py", "class Infinity:\n    def __gt__(self, other):\n        return True\n"),
        ("tests/test_a.py", "def test_it():\n    with pytest.raises(SystemExit):\n        sys.exit(0)\n"),
        ("tests/test_a.py", "def test_it():\n    raise SystemExit(0)\n"),
        ("scripts/run.py", "main()\nsys.exit(0)\n"),
        ("tests/test_a.py", "def test_it():\n    if os.fork() == 0:\n        os._exit(0)\n"),
    ],
)
def test_what_may_be_honest_is_told(path: str, source: str) -> None:
    assert weights(always_equal, {path: source}) == ["warn"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app.py", "class A:\n    def __eq__(self, other):\n        return isinstance(other, A) and self.x == other.x\n"),
        ("app.py", "class A:\n    def __eq__(self, other):\n        return NotImplemented\n"),
        ("app.py", "class Null:\n    def __bool__(self):\n        return False\n"),
        ("app.py", "def main():\n    sys.exit(0)\n"),
        ("app.py", "if __name__ == '__main__':\n    sys.exit(0)\n"),
        ("app.py", "sys.exit(main())\n"),
        ("app.py", "def assert_never(value):\n    raise AssertionError(value)\n"),
        ("tests/helpers.py", "def assert_same(a, b):\n    assert a == b\n"),
        ("tests/test_a.py", "TEXT = '''\nimport os\nos._exit(0)\n'''\n"),
        ("a_test.go", "func TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n"),
        ("src/main/java/A.java", "public boolean equals(Object other) {\n    return other == this;\n}\n"),
        ("src/a.test.js", "// process.exit(0)\nprocess.exit(1);\n"),
        ("src/cli.js", "main().then(() => process.exit(0));\n"),
        ("src/a.test.js", "expect(run).toThrow(); const expected = () => true;\n"),
    ],
)
def test_honest_comparisons_and_exits_pass(path: str, source: str) -> None:
    assert blocked(always_equal, {path: source}) == []


def test_what_was_there_is_no_finding() -> None:
    before = "class A:\n    def __eq__(self, other):\n        return True\n"
    assert findings(always_equal, {"app.py": (f"{before}\n    def add(self):\n        return True\n")}, {"app.py": before}) == []


def test_a_finding_names_class_and_method() -> None:
    (finding,) = findings(always_equal, {"app.py": "x = 1\n\nclass A:\n    def __eq__(self, other):\n        return True\n"})
    assert (finding.rule, finding.where) == ("always_equal", "app.py:4")
    assert finding.message == "A.__eq__ always returns True"


@pytest.mark.parametrize(
    "result",
    [
        "return 1",
        "return isinstance(other, object)",
        "return not False",
        "return self.x == self.x",
        "return isinstance(other, A) and self.x == self.x",
        "return self.x == other.x or True",
        "return self.x > 0",
        "if isinstance(other, A):\n            return True\n        return True",
        "if self.x:\n            return True\n        else:\n            return True",
        "try:\n            return True\n        except ValueError:\n            return True",
        "with self.lock:\n            return True",
    ],
)
def test_an_equality_that_cannot_fail_or_never_looks_at_the_other_blocks(result: str) -> None:
    assert weights(always_equal, {"app.py": f"class A:\n    def __eq__(self, other):\n        {result}\n"}) == ["block"]


@pytest.mark.parametrize(
    "result",
    [
        "return self.x == other.x",
        "return self is other",
        "return False",
        "raise TypeError('not comparable')",
        "if not isinstance(other, A):\n            return NotImplemented\n        return True",
        "return isinstance(other, A)",
        "return self.x == other.x or (self.x != self.x and other.x != other.x)",
        "return not self != other",
        "if self.x == other.x:\n            return True",
        "for one in other.xs:\n            if one in self.xs:\n                return True",
    ],
)
def test_an_equality_that_may_fail_passes(result: str) -> None:
    assert findings(always_equal, {"app.py": f"class A:\n    def __eq__(self, other):\n        {result}\n"}) == []


def test_an_inequality_that_never_holds_blocks_and_one_by_equality_passes() -> None:
    method = "class A:\n    def __ne__(self, other):\n        return {}\n"
    assert weights(always_equal, {"app.py": method.format("0")}) == ["block"]
    assert weights(always_equal, {"app.py": method.format("self.x != self.x")}) == ["block"]
    assert findings(always_equal, {"app.py": method.format("not self == other")}) == []


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("src/main/java/A.java", "public boolean equals(Object other) {\n    return this.x == this.x;\n}\n", ["block"]),
        ("src/main/java/A.java", "public boolean equals(Object other) {\n    return other instanceof Object;\n}\n", ["block"]),
        ("src/main/java/A.java", "public boolean equals(Object other) {\n    return this.x == other.x;\n}\n", []),
        ("src/main/java/A.java", "public boolean equals(Object other) {\n    return other instanceof A;\n}\n", []),
        ("lib/a.rb", "def ==(other)\n  @x == @x\nend\n", ["block"]),
        ("lib/a.rb", "def ==(other)\n  x == other.x\nend\n", []),
        ("src/lib.rs", "fn eq(&self, other: &Self) -> bool {\n    self.x == self.x\n}\n", ["block"]),
        ("src/lib.rs", "fn eq(&self, other: &Self) -> bool {\n    self.x == self.xs.len()\n}\n", []),
    ],
)
def test_what_compares_with_itself_blocks_in_other_languages_too(path: str, source: str, found: list[str]) -> None:
    assert weights(always_equal, {path: source}) == found


def _equality(*lines: str) -> str:
    return "class A:\n    def __eq__(self, o):\n" + "".join(f"        {line}\n" for line in lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("match o:", "    case _:", "        return True"),
        ("match o:", "    case A():", "        return True", "    case other:", "        return True"),
        ("match o:", "    case (int() | _) as other:", "        return True"),
        ("match o:", "    case object():", "        return True"),
        ("match o:", "    case _ if True:", "        return True"),
        ("while True:", "    return True"),
        ("while 1:", "    for part in o:", "        break", "    if o:", "        return True"),
        ("if True:", "    return True"),
        ("if False:", "    pass", "else:", "    return True"),
        ("for part in o:", "    pass", "else:", "    return True"),
        ("try:", "    return True", "except* ValueError:", "    raise"),
        ("return True", "self.seen = o"),
    ],
)
def test_an_equality_that_holds_on_every_way_through_it_blocks(lines: tuple[str, ...]) -> None:
    assert weights(always_equal, {"app.py": _equality(*lines)}) == ["block"]


@pytest.mark.parametrize(
    "lines",
    [
        ("match o:", "    case A():", "        return True"),
        ("match o:", "    case A(x=_):", "        return True"),
        ("match o:", "    case [_]:", "        return True"),
        ("match o:", "    case _ if o.x == self.x:", "        return True"),
        ("match o:", "    case A():", "        pass", "    case _:", "        return True"),
        ("match o:", "    case A():", "        return self.x == o.x", "    case _:", "        return True"),
        ("while o.x != self.x:", "    return True"),
        ("while True:", "    if o.x == self.x:", "        return True", "    break"),
        ("while True:", "    for part in o:", "        pass", "    else:", "        break", "    return True"),
        ("for part in o:", "    if part == self.x:", "        return True"),
        ("for part in o:", "    break", "else:", "    return True"),
        ("if o.x == self.x:", "    return True"),
        ("if o.x == 1:", "    return True", "elif o.x == 2:", "    return True"),
    ],
)
def test_an_equality_that_may_run_on_to_its_end_passes(lines: tuple[str, ...]) -> None:
    assert blocked(always_equal, {"app.py": _equality(*lines)}) == []


@pytest.mark.parametrize("terms", [330, 900])
def test_a_long_sum_that_is_compared_with_itself_blocks(terms: int) -> None:
    one = " + ".join(["self.x"] * terms)
    assert weights(always_equal, {"app.py": _equality(f"return {one} == {one}")}) == ["block"]
    assert blocked(always_equal, {"app.py": _equality(f"return {one} == {one} + o.x")}) == []


def test_a_long_chain_of_conditions_is_read_to_its_end() -> None:
    chain = [line for n in range(1500) for line in (f"elif o == {n}:", "    return True")]
    start = ("if not o:", "    return True", *chain)
    assert weights(always_equal, {"app.py": _equality(*start, "else:", "    return True")}) == ["block"]
    assert blocked(always_equal, {"app.py": _equality(*start)}) == []
