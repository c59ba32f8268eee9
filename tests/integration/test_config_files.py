"""Configuration in files, of Helmsman and of other loops: which are read, what they may say, and errors in them."""

import os
from pathlib import Path
from typing import Any

import pytest

from helmsman.config.layers import Layer, resolve
from helmsman.errors import OperatorError
from helmsman.records.request import LoopRequest
from tasks.agents.catalogue import LoopSettings
from tasks.loop.configure import configure, read_file, read_layers, resolve_goal_file
from tasks.system.files import LARGEST_FILE
from tests.unit.test_alignment_file import GULF

pytestmark = pytest.mark.feature("E11")


def write(folder: Path, **files: str | bytes) -> None:
    """Files by name, the dot of the name written as two underscores."""
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name.replace("__", ".")).write_bytes(data)


def complaint(repository: Path) -> str:
    with pytest.raises(OperatorError) as caught:
        read_layers(repository)
    return str(caught.value)


def test_the_table_in_pyproject_toml_counts_where_there_is_no_helmsman_toml(tmp_path: Path) -> None:
    write(tmp_path, pyproject__toml='[project]\nname = "x"\n[tool.helmsman]\nlimits.iterations = 5\n')
    assert read_layers(tmp_path) == [Layer("pyproject.toml [tool.helmsman]", {"limits": {"iterations": 5}})]
    write(tmp_path, helmsman__toml="limits.tokens = 6\n")
    assert read_layers(tmp_path) == [Layer("helmsman.toml", {"limits": {"tokens": 6}})]


@pytest.mark.parametrize("text", ["", "tool = 5", "[tool.ruff]\nline-length = 120\n"])
def test_a_pyproject_toml_that_does_not_speak_to_helmsman_is_no_layer(tmp_path: Path, text: str) -> None:
    write(tmp_path, pyproject__toml=text)
    assert read_layers(tmp_path) == []


def test_a_tool_helmsman_that_is_no_table_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, pyproject__toml="tool.helmsman = 5")
    assert "tool.helmsman must be a table, found 5" in complaint(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Rubric\n---\ngoal: x\n---\n",
        "---\n# a comment\n---\n",
        "---\ntitle: x\n---",
        "# Grades\n## Criteria\n- a\n",
    ],
)
def test_a_rubric_without_settings_is_no_layer(tmp_path: Path, text: str) -> None:
    write(tmp_path, RUBRIC__md=text)
    assert read_layers(tmp_path) == []


RUBRIC = """---
model: opus
max_iterations: 7
goal: g
---
# Rubric
## Envisioning
Calm.
## Checks
- **tests**: `npm test`
- npm run lint
## Judge criteria
- [errors] Every error is told. (2 of 3 votes)
- It is calm.
"""


@pytest.mark.feature("V1")
def test_the_sections_of_a_rubric_are_configuration(tmp_path: Path) -> None:
    write(tmp_path, RUBRIC__md=RUBRIC)
    resolved = resolve(read_layers(tmp_path))
    config = resolved.config
    assert [(check.title, check.command) for check in config.checks] == [("tests", "npm test"), ("npm run lint", "npm run lint")]
    assert [(one.id, one.needed, one.votes) for one in config.judge.criteria] == [("errors", 2, 3), ("c2", 1, 1)]
    assert (config.judge.envisioning, config.judge.model, config.limits.iterations) == ("Calm.", "opus", 7)
    assert {resolved.origins[key] for key in ("checks", "judge.criteria", "judge.envisioning")} == {"RUBRIC.md"}
    assert {resolved.origins[key] for key in ("goal", "judge.model", "limits.iterations")} == {"RUBRIC.md front matter"}


@pytest.mark.feature("V1")
def test_every_flaw_of_a_rubric_is_told_with_file_line_cause_and_remedy(tmp_path: Path) -> None:
    write(tmp_path, RUBRIC__md="---\nhitl_treshold: 3\n---\n## Checks\n- a\n## Judge criterias\n- b\n")
    said = complaint(tmp_path)
    assert said.startswith(f"{tmp_path / 'RUBRIC.md'} cannot be used:")
    assert [line.strip() for line in said.splitlines()[1:]] == [
        "RUBRIC.md:2: unknown key 'hitl_treshold'; did you mean hitl_threshold?",
        "RUBRIC.md:6: unknown section ## Judge criterias; did you mean ## Judge criteria?",
        "what to do: fix the file; `helmsman rubric check` shows what is understood",
    ]


def autochecks(folder: Path) -> None:
    (folder / ".claude").mkdir()
    (folder / ".claude" / "autochecks.sh").write_text("npm test\n")


