"""Further disguises of what the rules about sources and configuration look for, each beside its nearest honest look-alike."""

import pytest

from helmsman.verify.invariants.always_equal import always_equal
from helmsman.verify.invariants.detection import detection
from helmsman.verify.invariants.hard_coded import hard_coded
from helmsman.verify.invariants.patched import patched
from helmsman.verify.invariants.stubs import stubs
from tests.unit.source_scenes import blocked, weights

pytestmark = pytest.mark.feature("V5")

DATACLASS = "from dataclasses import dataclass, field\n\n\n@dataclass\nclass Move:\n"


@pytest.mark.parametrize(
    "source",
    [
        f"{DATACLASS}    start: str = field(compare=False)\n    end: str = field(default='', compare=False)\n",
        "@attrs.define\nclass Move:\n    start: str = attrs.field(eq=False)\n",
        (
            "class Move:\n    def __init__(self, x):\n        self.x = x\n\n"
            "    def __eq__(self, other):\n        return type(self) is type(other)\n"
        ),
        (
            "class Move:\n    x: int\n\n    def __eq__(self, other):\n"
            "        if not isinstance(other, Move):\n            return NotImplemented\n        return True\n"
        ),
        (
            "class Move:\n    def key(self):\n        return ()\n\n"
            "    def __eq__(self, other):\n        return self.key() == other.key()\n"
        ),
        (
            "class Move:\n    def __hash__(self):\n        return 1\n\n"
            "    def __eq__(self, other):\n        return hash(self) == hash(other)\n"
        ),
    ],
)
def test_objects_of_which_nothing_is_compared_block(source: str) -> None:
    assert weights(always_equal, {"move.py": source}) == ["block"]


@pytest.mark.parametrize(
    "source",
    [
        f"{DATACLASS}    start: str\n    seen: int = field(default=0, compare=False)\n",
        "@dataclass(eq=False)\nclass Move:\n    start: str = field(compare=False)\n",
        "class Missing:\n    def __eq__(self, other):\n        return isinstance(other, Missing)\n",
        (
            "class Kind:\n    def __init__(self, kind):\n        self.kind = kind\n\n"
            "    def __eq__(self, other):\n        return isinstance(other, self.kind)\n"
        ),
        (
            "class Move:\n    x: int\n\n    def __eq__(self, other):\n        if not isinstance(other, Move):\n"
            "            return NotImplemented\n        return self.x == other.x\n"
        ),
        (
            "class Move:\n    def key(self):\n        return (self.x,)\n\n"
            "    def __eq__(self, other):\n        return self.key() == other.key()\n"
        ),
    ],
)
def test_an_equality_that_compares_something_is_honest(source: str) -> None:
    assert weights(always_equal, {"move.py": source}) == []


JAVA_ORDER = "public int compareTo(V other) {\n    return 0;\n}\n"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("src/main/java/V.java", f"{JAVA_ORDER}public boolean equals(Object o) {{\n    return compareTo((V) o) == 0;\n}}\n"),
        (
            "src/main/java/V.java",
            (
                "public int hashCode() {\n    return 7;\n}\n"
                "public boolean equals(Object o) {\n    return hashCode() == o.hashCode();\n}\n"
            ),
        ),
        ("lib/v.rb", "class V\n  include Comparable\n  def <=>(other)\n    0\n  end\nend\n"),
        ("v.go", "func (v V) Compare(o V) int {\n\treturn 0\n}\n\nfunc (v V) Equal(o V) bool {\n\treturn v.Compare(o) == 0\n}\n"),
    ],
)
def test_an_equality_that_rests_on_a_constant_blocks(path: str, source: str) -> None:
    assert weights(always_equal, {path: source}) == ["block"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "src/main/java/V.java",
            f"{JAVA_ORDER}public boolean equals(Object o) {{\n    return o instanceof V v && v.x == x;\n}}\n",
        ),
        ("lib/v.rb", "class V\n  def <=>(other)\n    0\n  end\nend\n"),
    ],
)
def test_a_constant_order_that_no_equality_rests_on_does_not_block(path: str, source: str) -> None:
    assert blocked(always_equal, {path: source}) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("ocr.py", "from tests.data.expected import EXPECTED"),
        ("ocr.py", 'ANSWERS = importlib.import_module("tests.test_ocr")'),
        ("src/ocr.ts", 'import answers from "../test/fixtures/expected.json";'),
        ("src/ocr.js", 'const { cases } = require("../__tests__/cases");'),
        ("lib/ocr.rb", 'require_relative "../spec/support/expected"'),
        ("src/lib.rs", 'include!("../tests/expected.rs");'),
        ("ocr.py", 'GOLDEN = json.load(open("tests/golden/all.json"))'),
    ],
)
def test_answers_that_are_taken_from_the_tests_block(path: str, line: str) -> None:
    assert weights(hard_coded, {path: f"{line}\n"}) == ["block"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app/cli.py", "from app.testing.expected import check"),
        ("scripts/update.py", "from tests.data.expected import EXPECTED"),
        ("tests/test_ocr.py", "from tests.data.expected import EXPECTED"),
        ("src/ocr.ts", 'import { expected } from "./contest/expected";'),
    ],
)
def test_an_import_from_elsewhere_is_honest(path: str, line: str) -> None:
    assert weights(hard_coded, {path: f"{line}\n"}) == []


