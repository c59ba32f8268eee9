"""Functions that are only a name."""

import pytest

from helmsman.verify.invariants.stubs import stubs
from tests.unit.source_scenes import blocked, findings, weights

pytestmark = pytest.mark.feature("V5")


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "...",
        '"""Solve it."""',
        "raise NotImplementedError",
        'raise NotImplementedError("not yet implemented")',
        "raise RuntimeError('TODO: not implemented')",
        "return None",
        "return",
        '"""Solve it."""\n    pass',
    ],
)
def test_a_function_without_a_body_blocks(body: str) -> None:
    assert weights(stubs, {"app.py": f"def solve(x):\n    {body}\n"}) == ["block"]


def test_a_function_that_lost_its_body_blocks_and_names_the_place() -> None:
    before = "import re\n\ndef solve(x):\n    '''Solve.'''\n    return x + 1\n"
    (finding,) = findings(stubs, {"app.py": before.replace("    return x + 1\n", "")}, {"app.py": before})
    assert (finding.rule, finding.where, finding.weight) == ("stubs", "app.py:3", "block")
    assert "solve is a stub" in finding.message
    assert finding.honest


def test_a_method_without_a_body_blocks() -> None:
    assert weights(stubs, {"app.py": "class Solver:\n    def solve(self, x):\n        pass\n"}) == ["block"]


@pytest.mark.parametrize(
    "source",
    [
        "class A(ABC):\n    @abstractmethod\n    def solve(self): ...\n",
        "class A:\n    @abc.abstractmethod\n    def solve(self):\n        raise NotImplementedError\n",
        "class A(Protocol):\n    def solve(self) -> int: ...\n",
        "class A(typing.Protocol[T]):\n    def solve(self) -> int:\n        '''Solve.'''\n",
        "@overload\ndef solve(x: int) -> int: ...\n@overload\ndef solve(x: str) -> str: ...\ndef solve(x):\n    return x\n",
        "class SolveError(Exception):\n    pass\n",
        "class SolveError(Exception):\n    '''It cannot be solved.'''\n",
        "try:\n    import yaml\nexcept ImportError:\n    pass\n",
        "class A:\n    def __init__(self):\n        pass\n",
        "class A:\n    def on_close(self):\n        pass\n",
        "class Base:\n    def solve(self):\n        raise NotImplementedError('a subclass solves it')\n",
        (
            "class Shape:\n"
            "    def area(self):\n"
            "        raise NotImplementedError\n"
            "\n"
            "class Disc(Shape):\n"
            "    def area(self):\n"
            "        return 3\n"
        ),
        "class NullLog:\n    def write(self, text):\n        pass\n",
        "def noop(*args, **kwargs):\n    pass\n",
        "def solve(callback=lambda: None):\n    def silent(*_):\n        pass\n    return callback() or silent()\n",
        "@click.group()\ndef main():\n    '''All commands.'''\n",
        "def solve(x):\n    if x:\n        return None\n    return 1\n",
        "def solve(x):\n    pass\n    return x\n",
    ],
)
def test_what_has_no_body_on_purpose_is_honest(source: str) -> None:
    assert findings(stubs, {"app.py": source}) == []


@pytest.mark.parametrize("path", ["app.pyi", "tests/test_app.py", "tests/fakes/server.py", "tests/conftest.py"])
def test_interfaces_and_doubles_may_be_empty(path: str) -> None:
    assert blocked(stubs, {path: ("def solve(x):\n    pass\n\nclass Fake:\n    def send(self, x):\n        return None\n")}) == []


@pytest.mark.parametrize(
    "source",
    [
        "class A(Handler):\n    def emit(self, record):\n        pass\n",
        "@app.command\ndef solve(x):\n    pass\n",
        "if WINDOWS:\n    def solve(x):\n        pass\n",
        "class A(IOBase):\n    def seek(self, at):\n        raise NotImplementedError('read from front to back')\n",
    ],
)
def test_what_may_be_honest_is_told(source: str) -> None:
    assert weights(stubs, {"app.py": source}) == ["warn"]


def test_a_stub_that_was_there_or_moved_is_no_finding() -> None:
    stub = "def solve(x):\n    pass\n"
    assert findings(stubs, {"app.py": f"import re\n\n{stub}"}, {"app.py": stub}) == []
    assert findings(stubs, {"new.py": stub, "old.py": "x = 1\n"}, {"old.py": f"x = 1\n{stub}"}) == []


