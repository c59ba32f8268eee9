"""Files of other loops in a repository: goal, promise, plan and alignment come from them."""

from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from helmsman.records.request import LoopRequest
from tasks.agents.catalogue import LoopSettings
from tasks.loop.configure import configure

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
