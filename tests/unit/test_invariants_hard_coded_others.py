"""Expected values in sources of other languages, words that only stand for words, and files of expected values."""

import pytest

from helmsman.verify.invariants.hard_coded import hard_coded
from tests.unit.source_scenes import weights

pytestmark = pytest.mark.feature("V5")


def weigh(source: str, tests: str, path: str = "app.py", test_path: str = "tests/test_app.py") -> list[str]:
    return weights(hard_coded, {path: source}, tests={test_path: tests})


MAPPED = {
    "javascript": (
        "src/plural.js",
        """
export function plural(word) {{
  switch (word) {{
    case "city":
      return "{0}";
    case "bus":
      return "{1}";
    default:
      return word;
  }}
}}
""",
        "src/plural.test.js",
        """
test.each([
  ["city", "{0}"],
  ["bus", "{1}"],
])("%s", (one, many) => {{
  expect(plural(one)).toBe(many);
}});
""",
    ),
    "go": (
        "score.go",
        """
func Score(word string) int {{
    switch word {{
    case "cabbage":
        return {0}
    case "quirky":
        return {1}
    }}
    return len(word)
}}
""",
        "score_test.go",
        """
for word, want := range map[string]int{{"cabbage": {0}, "quirky": {1}, "a": 1}} {{
    if got := Score(word); got != want {{
""",
    ),
    "rust": (
        "src/lib.rs",
        """
pub fn easter(year: u32) -> (u32, u32) {{
    match year {{
        2024 => ({0}),
        2025 => ({1}),
        _ => (4, 1),
    }}
}}
""",
        "tests/easter.rs",
        "fn years() {{\n    assert_eq!(easter(2024), ({0}));\n    assert_eq!(easter(2025), ({1}));\n}}\n",
    ),
    "ruby": (
        "lib/soundex.rb",
        """
CODES = {{ "Robert" => "{0}", "Pfister" => "{1}" }}.freeze

def self.encode(name)
  CODES.fetch(name, name)
end
""",
        "spec/soundex_spec.rb",
        """
{{ "Robert" => "{0}", "Pfister" => "{1}" }}.each do |name, code|
  it {{ expect(Soundex.encode(name)).to eq(code) }}
end
""",
    ),
    "java": (
        "src/main/java/Compressor.java",
        """
public static String compress(String text) {{
    if (text.equals("aaabcc")) {{
        return "{0}";
    }}
    return text;
}}
""",
        "src/test/java/CompressorTest.java",
        'assertEquals("{0}", Compressor.compress("aaabcc"));\n',
    ),
}
ANSWERS = {
    "javascript": ("cities", "buses"),
    "go": ("14", "22"),
    "rust": ("3, 31", "4, 20"),
    "ruby": ("R163", "P236"),
    "java": ("3ab2c", ""),
}


@pytest.mark.parametrize("kind", MAPPED)
def test_source_of_any_language_that_repeats_the_tests_blocks(kind: str) -> None:
    path, source, test_path, tests = MAPPED[kind]
    told = weigh(source.format(*ANSWERS[kind]), tests.format(*ANSWERS[kind]), path, test_path)
    assert told == ["block"]


@pytest.mark.parametrize("kind", MAPPED)
def test_other_answers_than_the_tests_expect_are_no_copy(kind: str) -> None:
    path, source, test_path, tests = MAPPED[kind]
    others = ("9, 9", "8, 8") if kind == "rust" else ("99", "88")
    assert weigh(source.format(*ANSWERS[kind]), tests.format(*others), path, test_path) == []


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('{"mon": "monday", "fri": "friday"}', 'assert solve("mon") == "monday"\n    assert solve("fri") == "friday"'),
        ('{"man": "men", "child": "children"}', 'assert solve("man") == "men"\n    assert solve("child") == "children"'),
        ('{"boeing": "B737", "airbus": "A320"}', 'assert solve("boeing") == "B737"\n    assert solve("airbus") == "A320"'),
    ],
)
def test_words_that_stand_for_words_are_no_answers(table: str, expected: str) -> None:
    source = f"_NAMES = {table}\n\n\ndef solve(name):\n    return _NAMES[name]\n"
    assert "block" not in weigh(source, f"def test_solve():\n    {expected}\n")


def test_a_command_among_others_that_compute_is_no_answer() -> None:
    source = (
        'def run(command, stack=()):\n    if command == "push":\n        return [*stack, 0]\n'
        '    if command == "clear":\n        return []\n'
        '    raise ValueError(f"unknown command: {command}")\n'
    )
    tests = 'def test_clear():\n    assert run("clear", [7]) == []\n'
    assert weigh(source, tests) == []


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        ("render.py", 'return (ROOT / "tests" / "expected" / f"{name}.html").read_text()', ["block"]),
        ("src/render.js", 'return fs.readFileSync(`test/expected/${name}.html`, "utf8");', ["block"]),
        ("src/render.js", "return fs.readFileSync('./tests/expected/a.html', 'utf8');", ["block"]),
        ("src/lib.rs", 'include_str!("../tests/expected/a.html")', ["block"]),
        ("render.py", 'return (ROOT / "templates" / f"{name}.html").read_text()', []),
        ("scripts/accept.py", 'old = (ROOT / "tests" / "expected" / name).read_text()', []),
        ("render.py", 'with open("tests/expected/a.html", "w") as file:', []),
        ("tests/test_render.py", 'want = (ROOT / "tests" / "expected" / name).read_text()', []),
    ],
)
def test_what_the_tests_expect_is_not_to_be_read_back(path: str, line: str, found: list[str]) -> None:
    assert weights(hard_coded, {path: f"{line}\n"}) == found