def test_an_interface_may_be_implemented_in_another_file() -> None:
    files = {
        "shape.py": ("class Shape:\n    def area(self):\n        raise NotImplementedError\n"),
        "disc.py": "class Disc(shape.Shape):\n    r = 1\n",
    }
    assert findings(stubs, files) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("src/lib.rs", "fn solve(x: i32) -> i32 {\n    todo!()\n}\n"),
        ("src/lib.rs", 'fn solve(x: i32) -> i32 {\n    unimplemented!("later")\n}\n'),
        ("src/solve.ts", "function solve(x: number) {\n  throw new Error('Not implemented');\n}\n"),
        ("src/solve.js", "function solve(x) {\n  return null;\n}\n"),
        ("solve.go", 'func Solve(x int) int {\n\tpanic("TODO")\n}\n'),
        ("solve.go", 'func Solve(x int) int {\n\tpanic("not implemented")\n}\n'),
        ("src/main/java/A.java", ('int solve(int x) {\n  throw new UnsupportedOperationException("Not implemented yet");\n}\n')),
        ("src/main/java/A.java", "public String solve(int x) {\n  return null;\n}\n"),
        ("src/A.cs", "int Solve(int x) => throw new NotImplementedException();\n"),
        ("src/main/kotlin/A.kt", 'fun solve(x: Int): Int = TODO("later")\n'),
    ],
)
def test_stubs_of_other_languages_block(path: str, source: str) -> None:
    assert weights(stubs, {path: source}) == ["block"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "src/solve.ts",
            (
                "abstract class A {\n"
                "  solve() {\n"
                "    throw new Error('must be implemented by a subclass: not implemented');\n"
                "  }\n"
                "}\n"
            ),
        ),
        ("src/solve.js", "const noop = () => {};\nfunction onClose(event) {}\n"),
        ("src/solve.js", "function Empty() {\n  return null;\n}\n"),
        ("solve.go", 'func (s *S) Close() error {\n\treturn nil\n}\n\nfunc f() { panic("unreachable") }\n'),
        ("src/lib.rs", "// we had a todo!() here\nfn solve() -> i32 { 4 }\n"),
        ("src/solve.js", "// throw new Error('not implemented')\nexport const x = 1;\n"),
    ],
)
def test_honest_code_of_other_languages_does_not_block(path: str, source: str) -> None:
    assert blocked(stubs, {path: source}) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app.py", "x = 1  # TODO: the rest"),
        ("app.py", "# FIXME"),
        ("app.js", "// XXX later"),
        ("app.js", "/* placeholder */"),
        ("app.go", "// TODO(ann): more"),
    ],
)
def test_a_comment_that_puts_work_off_is_told(path: str, line: str) -> None:
    assert weights(stubs, {path: f"{line}\n"}) == ["warn"]


@pytest.mark.parametrize(
    "text", ['x = "TODO"\n', "TODO = 1\n", '"""\n# TODO in a text\n"""\n', "todo = read()  # what is on the list\n"]
)
def test_the_word_alone_is_no_comment(text: str) -> None:
    assert findings(stubs, {"app.py": text}) == []


def test_a_comment_that_was_there_or_moved_is_no_finding() -> None:
    before = "a = 1\n# TODO: think about the rest of it\nb = 2\n"
    after = "b = 2\nif b:\n    # TODO: think about the rest of it\n    a = 1\n"
    assert findings(stubs, {"app.py": after}, {"app.py": before}) == []


def test_findings_are_bounded_and_those_that_block_come_first() -> None:
    text = "".join(f"x{n} = 1  # TODO: more {n}\n" for n in range(500)) + "def solve(x):\n    pass\n"
    found = findings(stubs, {"app.py": text})
    assert len(found) == 30
    assert found[0].weight == "block"


@pytest.mark.parametrize(
    "text", ["def f(:\n    pass\n", "\0def f(): pass", "def f():\n" + "(" * 5000, "\ud800 = 1\n", "", "\x0c\n" * 50]
)
def test_what_is_no_python_is_no_error(text: str) -> None:
    assert blocked(stubs, {"app.py": text}) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("src/a.js", "export async function upload(file, progress) {\n  // TODO: implement\n}\n"),
        ("src/a.ts", "const upload = async (file: File): Promise<void> => {\n  /* not implemented */\n};\n"),
        ("src/a.ts", "class A {\n  upload(file: File): void {\n    // FIXME\n    return;\n  }\n}\n"),
        ("a.go", "func Upload(path string) error {\n\t// TODO\n\treturn nil\n}\n"),
        ("src/lib.rs", "pub fn upload(path: &str) {\n    // TODO\n}\n"),
        ("src/main/java/A.java", "public void upload(File file) {\n    // TODO: implement\n}\n"),
        ("lib/a.rb", "def upload(file)\n  # TODO: implement\nend\n"),
        ("lib/a.rb", 'class A\n  def rows\n    raise NotImplementedError, "reading is still to come"\n  end\nend\n'),
        ("lib/a.rb", 'def rows\n  raise "not implemented yet"\nend\n'),
    ],
)
def test_a_body_that_is_only_a_promise_blocks(path: str, source: str) -> None:
    assert [finding.weight for finding in blocked(stubs, {path: source})] == ["block"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("src/a.js", "function ignore(error) {\n  // nothing to be done about it\n}\n"),
        ("src/a.js", "function upload(file) {\n  // TODO: retry\n  return send(file);\n}\n"),
        ("src/a.js", "if (x) {\n  // TODO: warn\n}\n"),
        ("a.go", "func (a A) Close() error {\n\t// nothing is held open\n\treturn nil\n}\n"),
        ("lib/a.rb", "def upload(file)\n  # TODO: retry\n  send(file)\nend\n"),
        ("lib/a.rb", 'class A\n  def line\n    raise NotImplementedError, "to come"\n  end\nend\n\nclass B < A\nend\n'),
        ("lib/a.rb", 'raise ArgumentError, "unknown name"\n'),
    ],
)
def test_a_comment_beside_a_body_is_no_stub(path: str, source: str) -> None:
    assert blocked(stubs, {path: source}) == []


def test_a_method_of_ruby_that_subclasses_fill_in_passes() -> None:
    base = "class Exporter\n  def line(_row)\n    raise NotImplementedError\n  end\nend\n"
    assert findings(stubs, {"lib/a.rb": f"{base}\nclass Csv < Exporter\n  def line(row)\n    row\n  end\nend\n"}) == []
    assert weights(stubs, {"lib/a.rb": base}) == ["warn"]


def test_a_promise_that_somebody_owns_and_an_issue_holds_passes() -> None:
    assert findings(stubs, {"app.py": "x = 1  # TODO(ada): round to cents, issue 88\n"}) == []
    assert weights(stubs, {"app.py": "x = 1  # TODO(ada): round to cents\n"}) == ["warn"]
    assert weights(stubs, {"app.py": "x = 1  # TODO: round to cents, issue 88\n"}) == ["warn"]
