"""The step `plan`: what is kept and charged where a model is to write for the prompt."""

from pathlib import Path

import pytest

from deployments.demo_model import Turn, say
from helmsman.records.control import EscalationLevel, Ladder, Oversight
from tasks.models.asking import write_texts
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import LoopContext
from tasks.system.paths import LoopFolder
from tests.fakes.faults import Fault
from tests.fakes.judge_api import JudgeApi
from tests.unit.builders import config, orientation, state
from tests.unit.histories import history, step


@pytest.mark.feature("O5", "O8")
@pytest.mark.parametrize("turn", [say("no"), Fault(status=401)])
def test_where_no_model_can_write_the_templates_serve_with_the_reasons(tmp_path: Path, turn: Turn) -> None:
    of = config("make it so", prompt={"written": True})
    redesign = Oversight(ladder=Ladder(rung=EscalationLevel.REDESIGN, reason="stuck"))
    before = state(of, iteration=1, history=history(step()), oversight=redesign)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "start")
    context = LoopContext(open_repository(tmp_path), tmp_path, LoopFolder(tmp_path / "loop"))
    with JudgeApi((turn, turn)) as api:
        plan = write_texts(context, before, orientation(), lambda: api.credentials)
        asked = len(api.requests)
    assert (plan.focus, plan.compacted, asked, len(plan.reasons)) == ("", "", 2, 2)
