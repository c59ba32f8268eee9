"""Configuration that changes which tests are collected, and how they are judged."""

import pytest

from helmsman.verify.invariants.collection import collection
from tests.unit.source_scenes import blocked, findings, weights

pytestmark = pytest.mark.feature("V5")


@pytest.mark.parametrize(
    "source",
    [
        'collect_ignore = ["test_hard.py"]\n',
        'collect_ignore_glob = ["hard/*"]\n',
        "def pytest_ignore_collect(collection_path):\n    return 'hard' in str(collection_path)\n",
        "def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n",
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.skip)\n",
        "def pytest_collection_modifyitems(config, items):\n    config.hook.pytest_deselected(items=items)\n",
        (
            "@pytest.hookimpl(hookwrapper=True)\n"
            "def pytest_runtest_makereport(item, call):\n"
            "    outcome = yield\n"
            "    report = outcome.get_result()\n"
            "    report.outcome = 'passed'\n"
        ),
        "def pytest_runtest_call(item):\n    pass\n",
        "def pytest_runtest_protocol(item, nextitem):\n    return True\n",
        "def pytest_pyfunc_call(pyfuncitem):\n    return True\n",
        "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n",
        "def pytest_runtest_logreport(report):\n    report.outcome = 'passed'\n",
        "def f(outcome):\n    outcome.force_result(None)\n",
        "os.environ['PYTEST_ADDOPTS'] = '-k easy'\n",
    ],
)
def test_a_conftest_that_chooses_or_judges_tests_blocks(source: str) -> None:
    found = blocked(collection, {"tests/conftest.py": f"import pytest\n\n\n{source}"})
    assert found
    assert {finding.rule for finding in found} == {"collection"}


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.fixture\ndef client(tmp_path):\n    return Client(tmp_path)\n",
        "def pytest_configure(config):\n    config.addinivalue_line('markers', 'slow: takes long')\n",
        "def pytest_addoption(parser):\n    parser.addoption('--runslow')\n",
        "pytest_plugins = ['pytester']\n",
        "sys.path.insert(0, str(Path(__file__).parent))\n",
        "@pytest.fixture(autouse=True)\ndef home(tmp_path, monkeypatch):\n    monkeypatch.setenv('HOME', str(tmp_path))\n",
    ],
)
def test_an_honest_conftest_passes(source: str) -> None:
    assert findings(collection, {"tests/conftest.py": source}) == []


@pytest.mark.parametrize(
    "source",
    [
        "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda item: item.name)\n",
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.slow)\n",
        (
            "def pytest_runtest_makereport(item, call):\n"
            "    outcome = yield\n"
            "    rep = outcome.get_result()\n"
            "    setattr(item, 'rep_' + rep.when, rep)\n"
        ),
        "def pytest_sessionfinish(session):\n    print(session.testscollected)\n",
        "def pytest_runtest_setup(item):\n    if item.get_closest_marker('slow'):\n        pytest.skip('slow')\n",
    ],
)
def test_hooks_that_mark_sort_and_read_are_told(source: str) -> None:
    assert weights(collection, {"conftest.py": source}) == ["warn"]


PLUGIN = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"


def test_a_text_in_a_test_is_no_hook() -> None:
    text = f"CONFTEST = '''\n{PLUGIN}'''\nONE = \"report.outcome = 'passed'\"\n"
    assert findings(collection, {"tests/test_plugin.py": text, "tests/conftest.py": text}) == []


def test_a_hook_that_was_there_is_no_finding() -> None:
    before = "def pytest_pyfunc_call(pyfuncitem):\n    return run(pyfuncitem)\n"
    assert findings(collection, {"conftest.py": f"import asyncio\n\n{before}"}, {"conftest.py": before}) == []


@pytest.mark.parametrize("path", ["sitecustomize.py", "src/usercustomize.py", "lib/a.pth", "pytest.py", "pytest/__init__.py"])
def test_a_file_that_is_loaded_before_the_tests_blocks(path: str) -> None:
    assert weights(collection, {path: "x = 1\n"}) == ["block"]