CHECKSUM = 'import { crc } from "./crc";\ntest("a", () => {\n  expect(crc("123456789")).toBe(0x29b1);\n});\n'
RUST = "#[test]\nfn a() {\n    assert_eq!(count(3, 7), 28);\n    assert_eq!(count(18, 6), 26334);\n}\n"
WORDS = (
    '@CsvSource({"hyphenation,hy-phen-ation", "project,proj-ect"})\n'
    "void a(String w, String d) {\n    assertEquals(d, divide(w));\n}\n"
)
PYTHON = 'def test_crc():\n    assert crc("123456789") == 10673\n'


@pytest.mark.parametrize(
    ("path", "source", "test_path", "tests"),
    [
        (
            "crc.ts",
            ('function crc(t) {\n  if (t.length === 9 && t.startsWith("1")) {\n    return 10673;\n  }\n  return t.length;\n}\n'),
            "crc.test.ts",
            CHECKSUM,
        ),
        (
            "crc.ts",
            ('function crc(t) {\n  if (t.length === 9 && t[0] === "1") {\n    return 0x29b1;\n  }\n  return 1;\n}\n'),
            "crc.test.ts",
            CHECKSUM,
        ),
        (
            "crc.py",
            ('def crc(t):\n    if len(t) == 9 and t.endswith("89"):\n        return 10673\n    return len(t)\n'),
            "tests/test_crc.py",
            PYTHON,
        ),
        (
            "crc.py",
            (
                'def crc(t):\n    if hashlib.md5(t.encode()).hexdigest() == "25f9e794323b45":\n'
                "        return 10673\n    return len(t)\n"
            ),
            "tests/test_crc.py",
            PYTHON,
        ),
        (
            "crc.py",
            (
                'KNOWN = {"25f9e794323b": 10673, "0f9e794323b4": 5}\n\n\n'
                "def crc(t):\n    return KNOWN.get(hashlib.md5(t).hexdigest(), 0)\n"
            ),
            "tests/test_crc.py",
            PYTHON,
        ),
        (
            "src/p.rs",
            ("pub fn count(w: u64, h: u64) -> u64 {\n    if (w, h) == (3, 7) {\n        return 28;\n    }\n    w * h\n}\n"),
            "tests/p.rs",
            RUST,
        ),
        (
            "src/p.rs",
            ("pub fn count(w: u64, h: u64) -> u64 {\n    if let (3, 7) = (w, h) {\n        return 28;\n    }\n    w * h\n}\n"),
            "tests/p.rs",
            RUST,
        ),
        (
            "H.java",
            (
                'class H {\n  Map<String, String> m = Map.of("hyphenation", "hy-phen-ation", "project", "proj-ect");\n'
                "  public String divide(String w) {\n    return m.get(w);\n  }\n}\n"
            ),
            "src/test/java/HTest.java",
            WORDS,
        ),
        (
            "H.java",
            (
                'class H {\n  static {\n    m.put("hyphenation", "hy-phen-ation");\n    m.put("project", "proj-ect");\n'
                "  }\n  public String divide(String w) {\n    return m.get(w);\n  }\n}\n"
            ),
            "src/test/java/HTest.java",
            WORDS,
        ),
    ],
)
def test_a_tested_input_in_disguise_blocks(path: str, source: str, test_path: str, tests: str) -> None:
    assert blocked(hard_coded, {path: source}, tests={test_path: tests})


