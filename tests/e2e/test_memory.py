"""A loop is better the second time: real agent, real engine, real store; only the model is scripted."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from deployments.demo_model import Request, Script, Turn, bash, call, say
from helmsman.memory.learned_guardrails import Verdict, verdict
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Guardrail
from tasks.memory import open_store
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.drifting_agents import AGENTS_OVER_TIME, CHECK, repository
from tests.fakes.pathologies import PROMISE, SHOP, SOLVED, keep, put, status
from tests.fakes.prefect_server import PrefectServer

pytestmark = pytest.mark.timeout(600)

LEARNT = "# Lessons of this project"
ALONE = ("--set", "steering.hooks=false", "--set", "ladder.act=false")
VAIN, WISE, SLOW = "The shop stays as it is.", "The shop does what its tests say.", "The shop is mended in the end."


def script(prompts: list[str]) -> Script:
    """Goals name the agent: in vain for ever, in vain three times, and one that solves it where it was told how."""
    tried: dict[str, int] = {}

    def answer(request: Request) -> Turn:
        goal = next(goal for goal in (VAIN, SLOW, WISE) if goal in request.prompt)
        if request.turn:
            return say(f"Done.\n{status(files=1)}\n{PROMISE}" if _solves(goal, tried[goal], request) else "More remains.")
        prompts.append(request.prompt)
        tried[goal] = tried.get(goal, 0) + 1
        if _solves(goal, tried[goal], request):
            return call(bash(put("shop.py", SOLVED) + keep("Subtract the discount in total() and take the smallest price")))
        return call(bash(put("shop.py", f"{SHOP}# {goal} attempt {tried[goal]}\n") + keep(f"Try {tried[goal]}")))

    return answer


def _solves(goal: str, tried: int, request: Request) -> bool:
    return (goal == SLOW and tried > 3) or (goal == WISE and LEARNT in request.prompt)


def drive(helmsman: ScriptedCommandLine, name: str, goal: str, iterations: int) -> tuple[int, str]:
    most = f"limits.iterations={iterations}"
    ended = helmsman.run(
        "run", goal, "--yes", "--check", CHECK, "--name", name, "--repo", helmsman.repository, *ALONE, "--set", most
    )
    return ended.exit_code, ended.output


def database(helmsman: ScriptedCommandLine) -> Path:
    return Path(helmsman.variables["HELMSMAN_HOME"]) / "memory" / "memory.db"


def guardrails(helmsman: ScriptedCommandLine) -> list[Guardrail]:
    """Those of failing tests, retired ones too, the oldest first."""
    with open_store(f"sqlite:///{database(helmsman)}", datetime.now(UTC)) as store:
        found = store.guardrails(store.summaries()[0].subject.project, retired=True)
    return [one for one in found if one.failure is FailureClass.TEST]


@pytest.mark.slow
@pytest.mark.feature("L1", "L2", "L5", "L6")
def test_a_recurring_failure_creates_a_guardrail_that_is_retired_when_useless(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    prompts: list[str] = []
    repository(tmp_path / "repository", AGENTS_OVER_TIME[0])
    with scripted_command_line(tmp_path, prefect_server.url, script(prompts)) as helmsman:
        code, output = drive(helmsman, "first", SLOW, 6)
        assert code == 0, output
        assert "guardrail" in output
        (born,) = guardrails(helmsman)
        assert (born.before_seen, born.retired, "first" in born.origin) == (3, "", True)
        assert [LEARNT in prompt for prompt in prompts] == [False, False, False, True]
        page = tmp_path / "repository" / ".git" / "helmsman" / "guardrails.md"
        assert born.instruction in page.read_text()

        code, output = drive(helmsman, "second", WISE, 3)
        assert code == 0, output
        assert born.instruction in prompts[-1]
        (heeded,) = guardrails(helmsman)
        assert (heeded.after_of, heeded.after_seen, heeded.loops) == (born.after_of + 1, 0, born.loops + 1)
        (told,) = helmsman.run_json("log", "second")
        assert [one["id"] for one in told["recalled"]["guardrails"]] == [born.id]

        for name in ("third", "fourth"):
            drive(helmsman, name, VAIN, 5)
        assert all(one.retired for one in guardrails(helmsman))
        useless = guardrails(helmsman)[-1]
        assert verdict(useless) is Verdict.INEFFECTIVE
        assert useless.retired.startswith("ineffective")
        assert useless.after_seen >= 8
        drive(helmsman, "fifth", VAIN, 1)
        assert LEARNT not in prompts[-1]
        assert useless.instruction not in page.read_text()
