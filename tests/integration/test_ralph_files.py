"""Files of other loops in a repository: goal, promise, plan and settings come from them, and nothing that is the operator's."""

from pathlib import Path

import pytest

from helmsman.config.owners import NotAgreed
from helmsman.errors import OperatorError
from helmsman.records.request import LoopRequest
from tasks.agents.catalogue import LoopSettings
from tasks.loop.configure import configure, in_repository
from tests.fakes.command_line import looking, make_repository
from tests.unit.test_alignment_file import GULF

pytestmark = pytest.mark.feature("E11")

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


def test_settings_of_ralphrc_hold_under_those_of_helmsman_toml(tmp_path: Path) -> None:
    rc = "MAX_CALLS_PER_HOUR=50\nCLAUDE_TIMEOUT_MINUTES=4\n"
    bring(tmp_path, {".ralphrc": rc, "helmsman.toml": "limits.calls_per_hour = 60\n"})
    resolved = configured(tmp_path, "g")
    assert (resolved.config.limits.calls_per_hour, resolved.config.claude.timeout_minutes) == (60, 4)
    assert resolved.origins["claude.timeout_minutes"] == ".ralphrc line 2 (CLAUDE_TIMEOUT_MINUTES)"


@pytest.mark.parametrize(
    ("rc", "why"),
    [
        ("\nFOO=1\n", r"\.ralphrc:2: unknown key 'FOO'"),
        ("MAX_ITERATIONS=0", r"limits.iterations \(.ralphrc line 1 \(MAX_ITERATIONS\)\): expected at least 1"),
    ],
)
def test_a_ralphrc_that_cannot_be_honoured_is_refused_with_its_line(tmp_path: Path, rc: str, why: str) -> None:
    bring(tmp_path, {".ralphrc": rc})
    with pytest.raises(OperatorError, match=why):
        configured(tmp_path, "g")


@pytest.mark.feature("X5")
def test_tools_and_programs_of_ralphrc_need_the_operators_consent(tmp_path: Path) -> None:
    helmsman = looking(tmp_path)
    make_repository(helmsman.repository)
    bring(helmsman.repository, {".ralphrc": 'ALLOWED_TOOLS="Write,Read"\nCLAUDE_CODE_CMD=./evil\n'})
    with pytest.raises(NotAgreed):
        configured(helmsman.repository, "g")
    told = {(one.file, said.key, said.line) for one in in_repository(helmsman.repository) for said in one.settings}
    assert told == {
        (".ralphrc", "claude.allowed_tools", 1),
        (".ralphrc", "claude.permission_mode", 1),
        (".ralphrc", "claude.binary", 2),
    }
    refused = helmsman.run("run", "g", "--check", "true", "--yes", "--repo", helmsman.repository)
    assert (refused.exit_code, ".ralphrc:2: claude.binary" in refused.errors) == (2, True)


def test_the_alignment_of_gulf_loop_holds_where_there_is_none_of_ours(tmp_path: Path) -> None:
    bring(tmp_path, {".claude/gulf-align.md": GULF, "PROMPT.md": PROMPT})
    config = configured(tmp_path).config
    assert (config.goal, config.alignment) == ("Export the rows as CSV", ".claude/gulf-align.md")
    (tmp_path / "ALIGNMENT.md").write_text("# Alignment of our wheels\n")
    assert configured(tmp_path).config.alignment == "ALIGNMENT.md"