@pytest.mark.feature("V2")
def test_the_autochecks_script_is_the_default_check(tmp_path: Path) -> None:
    autochecks(tmp_path)
    write(tmp_path, helmsman__toml='goal = "g"\n', RUBRIC__md="## Judge criteria\n- It works.\n")
    resolved = resolve(read_layers(tmp_path))
    assert [(check.name, check.command) for check in resolved.config.checks] == [("autochecks", "sh .claude/autochecks.sh")]
    assert resolved.origins["checks"] == ".claude/autochecks.sh"


@pytest.mark.feature("V2")
@pytest.mark.parametrize(
    "files", [{"helmsman__toml": 'checks = ["a"]'}, {"RUBRIC__md": "## Checks\n- a\n"}], ids=["toml", "rubric"]
)
def test_the_autochecks_script_is_added_to_no_other_checks(tmp_path: Path, files: dict[str, str]) -> None:
    autochecks(tmp_path)
    write(tmp_path, **files)
    resolved = resolve([Layer("command line", {"goal": "g"}), *read_layers(tmp_path)])
    assert [check.command for check in resolved.config.checks] == ["a"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_byte_order_marks_and_either_kind_of_line_end_are_read(tmp_path: Path, mark: bytes, end: bytes) -> None:
    toml = mark + end.join([b"goal = '''", b"one", b"two'''", b""])
    rubric = mark + end.join([b"---", b"limits:", b"  iterations: 5", b"--- ", b"# Rubric", b""])
    write(tmp_path, helmsman__toml=toml, RUBRIC__md=rubric)
    config = resolve(read_layers(tmp_path)).config
    assert (config.goal, config.limits.iterations) == ("one\ntwo", 5)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("goal = 'x'\nlimits.iterations 5\n", "line 2, column 19"),
        ("x = " + "[" * 5000, "nested too deeply"),
        (b"goal = 'x'\n\n# \xff", "line 3 is not UTF-8"),
        ("#" * (LARGEST_FILE + 1), "larger than 1048576 bytes"),
    ],
)
def test_a_broken_toml_file_names_itself_and_the_place(tmp_path: Path, text: str | bytes, cause: str) -> None:
    write(tmp_path, helmsman__toml=text)
    said = complaint(tmp_path)
    assert said.startswith(f"{tmp_path / 'helmsman.toml'} cannot be used: ")
    assert cause in said


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("---\ngoal: x\n", "line 1 opens front matter with --- and no line closes it"),
        ("---\nmodel: x\n  goal: y\n---\n", "line 3, column 7"),
        ("---\n- goal\n---\n", "must be KEY: VALUE lines, found ['goal']"),
        ("---\ngoal: !!python/object/apply:os.system ['true']\n---\n", "line 2 has an alias or a tag"),
        ("---\ngoal: \x00\n---\n", "special characters are not allowed"),
    ],
)
def test_a_broken_rubric_names_itself_and_the_cause(tmp_path: Path, text: str | bytes, cause: str) -> None:
    write(tmp_path, RUBRIC__md=text)
    said = complaint(tmp_path)
    assert said.startswith(f"{tmp_path / 'RUBRIC.md'} cannot be used: ")
    assert cause in said


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("[" * 16_000, "nested more than 20 levels deep"),
        ("# " * 10_000, "longer than 16384 characters"),
    ],
)
@pytest.mark.feature("X3")
def test_front_matter_made_to_exhaust_the_reader_is_refused_soon(tmp_path: Path, content: str, cause: str) -> None:
    write(tmp_path, RUBRIC__md=f"---\n{content}\n---\n")
    assert cause in complaint(tmp_path)


def test_a_file_that_the_operator_names_is_a_layer_under_its_path(tmp_path: Path) -> None:
    write(tmp_path, night__toml="limits.iterations = 9")
    assert read_file(tmp_path / "night.toml") == Layer(str(tmp_path / "night.toml"), {"limits": {"iterations": 9}})


def test_a_named_file_that_cannot_be_read_is_an_error_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for name, found in [("missing.toml", "no such file"), (".", "a folder"), ("pipe.toml", "something else than a file")]:
        with pytest.raises(OperatorError) as caught:
            read_file(tmp_path / name)
        assert caught.value.found == found
        assert str(tmp_path / name) in caught.value.problem
    with pytest.raises(OperatorError, match="cannot be read"):
        read_file(tmp_path / ("x" * 5000))


