"""From project files to commands: what is found, in which order, and that nothing of a file's text gets into a command."""

import json
import re
import tomllib
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.init import helmsman_toml, rubric_md
from helmsman.config import CheckConfig, LoopConfig
from helmsman.config.layers import Layer, resolve
from helmsman.parsers.project import (
    MOST_CANDIDATES,
    NAMES,
    SCRIPTS,
    TEXTS,
    USUAL,
    Candidate,
    Detection,
    Folder,
    Kind,
    find_commands,
    may_contain_project,
    without_covered,
)
from helmsman.parsers.rubric import criteria_of, read_rubric
from helmsman.plain import one_line
from helmsman.toml_text import toml_string

pytestmark = pytest.mark.feature("O1")


def folder(files: Mapping[str, str]) -> Folder:
    return Folder(frozenset(files), files)


def detect(**files: str) -> Detection:
    """What a root with these files holds; the dot of a name is written as two underscores."""
    return find_commands({"": folder({name.replace("__", "."): text for name, text in files.items()})})


def commands(what: Detection) -> list[str]:
    return [one.command for one in what.candidates]


def scripts(**named: str) -> str:
    return json.dumps({"scripts": named})


# --- what is found ------------------------------------------------------------------------------------------------


PROJECTS: list[tuple[Mapping[str, str], list[str]]] = [
    ({"Makefile": "all: test\n.PHONY: test\ntest lint: x\n\tpytest\nbuild := 5\n"}, ["make test", "make lint"]),
    ({"justfile": "default:\n  just test\n@test args='':\n  x\nbuild := 'x'\nlint: test\n"}, ["just test", "just lint"]),
    ({"Taskfile.yml": "version: '3'\ntasks:\n  test:\n    cmds:\n      - lint: x\n  build:\n"}, ["task test", "task build"]),
    ({"Taskfile.yml": "vars:\n  test: 1\ntasks:\n  build:\n\n# more\nincludes:\n  lint: ./x\n"}, ["task build"]),
    ({"package.json": scripts(test="jest", lint="eslint", typecheck="tsc", build="vite build")},
     ["npm test", "npm run lint", "npm run typecheck", "npm run build"]),
    ({"package.json": scripts(test="jest"), "pnpm-lock.yaml": ""}, ["pnpm run test"]),
    ({"package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"lint": "x"}}'}, ["pnpm run lint"]),
    ({"package.json": scripts(test="jest"), "tsconfig.json": ""}, ["npm test", "npx --no-install tsc --noEmit"]),
    ({"package.json": "{}", "eslint.config.mjs": "", "yarn.lock": ""}, ["yarn exec eslint ."]),
    ({"deno.json": '{"tasks": {"lint": "x"}}'}, ["deno test", "deno task lint", "deno lint"]),
    ({"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n"}, ["pytest -q", "ruff check", "mypy ."]),
    ({"pyproject.toml": '[project]\ndependencies = ["pytest>=8"]\n', "uv.lock": ""}, ["uv run pytest -q"]),
    ({"pyproject.toml": "[tool.poe.tasks]\ntest = 'x'\n[tool.pyright]\n"}, ["poe test", "pyright"]),
    ({"tox.ini": "[tox]\n[testenv]\n[testenv:lint]\n[flake8]\n"}, ["tox", "tox -e lint", "flake8"]),
    ({"noxfile.py": "import nox\n@nox.session(python=['3.12'])\ndef tests(session):\n  x\n@nox.session\ndef publish(s): x\n"},
     ["nox -s tests"]),
    ({"setup.cfg": "[tool:pytest]\n[mypy]\n"}, ["pytest -q", "mypy ."]),
    ({"manage.py": "", "requirements.txt": "django\n"}, ["python3 manage.py test"]),
    ({"setup.py": "", "tests": ""}, ["python3 -m unittest discover -s tests"]),
    ({"requirements.txt": "pytest-cov\n"}, []),
    ({"test_shop.py": "import unittest\n", "shop.py": ""}, ["python3 -m unittest"]),
    ({"tests/test_shop.py": "import unittest\n", "tests": ""}, ["python3 -m unittest discover -s tests"]),
    ({"tests/test_shop.py": "from unittest import TestCase\n", "tests/__init__.py": "", "tests": ""},
     ["python3 -m unittest discover -s tests -t ."]),
    ({"tests/test_shop.py": "import pytest\nimport unittest\n", "tests": ""}, ["pytest -q"]),
    ({"test_shop.py": "def test_a(): ...\n"}, ["pytest -q"]),
    ({"tests/test_shop.py": "def test_a(): ...\n", "tests": "", "setup.py": ""}, ["pytest -q"]),
    ({"tox.ini": "[tox]\n[testenv]\ndeps = pytest\n", "tests": "", "setup.py": ""}, ["pytest -q", "tox"]),
    ({"package.json": '{"workspaces": ["packages/*"]}'}, ["npm test --workspaces --if-present"]),
    ({"check.sh": "exit 0\n", "Makefile": "test:\n\ttrue\n"}, ["make test"]),
    ({"test.sh": "#!/usr/bin/env bash\n[[ a ]]\n", "check.sh": ""}, ["bash test.sh"]),
    ({"scripts/test": "#!/bin/sh -e\n", "scripts": ""}, ["sh scripts/test"]),
    ({"Cargo.toml": ""},
     ["cargo test --workspace", "cargo clippy --workspace --all-targets -- -D warnings", "cargo fmt --check"]),
    ({"go.mod": "", ".golangci.yml": ""}, ["go test ./...", "golangci-lint run", "go vet ./...", "go build ./..."]),
    ({"pom.xml": "", "mvnw": ""}, ["./mvnw -B test"]),
    ({"build.gradle.kts": "", "gradlew": ""}, ["./gradlew --no-daemon test", "./gradlew --no-daemon assemble"]),
    ({"composer.json": '{"scripts": {"test": "phpunit"}}', "phpunit.xml.dist": ""},
     ["composer run-script test", "vendor/bin/phpunit"]),
    ({"Gemfile": "", "Rakefile": "Rake::TestTask.new(:test) do |t|\nend\ntask :lint do\nend\n"},
     ["bundle exec rake test", "bundle exec rake lint"]),
    ({"Gemfile": "", ".rspec": "", "spec": ""}, ["bundle exec rspec"]),
    ({"mix.exs": '{:credo, "~> 1.7"}'}, ["mix test", "mix credo", "mix compile --warnings-as-errors"]),
    ({"CMakeLists.txt": "project(x)\nenable_testing()\n"},
     ["cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
      "cmake -S . -B build && cmake --build build"]),
    ({"CMakeLists.txt": "project(x)\n"}, ["cmake -S . -B build && cmake --build build"]),
    ({".claude/autochecks.sh": "", "Makefile": "test:\n"}, ["sh .claude/autochecks.sh", "make test"]),
    ({"README.md": "make test", "src": ""}, []),
]  # fmt: skip


def test_a_project_s_files_name_its_commands() -> None:
    for files, expected in PROJECTS:
        assert commands(find_commands({"": folder(files)})) == expected, files


def test_commands_come_by_kind_and_the_project_s_own_word_first() -> None:
    what = detect(
        Makefile="build:\nlint:\ntest:\n",
        package__json=scripts(build="x", test="x"),
        pyproject__toml="[tool.ruff]\n[tool.pytest]",
    )
    assert commands(what) == [
        "make test", "npm test", "pytest -q", "make lint", "ruff check", "make build", "npm run build",
    ]  # fmt: skip
    assert [one.where for one in what.candidates][:2] == ["Makefile, target test", "package.json, script test"]


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ('echo "Error: no test specified" && exit 1', "it is the placeholder, which always fails"),
        ("jest --watch", "it watches files and never ends"),
        ("react-scripts test --watchAll", "it watches files and never ends"),
    ],
)
def test_a_useless_script_is_skipped_with_a_reason(script: str, cause: str) -> None:
    what = detect(package__json=scripts(test=script))
    assert commands(what) == []
    assert [(one.where, one.cause) for one in what.skipped] == [("package.json, script test", cause)]