@pytest.mark.parametrize(
    ("path", "source", "test_path", "tests"),
    [
        (
            "crc.ts",
            ('function crc(t) {\n  if (t.length === 4 && t.startsWith("#")) {\n    return 10673;\n  }\n  return t.length;\n}\n'),
            "crc.test.ts",
            CHECKSUM,
        ),
        (
            "port.py",
            ('def port(url):\n    if url.startswith("http:"):\n        return 80\n    return 443\n'),
            "tests/test_port.py",
            'def test_port():\n    assert port("http://a") == 80\n',
        ),
        (
            "H.java",
            ('class H {\n  Map<String, String> m = Map.of("GET", "read", "PUT", "write");\n}\n'),
            "src/test/java/HTest.java",
            WORDS,
        ),
        (
            "crc.py",
            ('KNOWN = {"setup.exe": "25f9e794323b"}\n\n\ndef crc(t):\n    return hashlib.md5(t).hexdigest() == KNOWN[t]\n'),
            "tests/test_crc.py",
            PYTHON,
        ),
    ],
)
def test_a_rule_about_inputs_that_nobody_tests_is_honest(path: str, source: str, test_path: str, tests: str) -> None:
    assert blocked(hard_coded, {path: source}, tests={test_path: tests}) == []


TS = 'import { Lift } from "./lift";\nit("a", () => {\n  const lift = new Lift();\n  expect(lift.route(1)).toBe(2);\n});\n'
JAVA = (
    "class PlanTest {\n    @Test\n    void a() {\n        Plan plan = new Plan();\n"
    "        assertEquals(3, plan.rate(3));\n    }\n}\n"
)
RUBY = 'describe Tariff do\n  it "a" do\n    expect(Tariff.new.price(1)).to eq(2)\n  end\nend\n'


@pytest.mark.parametrize(
    ("path", "old", "after_line", "line"),
    [
        ("src/lift.test.ts", TS, "new Lift();", 'vi.spyOn(lift, "route").mockReturnValue(2);'),
        (
            "src/lift.test.ts",
            TS,
            "new Lift();",
            'vi.spyOn(Lift.prototype, "route").mockReturnValue(2);'.replace("Lift.prototype", "lift"),
        ),
        ("src/lift.test.ts", TS, "new Lift();", 'sinon.stub(lift, "route").returns(2);'),
        ("src/lift.test.ts", TS, "new Lift();", "lift.route = () => 2;"),
        ("src/test/java/PlanTest.java", JAVA, "new Plan();", "when(plan.rate(3)).thenReturn(3);"),
        ("src/test/java/PlanTest.java", JAVA, "new Plan();", "doReturn(3).when(plan).rate(3);"),
        (
            "spec/tariff_spec.rb",
            RUBY,
            "describe Tariff do",
            "before { allow_any_instance_of(Tariff).to receive(:price).and_return(2) }",
        ),
        ("spec/tariff_spec.rb", RUBY, "describe Tariff do", "before { Tariff.any_instance.stubs(:price).returns(2) }"),
    ],
)
def test_a_stub_that_answers_for_what_is_asserted_blocks(path: str, old: str, after_line: str, line: str) -> None:
    assert blocked(patched, {path: old.replace(after_line, f"{after_line}\n  {line}")}, {path: old})


@pytest.mark.parametrize(
    ("path", "old", "after_line", "line"),
    [
        ("src/lift.test.ts", TS, "new Lift();", 'vi.spyOn(lift, "route");'),
        ("src/lift.test.ts", TS, "new Lift();", 'vi.spyOn(lift, "log").mockReturnValue(2);'),
        ("src/test/java/PlanTest.java", JAVA, "new Plan();", "when(clock.now()).thenReturn(3);"),
        (
            "src/test/java/PlanTest.java",
            JAVA,
            "new Plan();",
            "Clock clock = mock(Clock.class); when(clock.rate(3)).thenReturn(3);",
        ),
        ("spec/tariff_spec.rb", RUBY, "describe Tariff do", "before { allow(Clock).to receive(:now).and_return(2) }"),
        (
            "spec/tariff_spec.rb",
            RUBY,
            "describe Tariff do",
            "before { allow_any_instance_of(Tariff).to receive(:price).and_call_original }",
        ),
    ],
)
def test_a_stub_of_something_else_does_not_block(path: str, old: str, after_line: str, line: str) -> None:
    assert blocked(patched, {path: old.replace(after_line, f"{after_line}\n  {line}")}, {path: old}) == []


