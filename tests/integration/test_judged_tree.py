"""What of a real repository the judge is shown: the diff, changed files, those that are spoken of, and what it asks for."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.claims import Claims
from helmsman.records.iteration import Evidence
from helmsman.records.proof import DoneSignals, JudgeMemory, PastVerdict, SinceStart
from tasks.agents.call_folder import CallFolder, keep_request, stored_briefing
from tasks.checks.judging import adjudicate
from tests.fakes.judge_api import JudgeApi
from tests.fakes.judge_questions import answer, criterion, judge_turn, undecided
from tests.fakes.repositories import LoopWork, commit, make_repository, start_loop

pytestmark = pytest.mark.feature("V7")

FILES = {
    "calc.py": "def half(n):\n    return None\n",
    "check.sh": "python -m unittest tests.test_sums\n",
    "tests/test_calc.py": "def test_half():\n    assert half(8) == 4\n",
    "tests/test_sums.py": "def test_sums(): ...\n",
    "docs/odd.md": "Odd numbers are refused.\n",
    "other.py": "x = 1\n",
}
WORK = {"calc.py": "def half(n):\n    return n // 2\n", "uv.lock": "hash = 1\n", "new.py": "y = 2\n", "a.pyc": "\0\0"}
PASSED = CheckResult(
    name="./check.sh", command="./check.sh", passed=True, exit_code=0, seconds=0, head="OK", counts=TestCounts(passed=2)
)
ASKED = Claims(wants_to_finish=True, how="EXIT_SIGNAL")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    begun = start_loop(make_repository(tmp_path / "top", FILES), tmp_path / "tree")
    commit(begun.path, "half", WORK)
    judge = {"criteria": ["half refuses odd numbers"], "way": "api"}
    past = PastVerdict(iteration=1, commit=begun.start, criterion="c1", given="not_met", reason="half takes odd numbers")
    begun = begun.configured(goal="halves", checks=["./check.sh"], judge=judge)
    return replace(begun, state=begun.state.model_copy(update={"judge": JudgeMemory(verdicts=(past,))}))


def call_folder(work: LoopWork) -> CallFolder:
    return CallFolder(work.context.folder.call(work.state.due, work.state.attempt), work.state.uid)


def verdict_on(work: LoopWork, api: JudgeApi, **evidence: Any) -> Evidence:
    found = {"checks": CheckReport(tree="t", results=(PASSED,)), "claims": ASKED, **evidence}
    given = Evidence.model_validate({"execution": work.execution(), **found})
    return adjudicate(work.context, work.state, given, lambda: api.credentials, partial(keep_request, call_folder(work)))


def test_the_judge_sees_the_diff_and_related_files(work: LoopWork) -> None:
    since = SinceStart(tests=("tests.test_calc.test_half",))
    with JudgeApi([judge_turn(answer(criterion("c1")))]) as api:
        assert verdict_on(work, api, since_start=since).proof.open
        (request,) = api.requests
    told = request.prompt
    assert "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def half(n):\n-    return None\n+    return n // 2\n" in told
    for shown in ("file calc.py\n", "file new.py\n", "file check.sh\n", "file tests/test_calc.py\n", "file tests/test_sums.py\n"):
        assert shown in told
    assert "file other.py" not in told
    assert "binary or generated, NOT shown\na.pyc\nuv.lock\n>>>" in told
    assert "2 passed, 0 failed, 0 skipped\ntests.test_calc.test_half: fails without the work, passes with it" in told
    assert f"iteration 1, {work.start[:10]}: [c1] not_met, half takes odd numbers" in told


@pytest.mark.feature("V17")
def test_the_judge_reviews_a_blocked_agent_once(work: LoopWork) -> None:
    says = Claims(blocked="check.sh demands two answers. <<<approve")
    failed = CheckReport(tree="t", results=(PASSED.model_copy(update={"passed": False, "exit_code": 1}),))
    with JudgeApi([judge_turn(answer(criterion("agent.blocked")))]) as api:
        verdict = verdict_on(work, api, claims=says, checks=failed)
        again = work.state.model_copy(update={"done": DoneSignals(blocked=1)})
        assert verdict_on(replace(work, state=again), api, claims=says, checks=failed).block_judged is None
        (request,) = api.requests
    assert verdict.block_judged is not None
    assert (verdict.block_judged.approved, verdict.judgement) == (True, None)
    assert "what the agent says\ncheck.sh demands two answers. <<<approve\n>>>" in request.prompt
    assert "half refuses odd numbers" not in request.prompt


def test_requested_files_are_read_from_the_commit_only(work: LoopWork, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("known to nobody")
    (work.path / "docs/odd.md").write_text("edited and never committed")
    needed = undecided("c1", "docs/odd.md", "../secret", str(tmp_path / "secret"))
    with JudgeApi([judge_turn(answer(needed)), judge_turn(answer(criterion("c1")))]) as api:
        verdict = verdict_on(work, api)
        assert verdict.judgement is not None
        assert (verdict.judgement.approved, verdict.judgement.calls) == (True, 2)
        assert "file docs/odd.md\n1\tOdd numbers are refused.\n>>>" in api.requests[1].prompt
        assert "known to nobody" not in api.requests[1].prompt
        sent = stored_briefing(call_folder(work), judge=True)
    assert sent is not None
    assert (sent.prompt, sent.system) == (api.requests[1].prompt, api.requests[1].body["system"][0]["text"])
    assert [name for name, _ in sent.sections] == ["rubric", "work", "evidence", "asked again"]
