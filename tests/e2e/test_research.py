"""Research before the work, with the real agent: it looks, whatever it tries to change, and what it found is there afterwards."""

from pathlib import Path

import pytest

from deployments.demo_model import Request, Script, Turn, bash, call, say
from tests.fakes.command_line import scripted_command_line
from tests.fakes.drifting_agents import AGENTS_OVER_TIME, CHECK, GOAL, repository
from tests.fakes.pathologies import PROMISE, SOLVED, keep, put, status
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import sh

pytestmark = pytest.mark.timeout(300)

FOUND = """\
## STRENGTHS
- shop.py has one place that adds prices up
## RISKS
- an empty list; check.sh would show it
## GAPS
- nothing is said of rounding
## APPROACHES_CONSIDERED
- subtract in each caller: rejected, they would drift apart
## APPROACH
Subtract the discount in total() itself and return the smallest price in cheapest().
## CONFIDENCE
85
"""
LOOK = "# Research: this iteration changes no source"
ALONE = ("--set", "research.use=true")


def scripted(prompts: dict[int, str], *sessions: str) -> Script:
    """Sessions of a shell text each; the last one ends with the promise."""

    def script(request: Request) -> Turn:
        prompts.setdefault(request.call, request.prompt)
        number = min(request.call, len(sessions) - 1)
        if request.turn == 0:
            return call(bash(sessions[number]))
        return say(f"Done.\n{status(files=1)}\n{PROMISE}" if number == len(sessions) - 1 else "The approach is written down.")

    return script


@pytest.mark.slow
@pytest.mark.feature("M6")
def test_research_changes_no_source_is_asked_for_until_it_is_complete_and_leads_the_work(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    prompts: dict[int, str] = {}
    repository(tmp_path / "repository", AGENTS_OVER_TIME[0])
    hasty = put("shop.py", SOLVED) + keep("Done at once")
    wrote = put(".helmsman/research.md", FOUND)
    script = scripted(prompts, hasty + wrote, wrote, put("shop.py", SOLVED) + keep("Subtract the discount"))
    with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
        ended = helmsman.run_loop(GOAL, "--check", CHECK, *ALONE, "--set", "steering.hooks=false")
        assert ended.exit_code == 0, ended
        first, second, third = helmsman.run_json("log", "loop")
    assert LOOK in prompts[0]
    assert LOOK in prompts[1]
    assert "1 file changed and restored (shop.py)" in prompts[1]
    assert LOOK not in prompts[2]
    assert "APPROACH: Subtract the discount in total() itself" in prompts[2]
    assert first["execution"]["change"]["files_changed"] == 0
    assert first["execution"]["put_back"] == ["shop.py"]
    assert (first["memory"]["research"]["problems"] != [], second["memory"]["research"]["problems"]) == (True, [])
    assert (first["moment"], second["moment"], third["moment"]["iteration"]) == (None, None, 3)
    kept = sh(tmp_path / "repository", "log", "-1", "--format=%s", "refs/helmsman/loop/failed/1-1").strip()
    assert kept == "Done at once"
    assert "research.md" not in sh(tmp_path / "repository", "ls-tree", "-r", "--name-only", "helmsman/loop")
