"""Files that decide whether the work is done."""

import json

import pytest

from helmsman.verify.diff import TreeDiff
from helmsman.verify.invariants.protected_files import protected
from helmsman.verify.invariants.scene import Scene
from tests.unit.source_scenes import findings, weights

pytestmark = pytest.mark.feature("V5")


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("sh check.sh", "check.sh"),
        ("./check.sh --all", "check.sh"),
        ("./ci/test.sh", "ci/test.sh"),
        ("bash -e ci/test.sh", "ci/test.sh"),
        ("python tools/verify.py", "tools/verify.py"),
        ("python -m tools.verify", "tools/verify.py"),
        ("uv run python tools/verify.py src", "tools/verify.py"),
        ("cd sub && sh check.sh", "sub/check.sh"),
        ("FOO=1 timeout 60 sh check.sh", "check.sh"),
        ("sh -c 'cd sub; ./check.sh'", "sub/check.sh"),
        ("cd sub && sh -c 'cd ci; ./check.sh'", "sub/ci/check.sh"),
        ("(cd sub && make) && sh check.sh", "check.sh"),
        ("(cd sub&&make)&&sh check.sh", "check.sh"),
        ("ruff check . && ./scripts/lint.sh", "scripts/lint.sh"),
        ("node scripts/check.js", "scripts/check.js"),
        ("pytest -c ci/pytest.ini tests", "ci/pytest.ini"),
        ("mypy --config-file=ci/mypy.ini src", "ci/mypy.ini"),
        ("python app.py | diff - expected.txt", "expected.txt"),
        ("docker compose -f docker-compose.test.yml run test", "docker-compose.test.yml"),
    ],
)
def test_a_check_script_that_was_edited_blocks(command: str, path: str) -> None:
    (finding,) = findings(protected, {path: "exit 0\n"}, {path: "make strict\n"}, commands=(command,))
    assert (finding.rule, finding.weight, finding.where) == ("protected", "block", f"{path}:1")
    assert (finding.before, finding.after) == ("make strict", "exit 0")


def test_a_check_script_that_is_gone_blocks() -> None:
    assert weights(protected, {"check.sh": None}, {"check.sh": "pytest\n"}, commands=("sh check.sh",)) == ["block"]


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("pytest tests/test_a.py", "tests/test_a.py"),
        ("python -m pytest tests/test_a.py::test_b", "tests/test_a.py"),
        ("python -m unittest tests/test_a.py", "tests/test_a.py"),
        ("ruff check src/app.py", "src/app.py"),
        ("mypy src/app.py", "src/app.py"),
        ("npx jest src/app.test.js", "src/app.test.js"),
        ("go test ./...", "main.go"),
        ("pytest", "src/app.py"),
        ("pytest tests", "tests/helpers.py"),
        ("pip install -r requirements.txt && pytest", "requirements.txt"),
        ("ruff check --config pyproject.toml", "pyproject.toml"),
        ("pytest 'unclosed", "src/app.py"),
    ],
)
def test_sources_and_tests_that_a_runner_is_given_are_the_work(command: str, path: str) -> None:
    assert findings(protected, {path: "x = 2\n"}, {path: "x = 1\n"}, commands=(command,)) == []


@pytest.mark.parametrize(("command", "path"), [("python app.py", "app.py"), ("grep -q Usage README.md", "README.md")])
def test_what_a_check_looks_at_is_told(command: str, path: str) -> None:
    assert weights(protected, {path: "x = 2\n"}, {path: "x = 1\n"}, commands=(command,)) == ["warn"]


def test_a_new_check_script_is_no_edit() -> None:
    assert findings(protected, {"check.sh": "pytest\n"}, commands=("sh check.sh",)) == []


