"""Source that behaves in another way while it is tested."""

import pytest

from helmsman.verify.invariants.detection import detection
from tests.unit.source_scenes import findings, weights

pytestmark = pytest.mark.feature("V5")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app.py", 'if "pytest" in sys.modules:'),
        ("app.py", "if 'unittest' in sys.modules:"),
        ("app.py", 'if sys.modules.get("pytest"):'),
        ("app.py", 'if os.environ.get("PYTEST_CURRENT_TEST"):'),
        ("app.py", 'if "PYTEST_CURRENT_TEST" in os.environ:'),
        ("app.py", 'if "pytest" in sys.argv[0]:'),
        ("app.py", 'if any("pytest" in word for word in sys.argv):'),
        ("app.py", 'if any(name.startswith("pytest") for name in sys.modules):'),
        ("app.py", 'if "pytest" not in sys.modules.keys():'),
        ("app.py", 'if hasattr(sys, "_called_from_test"):'),
        ("src/babel.py", 'if "pytest" in sys.modules:'),
        ("src/a.js", "if (process.env.JEST_WORKER_ID) {"),
        ("src/a.ts", "if (process.env.JEST_WORKER_ID !== undefined) {"),
        ("src/a.ts", "if (process.env.VITEST) {"),
        ("src/a.js", "if (typeof jest !== 'undefined') {"),
        ("src/a.js", "if (new Error().stack.includes('test')) {"),
        ("a.go", "if testing.Testing() {"),
        ("a.go", 'if flag.Lookup("test.v") != nil {'),
        ("a.go", 'if strings.HasSuffix(os.Args[0], ".test") {'),
        ("src/lib.rs", "if cfg!(test) {"),
        ("src/main/java/A.java", 'Class.forName("org.junit.Test");'),
        ("src/main/java/A.java", 'if (System.getProperty("basedir").contains("test-classes")) {'),
        ("lib/a.rb", "if defined?(RSpec)"),
        ("src/a.php", "if (defined('PHPUNIT_COMPOSER_INSTALL')) {"),
    ],
)
def test_asking_for_the_test_runner_blocks(path: str, line: str) -> None:
    (finding,) = findings(detection, {path: f"\n{line}\n"})
    assert (finding.rule, finding.weight, finding.where, finding.after) == ("test_detection", "block", f"{path}:2", line)


@pytest.mark.parametrize(
    "body",
    [
        'return 5 if any("test_" in frame.filename for frame in inspect.stack()) else x',
        'name = sys._getframe(1).f_code.co_filename\n    return 5 if "tests/" in name else x',
        'return 5 if "pytest" in str(traceback.extract_stack()) else x',
    ],
)
def test_looking_for_tests_on_the_stack_blocks(body: str) -> None:
    assert weights(detection, {"app.py": f"def solve(x):\n    {body}\n"}) == ["block"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/a.js", "if (process.env.NODE_ENV === 'test') {"),
        ("src/a.js", "const quiet = 'test' === process.env.NODE_ENV;"),
        ("lib/a.rb", "return if Rails.env.test?"),
        ("src/lib.rs", "#[cfg(not(test))]"),
        ("app.py", "if settings.TESTING:"),
        ("app.py", 'if "test" in sys.argv:'),
        ("app.py", "import pytest"),
    ],
)
def test_switches_that_frameworks_set_are_told(path: str, line: str) -> None:
    assert weights(detection, {path: f"{line}\n"}) == ["warn"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("app.py", '# "pytest" in sys.modules would be cheating\n'),
        ("app.py", '"""Never asks\nwhether "pytest" in sys.modules.\n"""\n'),
        ("app.py", "def caller():\n    return inspect.stack()[1].function\n"),
        ("app.py", "latest = 1\ntest = contest(latest)\n"),
        ("tests/conftest.py", 'import os\nname = os.environ["PYTEST_CURRENT_TEST"]\n'),
        ("tests/test_app.py", 'assert "pytest" in sys.modules\n'),
        ("jest.config.js", "const x = process.env.NODE_ENV === 'test';\n"),
        ("babel.config.js", "if (process.env.NODE_ENV === 'test') {}\n"),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"),
        ("app.py", 'PATTERN = r"\\b_called_from_test\\b"\n'),
        ("README.md", 'if "pytest" in sys.modules:\n'),
        ("src/a.js", "if (process.env.NODE_ENV === 'production') {\n"),
        ("src/a.js", "console.log(error.stack);\n"),
    ],
)
def test_tests_build_settings_and_words_are_honest(path: str, text: str) -> None:
    assert findings(detection, {path: text}) == []


def test_what_was_there_or_moved_is_no_finding() -> None:
    line = 'if "pytest" in sys.modules:\n    x = 1\n'
    assert findings(detection, {"app.py": f"y = 2\n{line}"}, {"app.py": line}) == []
    assert findings(detection, {"new.py": line, "app.py": ""}, {"app.py": line}) == []


@pytest.mark.parametrize(
    ("path", "source", "weight"),
    [
        (
            "src/a.js",
            "function may(user) {\n  if (process.env.NODE_ENV === 'test') {\n    return user.used < user.quota;\n  }\n}\n",
            "block",
        ),
        ("src/a.js", "const price = (n) => {\n  if (process.env.NODE_ENV === 'test') return n * 2;\n};\n", "block"),
        ("lib/a.rb", "def price(n)\n  return n * 2 if Rails.env.test?\nend\n", "block"),
        ("app.py", "def price(n):\n    if settings.TESTING:\n        return n * 2\n", "block"),
        ("src/a.js", "function log(text) {\n  if (process.env.NODE_ENV === 'test') {\n    return;\n  }\n}\n", "warn"),
        ("src/a.js", "function store(url) {\n  if (process.env.NODE_ENV === 'test') {\n    return memory();\n  }\n}\n", "warn"),
        ("src/a.js", "function level(name) {\n  if (process.env.NODE_ENV === 'test') return 'silent name';\n}\n", "warn"),
        ("lib/a.rb", "def deliver(mail)\n  return if Rails.env.test?\nend\n", "warn"),
    ],
)
def test_another_answer_from_the_same_inputs_under_test_blocks(path: str, source: str, weight: str) -> None:
    assert weights(detection, {path: source}) == [weight]