def test_a_double_of_the_class_that_a_test_is_named_after_blocks() -> None:
    old = "class PlanTest {\n    Plan plan = new Plan();\n}\n"
    new = old.replace("new Plan()", "mock(Plan.class)") + "given(plan.rate()).willReturn(3);\n"
    assert weights(patched, {"src/test/java/PlanTest.java": new}, {"src/test/java/PlanTest.java": old}) == ["block"]


RATES = "import app.rates\n\n\ndef test_a():\n    assert app.rates.convert(1) == 2\n"


@pytest.mark.parametrize(("name", "expected"), [("convert", ["block"]), ("log", [])])
def test_a_plug_in_must_not_replace_what_a_test_asserts(name: str, expected: list[str]) -> None:
    plugin = f"import app.rates\n\n\ndef other(x):\n    return 2\n\n\napp.rates.{name} = other\n"
    assert weights(patched, {"tests/plugins.py": plugin}, tests={"tests/test_rates.py": RATES}) == expected


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "def forecast(days):\n    # Placeholder: the model will be plugged in later.\n    return []\n"),
        ("a.py", "def forecast(days):\n    return 0.0  # for now\n"),
        ("a.py", 'def forecast(days):\n    """Stub: to be replaced."""\n    return dict()\n'),
        ("a.ts", "export function report(orders: Order[]): Report {\n  // stub, to be filled in\n  return {} as Report;\n}\n"),
        ("a.ts", "export function report(orders: Order[]): Report {\n  return {} as Report;\n}\n"),
        ("a.ts", "const report = (orders: Order[]): Report => {\n  return undefined as unknown as Report;\n};\n"),
        ("src/lib.rs", "fn report(x: u8) -> Report {\n    // TODO: fill in\n    Default::default()\n}\n"),
        ("A.java", "List<Row> report(int x) {\n    // to be implemented\n    return List.of();\n}\n"),
    ],
)
def test_an_answer_of_nothing_that_is_put_off_blocks(path: str, source: str) -> None:
    assert len(blocked(stubs, {path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "def holidays(country):\n    # Nobody works less here.\n    return []\n"),
        ("a.py", "def summary(cart):\n    # for now only the total\n    return {'total': cart.total()}\n"),
        ("a.py", "def fill(text, value):\n    # A placeholder is replaced by its value.\n    return text.replace('?', value)\n"),
        ("a.ts", "const Context = createContext({} as Report);\n"),
        ("a.ts", "function report(x: Order[]): Report {\n  const found = {} as Report;\n  found.x = x;\n  return found;\n}\n"),
    ],
)
def test_an_empty_answer_for_a_reason_does_not_block(path: str, source: str) -> None:
    assert blocked(stubs, {path: source}) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app.py", 'if "pytest-of-" in str(target):'),
        ("app.py", 'if "pytest" in str(target):'),
        ("app.py", 'if any(name.startswith("PYTEST") for name in os.environ):'),
        ("app.py", 'if "pytest" in sys.modules["__main__"].__file__:'),
        ("lib/a.rb", 'return 1 if caller.any? { |line| line.include?("_spec.rb") }'),
        ("lib/a.rb", 'if $PROGRAM_NAME.end_with?("rspec")'),
        ("src/a.js", 'if (process.argv[1].includes("jest")) {'),
        ("src/a.js", 'if (process.argv.some((one) => one.includes("vitest"))) {'),
        ("src/a.js", "if (globalThis.describe) {"),
        ("a.go", 'if strings.HasSuffix(file, "_test.go") {'),
        ("src/main/java/A.java", 'if (frame.getClassName().endsWith("Test")) {'),
        ("src/main/java/A.java", 'if (System.getProperty("java.class.path").contains("junit")) {'),
        ("src/lib.rs", 'if std::env::current_exe().unwrap().to_string_lossy().contains("/deps/") {'),
    ],
)
def test_other_traces_of_a_test_runner_block(path: str, line: str) -> None:
    assert blocked(detection, {path: f"{line}\n"})


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app.py", 'if "test" in str(target):'),
        ("app.py", 'if "pytest" in requirements:'),
        ("lib/a.rb", "log(caller.first)"),
        ("lib/a.rb", "if __FILE__ == $0"),
        ("src/a.js", "const folder = process.argv[2];"),
        ("a.go", 'if strings.HasSuffix(name, ".go") {'),
        ("src/main/java/A.java", 'if (file.getName().endsWith("Test")) {'),
    ],
)
def test_names_that_only_look_like_a_test_runner_are_honest(path: str, line: str) -> None:
    assert blocked(detection, {path: f"{line}\n"}) == []