MAKEFILE = """PYTEST = pytest -q

test: build
\t$(PYTEST) tests $(OPTIONS)

build:
\tpython -m build

docs:
\tsphinx-build docs

lint:
\truff check .
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\t$(PYTEST) tests", "\ttrue"),
        ("\t$(PYTEST) tests", "\t-$(PYTEST) tests"),
        ("\t$(PYTEST) tests", "\t$(PYTEST) tests || true"),
        ("pytest -q", "true"),
        ("\tpython -m build", "\ttouch built"),
        ("test: build", "test:"),
        ("test: build\n\t$(PYTEST) tests $(OPTIONS)\n", ""),
        ("PYTEST =", "SHELL = /bin/true\nPYTEST ="),
        ("PYTEST =", "MAKEFLAGS += -i\nPYTEST ="),
        ("PYTEST =", "OPTIONS = --collect-only\nPYTEST ="),
        ("PYTEST =", ".IGNORE:\n\nPYTEST ="),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "make -s test",
        "make",
        "make -j 4",
        "make 2>&1 | tee log",
        "nice -n 10 make test",
        "cd . && make test VERBOSE=1",
        "/bin/bash -c 'make test'",
        "bash -eo pipefail -c 'make test | tee log'",
        "bash -o pipefail -c 'make test | tee log'",
    ],
)
def test_a_recipe_that_a_check_uses_is_protected(command: str, old: str, new: str) -> None:
    files = {"Makefile": MAKEFILE.replace(old, new)}
    assert "block" in weights(protected, files, {"Makefile": MAKEFILE}, commands=(command,))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\tsphinx-build docs", "\tmkdocs"),
        ("\truff check .", "\ttrue"),
        ("build:\n", "# how it is built\nbuild:\n"),
        ("docs:\n", "serve:\n\tpython -m http.server\n\ndocs:\n"),
    ],
)
def test_other_recipes_may_change(old: str, new: str) -> None:
    assert findings(protected, {"Makefile": MAKEFILE.replace(old, new)}, {"Makefile": MAKEFILE}, commands=("make test",)) == []


@pytest.mark.parametrize(
    "line",
    [
        "SHELL := /bin/bash",
        "SHELL = /usr/bin/env bash -o pipefail",
        ".SHELLFLAGS := -eu -o pipefail -c",
        "MAKEFLAGS += --no-print-directory -j4",
        "OPTIONS ?=",
    ],
)
def test_what_was_not_set_may_be_set_to_what_leaves_nothing_out(line: str) -> None:
    files = {"Makefile": f"{line}\n{MAKEFILE}"}
    assert "block" not in weights(protected, files, {"Makefile": MAKEFILE}, commands=("make test",))


def test_a_makefile_that_no_check_uses_may_change() -> None:
    assert findings(protected, {"Makefile": "test:\n\ttrue\n"}, {"Makefile": MAKEFILE}, commands=("pytest",)) == []


def test_one_more_thing_to_make_first_is_told() -> None:
    files = {"Makefile": MAKEFILE.replace("test: build", "test: build lint")}
    assert weights(protected, files, {"Makefile": MAKEFILE}, commands=("make test",)) == ["warn"]


def test_a_justfile_is_read_like_a_makefile() -> None:
    before = "test: build\n    pytest\n\nbuild:\n    python -m build\n\nfmt:\n    ruff format\n"
    assert weights(protected, {"justfile": before.replace("pytest", "true")}, {"justfile": before}, commands=("just test",)) == [
        "block"
    ]
    assert (
        findings(protected, {"justfile": before.replace("format", "check")}, {"justfile": before}, commands=("just test",)) == []
    )


def package(**scripts: str) -> str:
    return json.dumps({"name": "a", "scripts": scripts})


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("npm test", package(test="true", lint="eslint .")),
        ("npm t", package(test="true", lint="eslint .")),
        ("npm run lint && npm test", package(test="npm run unit", unit="jest", lint="true")),
        ("npm test -- --dir=web", package(test="true", lint="eslint .")),
        ("pnpm test --dir web", package(test="true", lint="eslint .")),
        ("yarn test", package(test="npm run unit", unit="jest --passWithNoTests", lint="eslint .")),
        ("npm test", package(lint="eslint .")),
    ],
)
def test_a_script_of_npm_that_a_check_uses_is_protected(command: str, after: str) -> None:
    before = package(test="npm run unit", unit="jest", lint="eslint .")
    assert "block" in weights(protected, {"package.json": after}, {"package.json": before}, commands=(command,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (package(test="jest", start="node ."), package(test="jest", start="node server.js")),
        (package(test='echo "Error: no test specified" && exit 1'), package(test="jest")),
        (package(start="node ."), package(start="node .", test="jest")),
        ('{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}'),
    ],
)
def test_other_scripts_and_the_first_test_script_may_change(before: str, after: str) -> None:
    assert findings(protected, {"package.json": after}, {"package.json": before}, commands=("npm test",)) == []


def test_the_commands_of_tox_and_the_sessions_of_nox_are_protected() -> None:
    tox = "[testenv]\ndeps = pytest\ncommands = pytest tests\n"
    assert weights(protected, {"tox.ini": tox.replace("pytest tests", "true")}, {"tox.ini": tox}, commands=("tox",)) == ["block"]
    assert (
        findings(protected, {"tox.ini": tox.replace("deps = pytest", "deps = pytest<9")}, {"tox.ini": tox}, commands=("tox",))
        == []
    )
    nox = "import nox\n\n@nox.session\ndef tests(session):\n    session.run('pytest')\n"
    more = f"{nox}\n\n@nox.session\ndef docs(session):\n    session.run('mkdocs')\n"
    assert weights(
        protected, {"noxfile.py": nox.replace("'pytest'", "'true'")}, {"noxfile.py": nox}, commands=("nox -s tests",)
    ) == ["block"]
    assert findings(protected, {"noxfile.py": more}, {"noxfile.py": nox}, commands=("nox",)) == []


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("ignore_outcome = true", "block"),
        ("setenv = PYTEST_ADDOPTS=--co", "block"),
        ("setenv = A=1", "warn"),
        ("commands_pre = python -m build", "warn"),
    ],
)
def test_a_setting_by_which_tox_judges_counts_where_it_was_not_set(line: str, weight: str) -> None:
    tox = "[testenv]\ncommands = pytest tests\n"
    assert weights(protected, {"tox.ini": f"{tox}{line}\n"}, {"tox.ini": tox}, commands=("tox",)) == [weight]


@pytest.mark.parametrize(
    "command",
    ["npm --prefix web test", "npm test --prefix web", "yarn --cwd web test", "pnpm -C web test", "pnpm --dir=web test"],
)
def test_a_script_of_another_folder_is_protected(command: str) -> None:
    before, after = {"web/package.json": package(test="jest")}, {"web/package.json": package(test="true")}
    assert weights(protected, after, before, commands=(command,)) == ["block"]


@pytest.mark.parametrize(
    "path",
    [".github/workflows/ci.yml", ".gitlab-ci.yml", ".ci/run", ".circleci/config.yml", "Jenkinsfile"],
)
def test_continuous_integration_may_grow_but_not_change(path: str) -> None:
    assert weights(protected, {path: "b"}, {path: "a"}) == ["block"]
    assert weights(protected, {path: None}, {path: "a"}) == ["block"]
    assert weights(protected, {path: "b"}) == ["warn"]


@pytest.mark.parametrize(
    "path",
    [
        "RUBRIC.md",
        "helmsman.toml",
        ".claude/autochecks.sh",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".helmsman/presets/ours.md",
        ".helmsman/hats/debugger.md",
        ".helmsman/agents/codex.toml",
    ],
)
def test_the_rubric_and_the_settings_of_the_loop_are_protected(path: str) -> None:
    assert weights(protected, {path: "b"}, {path: "a"}) == ["block"]
    assert weights(protected, {path: "b"}) == ["block"]


def test_only_the_loop_s_own_table_of_pyproject_is_protected() -> None:
    before = '[project]\nversion = "1"\n[tool.helmsman]\nchecks = ["pytest"]\n'
    (finding,) = findings(protected, {"pyproject.toml": before.replace("pytest", "true")}, {"pyproject.toml": before})
    assert (finding.where, finding.before, finding.after) == ("pyproject.toml:4", "pytest", "true")
    assert findings(protected, {"pyproject.toml": before.replace('"1"', '"2"')}, {"pyproject.toml": before}) == []


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("golden/**", "golden/a/b.txt"),
        ("*.lock", "deep/poetry.lock"),
        ("tests/acceptance/", "tests/acceptance/a.py"),
        ("a?.md", "ab.md"),
    ],
)
def test_what_the_operator_protects_is_protected(pattern: str, path: str) -> None:
    assert weights(protected, {path: "b"}, {path: "a"}, protected=(pattern,)) == ["block"]
    assert findings(protected, {"src/app.py": "b"}, {"src/app.py": "a"}, protected=(pattern,)) == []


def test_a_protected_file_that_could_not_be_read_blocks_as_well() -> None:
    left_out = Scene(diff=TreeDiff(left_out=("golden/a.png", "logo.png")), protected=("golden/**",))
    (finding,) = protected(left_out)
    assert finding.path == "golden/a.png"


WORKFLOW = """on: [push]
jobs:
  test:
    strategy:
      matrix:
        python: ["3.11", "3.12"]
    steps:
      - uses: actions/checkout@v4
        with:
          minimum-coverage: 90
      - run: pip install -e .
      - run: pytest -q
