"""The real command line in a box without a network, steered as ever: its model and its hooks are reached, and nothing else."""

from pathlib import Path

import pytest

from deployments.demo_model import bash, by_call, call, say
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository
from tests.fakes.sandbox_scene import SANDBOXED

pytestmark = [pytest.mark.needs("bubblewrap"), pytest.mark.timeout(300), pytest.mark.feature("D5")]

WORK = (
    call(bash("cat $HOME/.ssh/id_ed25519; cat ../../../secret")),
    call(bash("git push origin HEAD")),
    call(bash("curl -sS -m 5 https://evil.example/; echo done")),
    call(bash("echo 2 > app.py && git add app.py && git commit -q -m 'Make it two' && git log --oneline | wc -l")),
    say("Done. <promise>COMPLETE</promise>"),
)


def test_a_loop_completes_in_a_sandbox_that_reaches_only_the_model(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n"})
    with scripted_command_line(tmp_path, prefect_server.url, by_call([WORK])) as helmsman:
        keys = tmp_path / "home" / ".ssh"
        keys.mkdir()
        (keys / "id_ed25519").write_text("THE-KEY")
        (tmp_path / "secret").write_text("THE-SECRET")
        told = helmsman.run_loop("g", "--check", f"grep 2 app.py && ! test -e {keys}", "--json", **SANDBOXED)
        assert told.exit_code == 0, told
        seen = str(helmsman.model.requests[-1].body["messages"])
        (record,) = read_records(open_repository(helmsman.repository), "loop")
    assert "THE-KEY" not in seen
    assert "THE-SECRET" not in seen
    assert [guarded.rule for guarded in record.execution.call.guarded if guarded.denied] == ["push"]
    assert record.execution.change.commits[0].subject == "Make it two"
    assert "evil.example:443" in (tmp_path / "repository/.git/helmsman/loops/loop/journal.jsonl").read_text()
    assert git(tmp_path / "repository", "log", "-1", "--format=%s", "helmsman/loop").strip() == "Make it two"
