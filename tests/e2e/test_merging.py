"""Two loops with the real agent that merge their own work: the second meets the first one's, and keeps both intents."""

from pathlib import Path

import pytest

from deployments.demo_model import Request, Script, Turn, bash, call, say
from tests.fakes.bench import eventually
from tests.fakes.command_line import Driving, driving, ended, make_repository, the_object
from tests.fakes.pathologies import PROMISE, keep, status
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import sh

pytestmark = pytest.mark.timeout(400)

FILES = {
    "greet.sh": "echo hello\n",
    "check.sh": 'for one in tests/*.sh; do sh "$one" || exit 1; done\n',
    "tests/any.sh": "sh greet.sh\n",
}
LOUD, POLITE = "The greeting is loud", "The greeting is polite"
SAY = {LOUD: "echo HELLO", POLITE: "echo hello, please"}
RULE = {LOUD: "sh greet.sh | grep -q HELLO", POLITE: "sh greet.sh | grep -q please"}


def script(folder: Path) -> Script:
    """The polite one thinks for as long as a file says so; who is to merge does what both sides want."""

    def answer(request: Request) -> Turn:
        if request.turn:
            return say(f"Done.\n{status(files=2)}\n{PROMISE}")
        goal = LOUD if LOUD in request.prompt.split("Iteration ")[0] else POLITE
        if "merge two intents" in request.prompt:
            return call(bash("echo 'echo HELLO, please' > greet.sh\n" + keep("Loud and polite")))
        name = goal.split()[-1]
        held = f"touch {folder}/held; while test -e {folder}/hold; do sleep 0.1; done\n" if goal is POLITE else ""
        return call(bash(f"{held}echo '{SAY[goal]}' > greet.sh; echo '{RULE[goal]}' > tests/{name}.sh\n" + keep(goal)))

    return answer


def order(helmsman: Driving, goal: str) -> list[str | Path]:
    where: list[str | Path] = ["--repo", helmsman.repository, "--name", goal.rsplit(maxsplit=1)[-1], "--merge", ".", "--json"]
    return ["run", goal, "--yes", "--check", "sh check.sh", *where, "--set", "steering.stop_blocks=0"]


@pytest.mark.slow
@pytest.mark.feature("M4")
def test_of_two_loops_that_change_the_same_line_both_intents_are_merged(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", FILES)
    (tmp_path / "hold").touch()
    with driving(tmp_path, prefect_server.url, script(tmp_path)) as helmsman:
        polite = helmsman.start(*order(helmsman, POLITE))
        assert eventually((tmp_path / "held").exists, 120)
        loud = helmsman.run(*order(helmsman, LOUD))
        assert loud.exit_code == 0, loud
        (tmp_path / "hold").unlink()
        met = ended(polite)
        assert met.exit_code == 0, met
        told = helmsman.run("status", "polite", "--repo", helmsman.repository)
        tasks = {request.call for request in helmsman.model.requests if "merge two intents" in request.prompt}
    top, first, second = tmp_path / "repository", the_object(loud.output), the_object(met.output)
    assert (first["iterations"], second["iterations"], len(tasks)) == (1, 2, 1)
    assert sh(top, "rev-parse", "main", "main^1").split() == [second["merged"]["commit"], first["merged"]["commit"]]
    assert (top / "greet.sh").read_text() == "echo HELLO, please\n"
    assert {"loud.sh", "polite.sh"} <= {path.name for path in (top / "tests").iterdir()}
    assert sh(top, "status", "--porcelain") == ""
    assert f"merged     into main as {second['merged']['commit'][:12]}" in told.output
