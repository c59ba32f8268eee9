"""A hat on its way to the agent: its prompt, its model and its tools are what the agent's program is started with."""

from pathlib import Path

import pytest

from helmsman.records.decision import Outcome
from helmsman.records.hats import Condition, PresetSheet
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.scripted_agent import PROMISE, prompt_of, says
from tests.flows.conftest import Drive
from tests.integration.test_presets import put
from tests.unit.hat_scenes import DEBUGGER, definition_text, hat

SHEET = PresetSheet(
    name="mine",
    title="Mine",
    about="Ours.",
    hats=("starter", "debugger"),
    settings={"limits": {"iterations": 7}},
    guidance="Words for all.",
)
STARTER = hat("starter", Condition(first=True), prompt="Begin at the beginning.")
CHECK = """\
grep -qs 42 answer && { echo '=== 3 passed in 0.10s ==='; exit 0; }
echo 'FAILED tests/test_a.py::test_sum - assert 1 == 2'; echo '=== 1 failed, 2 passed in 0.10s ==='; exit 1"""
REWRITE = "mkdir -p .helmsman/hats; echo 'Give up.' > .helmsman/hats/debugger.md"


@pytest.mark.feature("M10", "V5")
def test_a_review_leaves_a_report_and_nothing_else(drive: Drive, repository: Path) -> None:
    work = "echo '## high: the check trusts a file' > REVIEW.md; echo true > check.sh; echo x > notes"
    judge: dict[str, list[str]] = {"criteria": []}  # nobody is there to judge
    driven = drive([says(f"Here it is.\n{PROMISE}", shell=work)], checks=(), preset="review", judge=judge)
    assert (driven.state.outcome, driven.state.iteration) == (Outcome.COMPLETED, 1)
    assert git(repository, "diff", "--name-only", "main", "helmsman/loop").split() == ["REVIEW.md"]
    (record,) = read_records(open_repository(repository), "loop")
    assert record.execution.put_back == ("check.sh", "notes")


@pytest.mark.slow
@pytest.mark.feature("M10")
def test_tests_that_fail_twice_bring_the_debugger_with_prompt_model_and_tools(
    drive: Drive, repository: Path, tmp_path: Path
) -> None:
    """Whatever the agent writes about hats in its worktree: the loop keeps those that it began with."""
    for folder, name, text in (
        ("presets", "mine", definition_text(SHEET)),
        ("hats", "starter", definition_text(STARTER)),
        ("hats", "debugger", definition_text(DEBUGGER)),
    ):
        put(repository, f".helmsman/{folder}", name, text)
    count = f'printf "%s\\n" "$@" > {tmp_path}/$number.args; date +%N > noise; {REWRITE}'
    solve = f"{count}; echo 42 > answer"
    driven = drive([says(shell=count), says(shell=count), says(PROMISE, shell=solve)], checks=(CHECK,), preset="mine")
    assert (driven.state.outcome, driven.state.iteration) == (Outcome.COMPLETED, 3)
    assert driven.state.config.limits.iterations == 7
    records = list(read_records(open_repository(repository), "loop"))[::-1]
    assert [(record.hat.name, record.hat.why) for record in records if record.hat] == [
        ("starter", "nothing is done yet"),
        ("implementer", "no other hat's condition holds"),
        ("debugger", "failures of test, 2 in a row"),
    ]
    prompts = [prompt_of(driven.agent, number) for number in range(3)]
    assert all("Words for all." in prompt for prompt in prompts)
    assert [DEBUGGER.prompt in prompt for prompt in prompts] == [False, False, True]
    assert [STARTER.prompt in prompt for prompt in prompts] == [True, False, False]
    started = [(tmp_path / f"{number}.args").read_text().splitlines() for number in range(3)]
    assert ["opus" in words for words in started] == [False, False, True]
    assert [words[words.index("--disallowedTools") + 1] for words in started] == [
        "Bash(git push:*)",
        "Bash(git push:*)",
        "Bash(git push:*),WebSearch",
    ]
    assert ".helmsman" not in git(repository, "ls-tree", "-r", "--name-only", "helmsman/loop")