@pytest.mark.parametrize(
    "text", ["{", "[1]", "[" * 100_000, "1" * 10_000, '{"scripts": ["test"]}', '{"scripts": {"test": null}}']
)
def test_a_file_that_is_broken_or_of_another_shape_breaks_nothing(text: str) -> None:
    for name in ("package.json", "composer.json", "pyproject.toml", "deno.json", "setup.cfg", "tox.ini"):
        find_commands({"": folder({name: text})})


def test_an_invalid_file_is_reported() -> None:
    what = detect(package__json="{", pyproject__toml="=")
    assert {(one.where, one.cause) for one in what.skipped} == {
        ("package.json", "it is not valid JSON"), ("pyproject.toml", "it is not valid TOML"),
    }  # fmt: skip


# --- folders below the root ---------------------------------------------------------------------------------------


def test_folders_below_the_root_are_looked_into_where_the_root_has_no_tests() -> None:
    web, api = folder({"package.json": scripts(test="jest")}), folder({"go.mod": ""})
    what = find_commands({"": Folder(), "web": web, "api": api})
    assert commands(what)[:2] == ["cd api && go test ./...", "cd web && npm test"]
    assert what.candidates[1].where == "web/package.json, script test"
    root = folder({"Makefile": "test:\n"})
    assert commands(find_commands({"": root, "web": web, "api": api})) == ["make test"]


