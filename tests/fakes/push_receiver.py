"""A receiver process, signed messages of forges and of the hook, and a bare repository with the hook."""

import hashlib
import hmac
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from tests.fakes.processes import ROOT, eventually
from tests.fakes.repositories import commit, sh

SECRET = "a secret that only these tests know"
HOOK = ROOT / "deployments" / "hooks" / "post-receive"
PREFECT = Path(sys.executable).with_name("prefect")
PATIENCE = 100
NOWHERE = "http://127.0.0.1:9/api"
"""No engine: nothing that is accepted leaves the file."""
START = """
import sys
from pathlib import Path
from deployments.receiver import serve
serve(Path(sys.argv[1]), "127.0.0.1", 0)
"""


# --- the receiver -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Receiver:
    """A receiver process."""

    url: str
    process: "subprocess.Popen[str]"
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)


def write_repository_list(folder: Path, repositories: Mapping[str, str], sets: str = "") -> Path:
    """Write the operator's list of repositories. `sets`: further tables."""
    file = folder / f"repositories-{uuid4().hex[:6]}.toml"
    lines = [f'"{name}" = "{place}"\n' for name, place in repositories.items()]
    file.write_text("[repositories]\n" + "".join(lines) + sets, encoding="utf-8")
    return file


@contextmanager
def run_receiver(folder: Path, repos: Path | None = None, variables: Mapping[str, str] | None = None) -> Generator[Receiver]:
    """Run a receiver; its state is below HELMSMAN_HOME of these variables. By default it knows `owner/name` and no engine."""
    repos = repos or write_repository_list(folder, {"owner/name": "/srv/name.git"})
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "HELMSMAN_HOME": str(folder / "state")}
    variables = variables or {**own, "PREFECT_API_URL": NOWHERE, "PREFECT_HOME": str(folder / "prefect")}
    log = folder / f"receiver-{uuid4().hex[:6]}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(repos)],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), **variables, "HELMSMAN_WEBHOOK_SECRET": SECRET},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().removeprefix("listening on ").strip()
        assert url, log.read_text()
        yield Receiver(url, process, log)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


# --- messages -----------------------------------------------------------------------------------------------------


def signature_of(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def github_headers(body: bytes, secret: str = SECRET, **changed: str) -> dict[str, str]:
    """The headers that GitHub sends with a push."""
    own = {"content-type": "application/json", "x-github-event": "push", "x-github-delivery": str(uuid4())}
    changes = {name.replace("_", "-"): value for name, value in changed.items()}
    return {**own, "x-hub-signature-256": f"sha256={signature_of(body, secret)}", **changes}


def gitea_headers(body: bytes) -> dict[str, str]:
    own = {"content-type": "application/json", "x-gitea-event": "push", "x-gitea-delivery": str(uuid4())}
    return {**own, "x-gitea-signature": signature_of(body)}


def hook_headers(body: bytes, at: float | None = None) -> dict[str, str]:
    """What our hook sends."""
    told, delivery = str(int(time.time() if at is None else at)), str(uuid4())
    signature = signature_of(f"{told}.{delivery}.".encode() + body)
    own = {"content-type": "text/plain", "x-helmsman-timestamp": told, "x-helmsman-delivery": delivery}
    return {**own, "x-helmsman-signature": f"sha256={signature}"}


def send(url: str, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
    return httpx.post(url, content=body, headers=headers, timeout=30, trust_env=False)


# --- repository ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ServedRepository:
    """A bare repository and a clone that pushes to it."""

    bare: Path
    clone: Path

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        return commit(self.clone, subject, files)

    def push(self, *refspecs: str) -> None:
        sh(self.clone, "push", "--quiet", "origin", *refspecs)

    def hook_is_done(self) -> bool:
        """Whether the hook soon has sent everything."""
        unsent = self.bare / "helmsman-unsent"
        return eventually(lambda: unsent.is_dir() and not list(unsent.iterdir()))


def served_repository(folder: Path, files: Mapping[str, str]) -> ServedRepository:
    """On `main`, with one commit that was pushed before the hook was installed."""
    folder.mkdir(parents=True, exist_ok=True)
    bare, clone = folder / "project.git", folder / "clone"
    sh(folder, "init", "--quiet", "--bare", "--initial-branch=master", str(bare))  # HEAD names a branch that is never pushed
    sh(folder, "clone", "--quiet", str(bare), str(clone))
    sh(clone, "symbolic-ref", "HEAD", "refs/heads/main")
    served = ServedRepository(bare, clone)
    served.commit("start", files)
    served.push("main")
    return served


def install_hook(served: ServedRepository, url: str, secret: str = SECRET) -> None:
    """Install the hook as its own comments describe."""
    file = served.bare.parent / f"secret-{uuid4().hex[:6]}"
    file.write_text(secret)
    shutil.copy(HOOK, served.bare / "hooks" / "post-receive")
    sh(served.bare, "config", "helmsman.url", url)
    sh(served.bare, "config", "helmsman.secretFile", str(file))


# --- the engine ---------------------------------------------------------------------------------------------------


def run_prefect(variables: Mapping[str, str], *arguments: str) -> None:
    """Run a Prefect command in the project's folder."""
    command = [str(PREFECT), *arguments]
    own = {**variables, "PWD": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def deploy(variables: Mapping[str, str], names: Sequence[str] = ("on-push",)) -> None:
    run_prefect(variables, "work-pool", "create", "helmsman", "--type", "process", "--overwrite")
    for name in names:
        run_prefect(variables, "--no-prompt", "deploy", "--name", name)


@contextmanager
def run_worker(folder: Path, variables: Mapping[str, str]) -> Generator[None]:
    """Run a process worker in its own process group; the group ends with the block."""
    command = [PREFECT, "worker", "start", "--pool", "helmsman", "--name", "a-worker"]
    own = {**variables, "PREFECT_WORKER_QUERY_SECONDS": "1"}
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=own, stdout=log, stderr=log, start_new_session=True)
        try:
            assert eventually(lambda: "started!" in (folder / "worker.log").read_text(), PATIENCE), "the worker does not come up"
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(PATIENCE)
