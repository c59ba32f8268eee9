"""A large, honest, generated diff: 5,000 changed lines in 300 files of several languages, tests among them."""

from collections.abc import Callable

from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.scene import Scene

FILES = 300
"""A multiple of the number of kinds, so that every edition is alike."""
FUNCTIONS = 20
"""Functions of each file; eight or nine of them change by one line."""

Writer = Callable[[int, int, int], str]
"""One function of a file, from the number of the file, its own number and a value that the change alters."""


def _python(file: int, number: int, value: int) -> str:
    return f"def step_{file}_{number}(x):\n    if x > {number}:\n        return x - {value}\n    return x + {number}\n\n\n"


def _pytest(file: int, number: int, value: int) -> str:
    call = f"step_{file - 1}_{number}({number + 1})"
    return f"def test_step_{file - 1}_{number}():\n    result = {call}\n    assert result == {number + 1 - value}\n\n\n"


def _typescript(file: int, number: int, value: int) -> str:
    return f"export function step{file}x{number}(x: number): number {{\n  const limit = {value};\n  return x - limit;\n}}\n\n"


def _vitest(file: int, number: int, value: int) -> str:
    return f'it("takes step {file - 1} {number}", () => {{\n  expect(step{file - 1}x{number}(0)).toBe({-value});\n}});\n\n'


def _go(file: int, number: int, value: int) -> str:
    return f"func Step{file}x{number}(x int) int {{\n\tlimit := {value}\n\treturn x - limit\n}}\n\n"


def _go_test(file: int, number: int, value: int) -> str:
    got = f"got := Step{file - 1}x{number}(0); got != {-value}"
    return f'func TestStep{file - 1}x{number}(t *testing.T) {{\n\tif {got} {{\n\t\tt.Errorf("got %d", got)\n\t}}\n}}\n\n'


def _rust(file: int, number: int, value: int) -> str:
    return f"pub fn step_{file}_{number}(x: i64) -> i64 {{\n    let limit = {value};\n    x - limit\n}}\n\n"


def _rust_test(file: int, number: int, value: int) -> str:
    return f"#[test]\nfn steps_{file - 1}_{number}() {{\n    assert_eq!(step_{file - 1}_{number}(0), {-value});\n}}\n\n"


def _java(file: int, number: int, value: int) -> str:
    body = f"        int limit = {value};\n        return x - limit;\n"
    return f"class Step{file}x{number} {{\n    int take(int x) {{\n{body}    }}\n}}\n\n"


def _markdown(file: int, number: int, value: int) -> str:
    return f"## Step {file}.{number}\n\nTakes {value} from what it is given.\n\n"


KINDS: tuple[tuple[str, Writer], ...] = (
    ("src/part{}.py", _python),
    ("tests/test_part{}.py", _pytest),
    ("web/part{}.ts", _typescript),
    ("web/part{}.test.ts", _vitest),
    ("go/part{}.go", _go),
    ("go/part{}_test.go", _go_test),
    ("rust/src/part{}.rs", _rust),
    ("rust/tests/part{}.rs", _rust_test),
    ("java/src/main/java/Part{}.java", _java),
    ("docs/part{}.md", _markdown),
)
"""Paths and writers; a test follows what it tests, so it is the file before it that it calls."""


def large_scene(edition: int = 0) -> Scene:
    """What a rule gets to see of the large diff. Editions have no path or text in common: nothing is remembered."""
    files = tuple(_file(number) for number in range(edition * FILES, (edition + 1) * FILES))
    commands = ("pytest -q", "npm test", "go test ./...", "cargo test")
    return Scene(diff=TreeDiff(files), paths=frozenset(file.path for file in files), commands=commands)


def changed_lines(scene: Scene) -> int:
    return sum(len(file.added) + len(file.removed) for file in scene.diff)


def _file(number: int) -> FileDiff:
    path, writer = KINDS[number % len(KINDS)]
    changed = 8 + (number % FILES // len(KINDS) % 3 == 0)
    before = "".join(writer(number, function, 1000 + function) for function in range(FUNCTIONS))
    after = "".join(writer(number, function, 1000 + function + (function < changed)) for function in range(FUNCTIONS))
    return FileDiff(path=path.format(number), before=before, after=after)