def test_folders_with_unusual_names_are_skipped() -> None:
    for name in ("a b", "$(id)", "-rf", ".git", "node_modules", "tests", "a;b", "a\nb", "..", "é", "", "a" * 62):
        assert not may_contain_project(name)
        assert commands(find_commands({"": Folder(), name: folder({"go.mod": ""})} | {"": Folder()})) == []


def test_the_number_of_candidates_is_bounded() -> None:
    many = {f"part{number}": folder({"go.mod": ""}) for number in range(100)}
    assert len(find_commands({"": Folder(), **many}).candidates) == MOST_CANDIDATES


# --- which are kept -----------------------------------------------------------------------------------------------


def test_covered_candidates_are_dropped() -> None:
    own = Candidate("make test", Kind.TESTS, "Makefile")
    tool = Candidate("pytest -q", Kind.TESTS, "pyproject.toml", "python")
    again = Candidate("tox", Kind.TESTS, "tox.ini", "python")
    other = Candidate("npm test", Kind.TESTS, "package.json", "node")
    lint = Candidate("ruff check", Kind.LINT, "ruff.toml", "python")
    elsewhere = Candidate("cd web && npm test", Kind.TESTS, "web/package.json", "node", "web")
    every = (own, tool, again, other, lint, elsewhere)
    assert without_covered(dict.fromkeys(every, True)) == (own, lint, elsewhere)
    assert without_covered({**dict.fromkeys(every, True), own: False}) == (tool, other, lint, elsewhere)
    assert without_covered(dict.fromkeys(every, False)) == ()


# --- hostile texts ------------------------------------------------------------------------------------------------

HOSTILE = ["; rm -rf ~", "$(touch x)", "`id`", "test; id", "test\nid", "--help", "| sh", "&& id", "\x1b[2J", "'", '"', "../x"]
WORDS = (
    st.sampled_from([*HOSTILE, "test"])
    | st.sampled_from([name for names in NAMES.values() for name in names])
    | st.text(max_size=20)
)
LINES = st.lists(WORDS, max_size=6).map(":".join)
FILE_TEXTS = (
    st.lists(LINES, max_size=8).map("\n".join)
    | st.dictionaries(WORDS, WORDS, max_size=5).map(lambda named: json.dumps({"scripts": named, "tasks": named}))
    | st.lists(WORDS, max_size=5).map(lambda names: "\n".join(f"[testenv:{name}]\n[{name}]" for name in names))
    | st.lists(WORDS, max_size=5).map(lambda names: "\n".join(f"@nox.session\ndef {name}(s):\ntask :{name}" for name in names))
)
_NAMED = {name.replace("*", "x") for row in USUAL for name in row.files}
FILE_NAMES = st.sampled_from(sorted({*TEXTS, *_NAMED, "uv.lock", "yarn.lock"})) | WORDS
FOLDER_NAMES = st.just("") | WORDS | st.sampled_from(["web", "api-2", "a.b"])
KNOWN = {name for names in NAMES.values() for name in names}
CALLS = (
    "make", "just", "task", "npm run", "pnpm run", "yarn run", "bun run", "deno task", "composer run-script", "bundle exec rake",
    "rake", "poe", "pdm run", "tox -e", "nox -s",
)  # fmt: skip
FIXED = {row.command for row in USUAL} | {
    "npm test", "sh .claude/autochecks.sh", "tox", "deno test", "deno lint", "ruff check", "ruff format --check", "flake8",
    "black --check .", "mypy", "mypy .", "pyright", "basedpyright", "pytest -q", "python3 manage.py test",
    "python3 -m unittest", "python3 -m unittest discover -s tests -t .", "python3 -m unittest discover -s test -t .",
    "python3 -m unittest discover -s tests", "python3 -m unittest discover -s test",
    *(f"{execute} {what}" for execute in ("npx --no-install", "pnpm exec", "yarn exec", "bunx --no-install")
      for what in ("eslint .", "tsc --noEmit")),
}  # fmt: skip
RUNS = ("", "uv run ", "poetry run ", "pdm run ", "pipenv run ")
INTERPRETERS = ("sh", "bash", "zsh", "python3", "node", "ruby", "perl")
ALLOWED = (
    {f"{call} {name}" for call in CALLS for name in KNOWN} | FIXED | {f"{one} {path}" for one in INTERPRETERS for path in SCRIPTS}
)