PYTEST = '[tool.pytest.ini_options]\ntestpaths = ["tests", "more"]\naddopts = "-ra"\n'


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", PYTEST, PYTEST.replace('"-ra"', '"-ra --ignore=tests/test_hard.py"')),
        ("pyproject.toml", PYTEST, PYTEST.replace('"-ra"', '["-ra", "--deselect", "tests/test_a.py::test_b"]')),
        ("pyproject.toml", PYTEST, PYTEST.replace('"-ra"', "\"-ra -k 'not hard'\"")),
        ("pyproject.toml", PYTEST, PYTEST.replace('"-ra"', '"-ra -p no:asyncio"')),
        ("pyproject.toml", PYTEST, PYTEST.replace(', "more"', "")),
        ("pyproject.toml", PYTEST, PYTEST + 'norecursedirs = ["hard"]\n'),
        ("pyproject.toml", PYTEST + 'python_files = ["test_*.py", "check_*.py"]\n', PYTEST + 'python_files = ["check_*.py"]\n'),
        ("pytest.ini", "[pytest]\naddopts = -ra\n", "[pytest]\naddopts = -ra --ignore=tests/hard\n"),
        ("setup.cfg", "[tool:pytest]\ntestpaths = tests more\n", "[tool:pytest]\ntestpaths = tests\n"),
        ("tox.ini", "[pytest]\nx = 1\n", "[pytest]\nx = 1\nnorecursedirs = hard\n"),
        ("pytest.ini", "[pytest]\naddopts = --cov-fail-under=90\n", "[pytest]\naddopts = --cov-fail-under=50\n"),
        ("pytest.ini", "[pytest]\naddopts = --cov-fail-under=90\n", "[pytest]\naddopts = --cov-fail-under=9.9.9\n"),
        ("package.json", '{"jest": {"verbose": true}}', '{"jest": {"testPathIgnorePatterns": ["hard"]}}'),
        ("package.json", '{"jest": {"verbose": true}}', '{"jest": {"passWithNoTests": true}}'),
        ("jest.config.js", "module.exports = {\n}\n", "module.exports = {\n  testMatch: ['**/easy.test.js'],\n}\n"),
        ("vitest.config.ts", "test: {\n}\n", "test: {\n  exclude: ['src/hard.test.ts'],\n}\n"),
        (".mocharc.json", '{"spec": "test"}', '{"spec": "test/easy.js"}'),
        ("Cargo.toml", '[lib]\nname = "a"\n', '[lib]\nname = "a"\ntest = false\n'),
    ],
)
def test_a_setting_that_leaves_tests_out_blocks(path: str, before: str, after: str) -> None:
    assert weights(collection, {path: after}, {path: before}) == ["block"]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "pyproject.toml",
            None,
            ('[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\naddopts = "-ra -q"\n'),
        ),
        (
            "pyproject.toml",
            '[project]\nname = "a"\n',
            ('[project]\nname = "a"\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'),
        ),
        ("pytest.ini", None, "[pytest]\naddopts = --strict-markers -p no:cacheprovider\n"),
        ("pyproject.toml", PYTEST, PYTEST.replace('"more"]', '"more", "again"]')),
        ("pyproject.toml", PYTEST, PYTEST + 'markers = ["slow: takes long"]\nfilterwarnings = ["error"]\n'),
        ("pyproject.toml", PYTEST, PYTEST.replace('"-ra"', '"-ra --strict-markers --cov=src"')),
        ("vitest.config.ts", "test: {\n}\n", "test: {\n  exclude: ['node_modules', 'dist'],\n  globals: true,\n}\n"),
        (
            "package.json",
            '{"jest": {"verbose": true}}',
            '{"jest": {"verbose": true, "testPathIgnorePatterns": ["/node_modules/"]}}',
        ),
        ("tsconfig.json", '{"include": ["src"]}', '{"include": ["src", "lib"]}'),
        ("package.json", '{"files": ["a"]}', '{"files": ["b"], "exclude": ["c"]}'),
        ("Cargo.toml", '[package]\nname = "a"\n', '[package]\nname = "a"\n[dependencies]\nserde = "1"\n'),
    ],
)
def test_first_and_wider_settings_are_honest(path: str, before: str | None, after: str) -> None:
    assert findings(collection, {path: after}, {path: before}) == []