@pytest.mark.parametrize("name", ["helmsman__toml", "RUBRIC__md", "pyproject__toml"])
def test_goal_file_gives_the_goal_from_a_file_beside_it(tmp_path: Path, name: str) -> None:
    layout = {
        "helmsman__toml": 'goal_file = "PROMPT.md"',
        "RUBRIC__md": "---\ngoal_file: PROMPT.md\n---\n",
        "pyproject__toml": '[tool.helmsman]\ngoal_file = "PROMPT.md"',
    }
    write(tmp_path, **{name: layout[name]}, PROMPT__md=b"\xef\xbb\xbfMake it work.\r\n\r\nThen fast.\r\n")
    resolved = resolve(read_layers(tmp_path))
    assert resolved.config.goal == "Make it work.\n\nThen fast."
    assert resolved.origins["goal"] == read_layers(tmp_path)[0].source


def test_goal_file_is_relative_to_the_folder_of_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    write(tmp_path / "sets", night__toml='goal_file = "../PROMPT.md"')
    write(tmp_path, PROMPT__md="Make it work.")
    assert read_file(tmp_path / "sets" / "night.toml").values == {"goal": "Make it work."}


@pytest.mark.parametrize(
    ("named", "content", "said"),
    [
        ("missing.md", b"", "found: no such file"),
        ("PROMPT.md", b" \r\n\t\n", "goal_file (command line) is empty"),
        ("PROMPT.md", b"x" * (LARGEST_FILE + 1), "larger than 1048576 bytes"),
        ("PROMPT.md", b"\xff", "line 1 is not UTF-8"),
        (5, b"", "expected: text"),
    ],
)
def test_a_goal_file_that_gives_no_goal_is_an_error(tmp_path: Path, named: Any, content: bytes, said: str) -> None:
    write(tmp_path, PROMPT__md=content)
    with pytest.raises(OperatorError) as caught:
        resolve_goal_file(Layer("command line", {"goal_file": named}), tmp_path)
    assert said in str(caught.value)
    assert "goal_file (command line)" in str(caught.value) or str(tmp_path / "PROMPT.md") in str(caught.value)


PROMPT = "# Build the parser\n\nSay <promise>PARSED</promise> when it is done.\n"


def bring(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def configured(top: Path, goal: str = "", **settings: object) -> LoopSettings:
    return configure(top, LoopRequest(repository=str(top), goal=goal, checks=("true",), settings=settings))


@pytest.mark.parametrize("folder", ["", ".ralph/"])
def test_a_prompt_gives_goal_promise_and_the_plan_beside_it(tmp_path: Path, folder: str) -> None:
    bring(tmp_path, {f"{folder}PROMPT.md": PROMPT, f"{folder}@fix_plan.md": "- [ ] one\n"})
    resolved = configured(tmp_path)
    config = resolved.config
    assert (config.goal, config.completion.promise) == (PROMPT.strip(), "<promise>PARSED</promise>")
    assert (config.plan.file, resolved.origins["goal"]) == (f"{folder}@fix_plan.md", f"{folder}PROMPT.md")


def test_a_goal_from_somewhere_else_leaves_prompt_and_plan_alone(tmp_path: Path) -> None:
    bring(tmp_path, {".ralph/PROMPT.md": PROMPT, ".ralph/fix_plan.md": "- [ ] one\n"})
    config = configured(tmp_path, "Something else").config
    assert (config.goal, config.plan.file, config.completion.promise) == ("Something else", "", "<promise>COMPLETE</promise>")


def test_a_prompt_with_two_promises_is_refused_until_one_is_said(tmp_path: Path) -> None:
    bring(tmp_path, {"PROMPT.md": f"{PROMPT}Or <promise>BLOCKED</promise>.\n"})
    with pytest.raises(OperatorError, match=r"<promise>PARSED</promise> in line 3, <promise>BLOCKED</promise> in line 4"):
        configured(tmp_path)
    said = configured(tmp_path, completion={"promise": "<promise>PARSED</promise>"})
    assert said.config.completion.promise == "<promise>PARSED</promise>"


def test_the_alignment_of_gulf_loop_is_used_if_there_is_no_other(tmp_path: Path) -> None:
    bring(tmp_path, {".claude/gulf-align.md": GULF, "PROMPT.md": PROMPT})
    config = configured(tmp_path).config
    assert (config.goal, config.alignment) == ("Export the rows as CSV", ".claude/gulf-align.md")
    (tmp_path / "ALIGNMENT.md").write_text("# Alignment of our wheels\n")
    assert configured(tmp_path).config.alignment == "ALIGNMENT.md"