@given(st.dictionaries(FOLDER_NAMES, st.dictionaries(FILE_NAMES, FILE_TEXTS, max_size=6).map(folder), max_size=4))
def test_file_contents_never_enter_a_command(folders: Mapping[str, Folder]) -> None:
    for candidate in find_commands(folders).candidates:
        if candidate.where.endswith(", a step"):  # of CI: a call of a runner, with plain words alone
            assert re.fullmatch(r"[\w./=:@,+ -]+", candidate.command)
            continue
        moved = re.fullmatch(r"cd ([A-Za-z0-9_][A-Za-z0-9_.-]*) && (.*)", candidate.command)
        said = moved[2] if moved else candidate.command
        assert {said.removeprefix(run) for run in RUNS} & ALLOWED


@pytest.mark.feature("X3")
def test_hostile_files_are_parsed_in_bounded_time() -> None:
    pieces = ("a", " ", "\t", ":", "a ", "@nox.session\n", "@", "[", "tasks:\n  a:\n", "task :", "a b:", "--watch", "\n")
    for name, piece in product(TEXTS, pieces):
        find_commands({"": folder({name: piece * (200_000 // len(piece))})})


# --- the files that are written -----------------------------------------------------------------------------------

PIECES = st.sampled_from(['"', '""', '"""', "\\", "\n", "\r\n", "\t", " ", "\0", "\x7f", "\u2028", "a", "é", "#", "u0041"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.lists(PIECES, max_size=12).map("".join)
SAID = TEXT.filter(str.strip)


@given(TEXT)
def test_a_string_of_toml_is_read_back_as_it_was(text: str) -> None:
    written = f"value = {toml_string(text)}\n"
    assert tomllib.loads(written) == {"value": text}
    assert all(line.isprintable() for line in written.split("\n"))


CHECKS = st.builds(CheckConfig, command=TEXT.filter(str.strip), name=TEXT, timeout_seconds=st.integers(1, 86_400).map(float))


@pytest.mark.feature("E11")
@given(
    SAID | st.just(""),
    st.lists(st.tuples(CHECKS, TEXT), max_size=4),
    st.lists(st.tuples(TEXT, TEXT), max_size=3),
)
def test_written_configuration_reads_back_unchanged(
    goal: str, checks: list[tuple[CheckConfig, str]], asides: list[tuple[str, str]]
) -> None:
    read: dict[str, Any] = tomllib.loads(helmsman_toml(goal, checks, asides))
    config = resolve([Layer("helmsman.toml", read), Layer("not given yet", {"goal": "later"})]).config
    assert config == LoopConfig(goal=goal or "later", checks=tuple(check for check, _ in checks))


OPTIONS = st.sampled_from(
    ["(weight 2)", "(2 of 3 votes).", "(9 of 3 votes)", "(tests: )", "(check: a, votes)", "(", ")", "```", "<!--", "[a]"]
)
SENTENCES = st.lists(SAID | OPTIONS | st.sampled_from(["- a", "## Checks", "[ ] x", "a."]), min_size=1, max_size=3).map(" ".join)


@pytest.mark.feature("V1")
@given(st.lists(SENTENCES.filter(one_line), max_size=6))
def test_a_written_rubric_has_no_flaw_and_a_criterion_for_each_that_was_given(criteria: list[str]) -> None:
    rubric = read_rubric(rubric_md(criteria))
    if criteria:
        assert rubric.problems == ()
    assert rubric.checks == ()
    assert [criterion.config.id for criterion in rubric.criteria] == [f"c{number}" for number in range(1, len(criteria) + 1)]


@pytest.mark.parametrize(
    ("goal", "criteria"),
    [
        ("Make it work", ()),
        ("Do it.\n\nAcceptance criteria:\n- a\n  goes on\n- b\n\nNotes\n- c\n", ("a goes on", "b")),
        ("# Do it\n## Acceptance Criteria\n\n1. a\n\n2. b\n## Notes\n- c\n", ("a", "b")),
        ("**Done when**\n* [ ] a\n", ("[ ] a",)),
        ("- a\n- b\n", ()),
        ("Acceptance criteria:\nall of it works\n", ()),
    ],
)
def test_acceptance_criteria_are_read_from_the_goal(goal: str, criteria: tuple[str, ...]) -> None:
    assert criteria_of(goal) == criteria