"""


def workflow(old: str, new: str) -> list[str]:
    path = ".github/workflows/ci.yml"
    return weights(protected, {path: WORKFLOW.replace(old, new)}, {path: WORKFLOW})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"3.12"]', '"3.12", "3.13"]'),
        ("checkout@v4", "checkout@v5"),
        ("      - run: pytest -q\n", "      - run: ruff check .\n      - run: pytest -q\n"),
        ("jobs:\n", "# what is run for every push\njobs:\n"),
    ],
)
def test_continuous_integration_that_only_demands_more_is_told(old: str, new: str) -> None:
    assert workflow(old, new) == ["warn"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["3.11", "3.12"]', '["3.11"]'),
        ('["3.11", "3.12"]', '["3.13"]'),
        ("pytest -q", "pytest -q || true"),
        ("pytest -q", "pytest -q tests/unit"),
        ("      - run: pytest -q\n", ""),
        ("      - run: pytest -q\n", "      # - run: pytest -q\n"),
        ("      - run: pytest -q\n", "      - run: pytest -q\n        continue-on-error: true\n"),
        ("      - run: pytest -q\n", "      - if: false\n        run: pytest -q\n"),
        ("      - run: pytest -q\n", "      - run: rm -r tests\n      - run: pytest -q\n"),
        (
            "      - run: pip install -e .\n",
            "      - run: pip install -e .\n      - run: echo PYTEST_ADDOPTS=-x >> $GITHUB_ENV\n",
        ),
        ("actions/checkout@v4", "someone/checkout@v4"),
        ("on: [push]", "on:\n  push:\n    branches: [never]"),
        ("minimum-coverage: 90", "minimum-coverage: 50"),
    ],
)
def test_continuous_integration_that_demands_less_blocks(old: str, new: str) -> None:
    assert workflow(old, new) == ["block"]


RAKEFILE = """require "rake/testtask"

