"""The two senders that we hand out: the post-receive hook, under every shell that is here, and the example Action."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest
import yaml

from deployments.receiver import is_fresh, is_signed
from helmsman.parsers.pushes import read_hook
from tests.fakes.http_server import Call, Reply, serve_http
from tests.fakes.processes import ROOT, eventually
from tests.fakes.push_receiver import HOOK, SECRET, ServedRepository, install_hook, run_receiver, served_repository, signature_of
from tests.fakes.repositories import sh

pytestmark = [pytest.mark.slow, pytest.mark.feature("D2"), pytest.mark.needs("curl", "openssl")]

ACTION = ROOT / "deployments" / "hooks" / "helmsman-push.yml"
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
AWKWARD = (
    "spaces and $(signs) 'of' \"every\" %s \\0101 kind; and longer than a block of SHA-256, which is hashed first: " + "x" * 40
)


class HttpListener:
    """Records requests and responds with a status; while `let_go` is cleared, it holds the response back."""

    def __init__(self) -> None:
        self.url, self.status = "", 202
        self.heard: list[tuple[Mapping[str, str], bytes]] = []
        self.paths = set[str]()
        self.came, self.let_go = threading.Event(), threading.Event()
        self.let_go.set()

    def respond(self, call: Call) -> Reply:
        self.came.set()
        self.let_go.wait(60)
        self.heard.append((call.headers, call.body))
        self.paths.add(call.target)
        return Reply(self.status)


@pytest.fixture
def http_listener() -> Generator[HttpListener]:
    received = HttpListener()
    with serve_http(received.respond) as received.url:
        yield received
        received.let_go.set()


@pytest.fixture
def served(tmp_path: Path) -> ServedRepository:
    return served_repository(tmp_path / 'it\'s "here"', {"a": "b"})


def under(shell: str, served: ServedRepository) -> None:
    """Have the hook run by another shell than /bin/sh."""
    hook = served.bare / "hooks" / "post-receive"
    words = f"{shutil.which(shell)} sh" if shell == "busybox" else shutil.which(shell)
    hook.write_text(HOOK.read_text().replace("#!/bin/sh", f"#!{words}", 1))


@pytest.mark.feature("X2")
@pytest.mark.parametrize("secret", ["short", SECRET, AWKWARD], ids=["short", "usual", "awkward"])
@pytest.mark.parametrize("shell", SHELLS)
def test_the_hook_signs_the_input_from_git(
    shell: str, secret: str, served: ServedRepository, http_listener: HttpListener
) -> None:
    install_hook(served, http_listener.url, secret)
    under(shell, served)
    before = sh(served.bare, "rev-parse", "main")
    after = served.commit("change")
    served.push("HEAD:main")
    assert served.hook_is_done()
    ((headers, body),) = http_listener.heard
    parts = f"{headers['x-helmsman-timestamp']}.{headers['x-helmsman-delivery']}.".encode(), body
    assert body == f"project\n{before} {after} refs/heads/main\n".encode()
    assert is_signed(secret.encode(), parts, headers["x-helmsman-signature"])
    assert headers["x-helmsman-signature"] == f"sha256={signature_of(b''.join(parts), secret)}"
    assert is_fresh(headers["x-helmsman-timestamp"], float(headers["x-helmsman-timestamp"]) + 1)


@pytest.mark.feature("X3")
@pytest.mark.parametrize("shell", SHELLS)
def test_no_name_of_a_branch_is_ever_run(shell: str, served: ServedRepository, http_listener: HttpListener) -> None:
    install_hook(served, http_listener.url)
    under(shell, served)
    hostile = "we\"ird$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned;'&|>pwned%s%n-\u00e9"
    served.push(f"HEAD:refs/heads/{hostile}")
    assert served.hook_is_done()
    assert [update.ref for update in read_hook(http_listener.heard[0][1]).updates] == [f"refs/heads/{hostile}"]
    assert not list(served.bare.parent.rglob("pwned*"))


def test_only_branches_are_told_of_and_none_of_helmsman_s_own_however_many_slashes_end_the_address(
    served: ServedRepository, http_listener: HttpListener
) -> None:
    install_hook(served, f"{http_listener.url}//")
    sh(served.clone, "tag", "v1")
    served.push("v1", "HEAD:refs/heads/helmsman/a-loop", "HEAD:refs/helmsman/a-loop/state")
    assert not (served.bare / "helmsman-unsent").exists()
    served.push("HEAD:refs/heads/one", "HEAD:refs/heads/helmsman/two", "HEAD:refs/heads/three")
    assert served.hook_is_done()
    assert {update.ref for _, body in http_listener.heard for update in read_hook(body).updates} == {
        "refs/heads/one",
        "refs/heads/three",
    }
    assert http_listener.paths == {"/git"}


def test_a_push_ends_before_the_receiver_answers(served: ServedRepository, http_listener: HttpListener) -> None:
    install_hook(served, http_listener.url)
    http_listener.let_go.clear()
    served.push("HEAD:refs/heads/one")  # comes back although nobody has been answered yet
    assert http_listener.came.wait(60)
    assert http_listener.heard == []
    http_listener.let_go.set()
    assert served.hook_is_done()


def test_a_message_that_another_push_sends_and_removes_meanwhile_is_sent_whole(
    served: ServedRepository, http_listener: HttpListener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_hook(served, http_listener.url)
    (tmp_path / "bin").mkdir()
    other = tmp_path / "bin" / "openssl"  # the hook signs with it, after it has looked for the file
    other.write_text(f'#!/bin/sh\nrm -f helmsman-unsent/*\nexec {shutil.which("openssl")} "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    served.push("HEAD:refs/heads/one")
    assert served.hook_is_done()
    assert eventually(lambda: bool(http_listener.heard))
    ((headers, body),) = http_listener.heard
    parts = f"{headers['x-helmsman-timestamp']}.{headers['x-helmsman-delivery']}.".encode(), body
    assert body.endswith(b" refs/heads/one\n")
    assert is_signed(SECRET.encode(), parts, headers["x-helmsman-signature"])


def test_what_could_not_be_sent_is_sent_after_the_next_push_under_the_same_name(
    served: ServedRepository, http_listener: HttpListener
) -> None:
    install_hook(served, http_listener.url)
    http_listener.status = 503
    served.push("HEAD:refs/heads/one")
    log = served.bare / "helmsman-push.log"
    assert eventually(lambda: log.exists() and "503; kept" in log.read_text())
    (kept,) = (served.bare / "helmsman-unsent").iterdir()
    http_listener.status = 202
    served.push("HEAD:refs/heads/two")
    assert served.hook_is_done()
    deliveries = {headers["x-helmsman-delivery"] for headers, body in http_listener.heard if b"refs/heads/one" in body}
    assert deliveries == {kept.name}
    assert any(b"refs/heads/two" in body for _, body in http_listener.heard)


def test_what_is_refused_for_good_is_not_sent_again(served: ServedRepository, http_listener: HttpListener) -> None:
    install_hook(served, http_listener.url)
    http_listener.status = 404
    served.push("HEAD:refs/heads/one")
    assert served.hook_is_done()
    assert (served.bare / "helmsman-push.log").read_text() == "refused with status 404\n"
    assert len(http_listener.heard) == 1


@pytest.mark.parametrize("missing", ["helmsman.url", "helmsman.secretFile", "curl", "folder"])
def test_a_push_succeeds_although_the_hook_misses_a_program(
    missing: str, served: ServedRepository, http_listener: HttpListener, tmp_path: Path
) -> None:
    install_hook(served, http_listener.url)
    path = os.environ["PATH"]
    if missing == "curl":
        path = _only(tmp_path / "bin", "git git-receive-pack sh cat basename date od tr mkdir mktemp mv rm")
    elif missing == "folder":
        (served.bare / "helmsman-unsent").write_text("a file where a folder should be")
    else:
        sh(served.bare, "config", "--unset", missing)
    sh(served.clone, "push", "--quiet", "origin", "HEAD:refs/heads/one", env={"PATH": path})
    assert sh(served.bare, "rev-parse", "refs/heads/one") == sh(served.clone, "rev-parse", "HEAD")


def _only(folder: Path, names: str) -> str:
    folder.mkdir()
    for name in names.split():
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return str(folder)


@pytest.mark.feature("X1")
def test_the_secret_is_in_no_command_line(served: ServedRepository, http_listener: HttpListener, tmp_path: Path) -> None:
    install_hook(served, http_listener.url)
    (tmp_path / "bin").mkdir()
    for name in ("openssl", "curl", "od", "cat", "date"):
        script = f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{tmp_path}/arguments"\nexec {shutil.which(name)} "$@"\n'
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    sh(served.clone, "push", "--quiet", "origin", "HEAD:one", env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    assert served.hook_is_done()
    arguments = (tmp_path / "arguments").read_text()
    assert "--data-binary" in arguments
    assert "dgst -sha256" in arguments
    assert SECRET not in arguments
    assert SECRET.encode().hex() not in arguments


def test_the_action_sends_the_event_as_the_receiver_wants_it(tmp_path: Path) -> None:
    workflow = yaml.safe_load(ACTION.read_text())
    (step,) = workflow["jobs"]["tell"]["steps"]
    assert "${{" not in step["run"]
    assert not workflow["permissions"]
    event = tmp_path / "event.json"
    told = {"ref": "refs/heads/main", "before": "0" * 40, "after": "a1" * 20, "repository": {"full_name": "owner/name"}}
    event.write_text(json.dumps(told))
    with run_receiver(tmp_path) as receiver:
        variables = {
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_RUN_ID": "1234567",
            "HELMSMAN_URL": receiver.url,
            "no_proxy": "127.0.0.1",
        }

        def run(secret: str) -> "subprocess.CompletedProcess[str]":
            command = [sys.executable, "-c", step["run"]]
            env = {**os.environ, **variables, "HELMSMAN_WEBHOOK_SECRET": secret}
            return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

        assert run(SECRET).stdout.split() == ["202", "accepted:", "a1" * 5, "on", "main", "of", "owner/name"]
        assert "already known" in run(SECRET).stdout
        refused = run("a secret that is not the receiver's")
        assert (refused.returncode, "403 the signature is wrong" in refused.stderr) == (1, True)
