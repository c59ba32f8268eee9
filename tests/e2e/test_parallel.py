"""Three loops with the real agent at the same time on one repository, all of which want another thing of the same line."""

import shutil
from pathlib import Path

import pytest

from deployments.demo_model import Request, Script, Turn, bash, call, say
from tests.fakes.command_line import read_object, scripted_command_line
from tests.fakes.pathologies import PROMISE, keep, status
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually, processes
from tests.fakes.proven_loops import BranchSampler
from tests.fakes.repositories import make_repository, sh

pytestmark = pytest.mark.timeout(600)

FILES = {
    "greet.sh": "echo hello\n",
    "check.sh": 'for one in tests/*.sh; do sh "$one" || exit 1; done\n',
    "tests/any.sh": "sh greet.sh\n",
}
WORDS = {"loud": "HELLO", "polite": "please", "warm": "friend"}


def script(request: Request) -> Turn:
    """Each makes the greeting say its own word only; who has to merge makes it say all of them."""
    if request.turn:
        return say(f"Done.\n{status(files=2)}\n{PROMISE}")
    if "merge two intents" in request.prompt:
        return call(bash("echo 'echo HELLO, please, friend' > greet.sh\n" + keep("Say all of it")))
    name = next(name for name in WORDS if f"The greeting is {name}" in request.prompt.split("Iteration ")[0])
    rule = f"sh greet.sh | grep -q {WORDS[name]}"
    return call(bash(f"echo 'echo {WORDS[name]}' > greet.sh; echo '{rule}' > tests/{name}.sh\n" + keep(f"Be {name}")))


def failing(top: Path, commits: set[str], folder: Path) -> list[str]:
    """Commits whose tree does not pass the check that every one of them holds."""
    found: list[str] = []
    for one in sorted(commits):
        tree = folder / one
        sh(top, "worktree", "add", "--quiet", "--detach", str(tree), one)
        try:
            sh(tree, "-c", f"alias.check=!cd '{tree}' && sh check.sh", "check")
        except Exception:  # noqa: BLE001 - whatever it says, it does not pass
            found.append(one)
        sh(top, "worktree", "remove", "--force", str(tree))
    shutil.rmtree(folder, ignore_errors=True)
    return found


@pytest.mark.slow
@pytest.mark.feature("M5", "E3")
def test_a_group_whose_driver_is_killed_leaves_no_process_and_resumes_with_the_same_command(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", FILES)
    (tmp_path / "hold").touch()
    goals = [part for name in ("loud", "warm") for part in ("--goal", f"The greeting is {name}")]
    how = ("--check", "sh check.sh", "--name", "greet", "--set", "steering.stop_seconds=0", "--json")

    def held(request: Request) -> Turn:
        loop = "loud" if "The greeting is loud" in request.prompt.split("Iteration ")[0] else "warm"
        if request.turn:
            return say(f"Done.\n{status(files=1)}\n{PROMISE}")
        wait = f"touch {tmp_path}/at-work-{loop}; while test -e {tmp_path}/hold; do sleep 0.1; done\n"
        test = f"echo 'sh greet.sh | grep -q {WORDS[loop]}' > tests/{loop}.sh\n"
        return call(bash(f"{wait}echo 'echo {WORDS[loop]}' >> greet.sh\n{test}" + keep(f"Be {loop}")))

    with scripted_command_line(tmp_path, prefect_server.url, held) as helmsman:
        driver = helmsman.start("parallel", *goals, "--repo", helmsman.repository, *how)
        assert eventually(lambda: all((tmp_path / f"at-work-{loop}").exists() for loop in ("loud", "warm")), 120)
        running = read_object(helmsman.run("status", "greet", "--repo", helmsman.repository, "--json").output)
        driver.kill()
        driver.communicate(timeout=60)
        assert eventually(lambda: not processes("HELMSMAN_HOME", str(tmp_path / "state")), 60)
        left = helmsman.run("status", "greet", "--repo", helmsman.repository).output
        (tmp_path / "hold").unlink()
        again = helmsman.run("parallel", *goals, "--repo", helmsman.repository, *how)
    assert again.exit_code == 0, again
    assert [one["outcome"] for one in read_object(again.output)["loops"]] == ["completed"] * 2
    assert [one["loop"] for one in sorted(running["loops"], key=lambda one: one["loop"])] == ["greet-1", "greet-2"]
    assert running["driver"].startswith(f"process {driver.pid} on ")
    assert "group      greet, 2 loops\ndriven by  none; run the command that started it again to continue\n" in left


@pytest.mark.slow
@pytest.mark.feature("M5", "M4")
def test_three_agents_that_change_the_same_line_at_once_are_all_merged_and_the_base_passes_at_every_moment(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", FILES)
    goals = [part for name in WORDS for part in ("--goal", f"The greeting is {name}")]
    how = ("--check", "sh check.sh", "--merge", ".", "--name", "greet", "--set", "steering.stop_seconds=0", "--json")
    as_script: Script = script
    with scripted_command_line(tmp_path, prefect_server.url, as_script) as helmsman:
        with BranchSampler(tmp_path / "repository") as sampler:
            ended = helmsman.run("parallel", *goals, "--repo", helmsman.repository, *how)
        assert ended.exit_code == 0, ended
        again = helmsman.run("parallel", *goals, "--repo", helmsman.repository, *how)
        calls = {request.call for request in helmsman.model.requests}
    top, told = tmp_path / "repository", read_object(ended.output)
    assert [one["outcome"] for one in told["loops"]] == ["completed"] * 3, told
    assert all(one["merged"] for one in told["loops"])
    assert failing(top, sampler.seen, tmp_path / "trees") == []
    assert len(sampler.seen) >= 2
    assert (top / "greet.sh").read_text() == "echo HELLO, please, friend\n"
    merges = sh(top, "log", "--first-parent", "--format=%s", "main").splitlines()
    assert sorted(merges[:-1]) == [f"Merge helmsman/greet-{n}: The greeting is {name}" for n, name in enumerate(WORDS, 1)]
    assert sh(top, "status", "--porcelain") == ""
    assert [line for line in sh(top, "worktree", "list").splitlines() if "greet-" in line] == []
    assert (again.exit_code, len(calls)) == (0, 3 + 2)  # two met what another had merged; the second command did nothing