Rake::TestTask.new(:test) do |t|
  t.pattern = "test/**/*_test.rb"
end

task :docs do
  sh "yard"
end

task default: [:test]
"""


@pytest.mark.parametrize("command", ["rake test", "rake", "bundle exec rake test"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Rake::TestTask.new(:test) do |t|\n  t.pattern = "test/**/*_test.rb"', 'task :test do\n  puts "all tests passed"'),
        ("test/**/*_test.rb", "test/easy_test.rb"),
        ('Rake::TestTask.new(:test) do |t|\n  t.pattern = "test/**/*_test.rb"\nend\n', ""),
    ],
)
def test_the_task_of_rake_that_a_check_runs_is_protected(command: str, old: str, new: str) -> None:
    files = {"Rakefile": RAKEFILE.replace(old, new)}
    assert "block" in weights(protected, files, {"Rakefile": RAKEFILE}, commands=(command,))


def test_a_default_task_that_no_longer_tests_blocks() -> None:
    files = {"Rakefile": RAKEFILE.replace("default: [:test]", "default: [:docs]")}
    assert "block" in weights(protected, files, {"Rakefile": RAKEFILE}, commands=("rake",))


def test_another_task_of_rake_may_change() -> None:
    files = {
        "Rakefile": RAKEFILE.replace("yard", "rdoc").replace("task :docs", "task :lint do\n  sh 'rubocop'\nend\n\ntask :docs")
    }
    assert findings(protected, files, {"Rakefile": RAKEFILE}, commands=("rake test",)) == []