def test_a_selection_by_marker_is_told() -> None:
    after = PYTEST.replace('"-ra"', "\"-ra -m 'not slow'\"")
    assert weights(collection, {"pyproject.toml": after}, {"pyproject.toml": PYTEST}) == ["warn"]


@pytest.mark.parametrize(
    ("path", "line", "weight"),
    [
        ("pom.xml", "<skipTests>true</skipTests>", "block"),
        ("pom.xml", "<maven.test.failure.ignore>true</maven.test.failure.ignore>", "block"),
        ("pom.xml", "<exclude>**/SolverTest.java</exclude>", "block"),
        ("pom.xml", "<excludedGroups>slow</excludedGroups>", "block"),
        ("pom.xml", "<groups>fast</groups>", "warn"),
        ("build.gradle", "    ignoreFailures = true", "block"),
        ("build.gradle.kts", "    setIgnoreFailures(true)", "block"),
        ("build.gradle", "test.enabled = false", "block"),
        ("build.gradle.kts", "tasks.test { isEnabled = false }", "block"),
        ("app/build.gradle", "    exclude '**/SolverTest.class'", "block"),
        ("build.gradle", "    excludeTags 'slow'", "block"),
        (".rspec", "--tag ~broken", "block"),
        (".rspec", "--pattern spec/easy_spec.rb", "block"),
        (".rspec", "--dry-run", "block"),
        (".rspec", "--fail-fast", "warn"),
        ("spec/spec_helper.rb", "  config.filter_run_excluding :broken", "block"),
        ("spec/spec_helper.rb", "  config.failure_exit_code = 0", "block"),
    ],
)
def test_a_build_that_leaves_tests_out_or_ignores_them(path: str, line: str, weight: str) -> None:
    assert weights(collection, {path: f"x\n{line}\n"}, {path: "x\n"}) == [weight]
    assert blocked(collection, {path: f"x\n{line}\n"}) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("pom.xml", "<skipTests>false</skipTests>"),
        ("pom.xml", "<!-- <skipTests>true</skipTests> -->"),
        ("pom.xml", "<exclude>log4j:log4j</exclude>"),
        ("pom.xml", "<skip>false</skip>"),
        ("build.gradle", "    ignoreFailures = false"),
        ("build.gradle", "    exclude group: 'org.slf4j', module: 'slf4j-simple'"),
        ("build.gradle", "    // ignoreFailures = true"),
        ("build.gradle", "    useJUnitPlatform()"),
        (".rspec", "--require spec_helper"),
        (".rspec", "--format documentation"),
        (".rspec", "--order random"),
        ("spec/spec_helper.rb", "  config.filter_run_when_matching :focus"),
        ("spec/spec_helper.rb", "  config.order = :random"),
    ],
)
def test_other_settings_of_builds_pass(path: str, line: str) -> None:
    assert findings(collection, {path: f"x\n{line}\n"}, {path: "x\n"}) == []


def test_a_first_configuration_of_vitest_that_finds_every_test_passes() -> None:
    first = 'export default {\n  test: {\n    include: ["src/**/*.test.ts"],\n  },\n};\n'
    assert findings(collection, {"vitest.config.ts": first}) == []
    assert weights(collection, {"vitest.config.ts": first.replace("**/*.test", "easy.test")}) == ["warn"]
    assert weights(collection, {"vitest.config.ts": first}, {"vitest.config.ts": "export default {};\n"}) == ["warn"]
