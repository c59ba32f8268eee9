"""A chain of loops with the real agent: each begins with the work of the one before it, and what has completed stays so."""

import json
from pathlib import Path

import pytest

from deployments.demo_model import Request, Script, Turn, bash, call, say
from tests.fakes.command_line import Driving, driving, make_repository
from tests.fakes.pathologies import PROMISE, keep, status
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import sh

pytestmark = pytest.mark.timeout(400)

FIRST, SECOND = "one.txt says one", "two.txt says what one.txt says, and two"
CHAIN = f"""\
name = "numbers"

[[loops]]
goal = "{FIRST}"
checks = ["grep -q one one.txt"]

[[loops]]
goal = "{SECOND}"
checks = ["grep -q one two.txt && grep -q two two.txt"]
"""
ALONE = ("--set", "limits.iterations=1", "--set", "steering.stop_seconds=0")


def script(folder: Path) -> Script:
    """The second loop's agent needs what the first one's made, and works in vain while a file says so."""

    def answer(request: Request) -> Turn:
        if request.turn:
            return say(f"Done.\n{status(files=1)}\n{PROMISE}")
        if SECOND not in request.prompt:
            return call(bash("echo one > one.txt\n" + keep("Say one")))
        held = f"touch {folder}/held; while test -e {folder}/hold; do sleep 0.1; done\n"
        wanted = "true" if not (folder / "vain").exists() else "false"
        return call(bash(f"{held}{wanted} && {{ cat one.txt > two.txt; echo two >> two.txt; }}\n" + keep("Say both")))

    return answer


def chained(helmsman: Driving, file: Path) -> tuple[int, dict[str, str]]:
    """Exit code, and the outcome of each loop that has one."""
    ended = helmsman.run("chain", file, "--repo", helmsman.repository, *ALONE, "--json")
    loops: list[dict[str, str]] = json.loads(ended.output)["loops"]
    return ended.exit_code, {one["loop"]: one["outcome"] for one in loops if one["outcome"]}


@pytest.mark.slow
@pytest.mark.feature("M11")
def test_a_loop_of_a_chain_begins_with_the_work_before_it_and_a_chain_goes_on_where_it_broke_off(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository")
    (tmp_path / "chain.toml").write_text(CHAIN)
    (tmp_path / "vain").touch()
    with driving(tmp_path, prefect_server.url, script(tmp_path)) as helmsman:
        assert chained(helmsman, tmp_path / "chain.toml") == (3, {"numbers-1": "completed", "numbers-2": "stopped"})
        (tmp_path / "vain").unlink()
        again = helmsman.run("chain", tmp_path / "chain.toml", "--repo", helmsman.repository, "--set", "limits.iterations=3")
        assert again.exit_code == 0, again
        assert "numbers: 2 of 2 loops completed" in again.output
        firsts = [request for request in helmsman.model.requests if FIRST in request.prompt and SECOND not in request.prompt]
    assert len({request.call for request in firsts}) == 1  # what has completed is not done again
    repository = tmp_path / "repository"
    assert sh(repository, "show", "helmsman/numbers-2:two.txt") == "one\ntwo"
    sh(repository, "merge-base", "--is-ancestor", "helmsman/numbers-1", "helmsman/numbers-2")
