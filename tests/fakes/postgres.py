"""A real PostgreSQL server for a test session, run as an unprivileged user; it ends with the test process."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.fakes.namespaces import Machine
from tests.fakes.processes import free_port

USER = "helmsman"
START_SECONDS = 60
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "40",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
    "client_encoding": "UTF8",
}


class Postgres:
    """Always on the same port, with the same data."""

    def __init__(self, found: Path, folder: Path, machine: Machine | None = None) -> None:
        """Make a cluster in this folder; nothing runs before `start`. On a machine, all its network may connect."""
        self._programs, self._folder, self._machine = found, folder, machine
        self.host = machine.address if machine else "127.0.0.1"
        self.port = free_port()
        self.password = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None
        _chown_to_server(folder)
        secret = folder / "password"
        secret.write_text(self.password)
        _chown_to_server(secret)
        options = ["--username", USER, "--pwfile", str(secret), "--auth-local", "trust", "--auth-host", "scram-sha-256"]
        storing = ["--no-sync", "--encoding", "UTF8", "--locale", "C", "-D", str(folder / "data")]
        subprocess.run(_unprivileged(str(found / "initdb"), *options, *storing), check=True, capture_output=True, cwd=folder)
        if machine:
            with (folder / "data" / "pg_hba.conf").open("a") as rules:
                rules.write("host all all samenet scram-sha-256\n")

    def start(self) -> None:
        settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        where = ["-D", str(self._folder / "data"), "-k", str(self._folder), "-h", self.host, "-p", str(self.port)]
        with (self._folder / "server.log").open("ab") as log:
            command = self._there(_unprivileged(str(self._programs / "postgres"), *where, *settings))
            self._process = subprocess.Popen(command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if self._machine:
            self._machine.started.append(self._process)  # it ends with its machine
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            log_text = (self._folder / "server.log").read_text(errors="replace")
            assert self._process.poll() is None, log_text
            assert time.monotonic() < until, f"PostgreSQL does not come up\n{log_text}"
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # its connections end at once
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def database(self, kind: str = "memory") -> str:
        """The URL of a new, empty one."""
        name = f"{kind}_{secrets.token_hex(6)}"
        self.sql("postgres", f"CREATE DATABASE {name}")
        return f"postgresql://{USER}:{self.password}@{self.host}:{self.port}/{name}"

    def sql(self, database: str, statement: str) -> str:
        """The output of psql for a statement."""
        command = [str(self._programs / "psql"), "-h", str(self._folder), "-p", str(self.port), "-U", USER, "-d", database]
        ended = subprocess.run([*command, "-X", "-A", "-t", "-c", statement], capture_output=True, text=True, check=True)
        return ended.stdout.strip()

    def _there(self, command: list[str]) -> list[str]:
        return self._machine.command(*command) if self._machine else command

    def _answers(self) -> bool:
        asked = [str(self._programs / "pg_isready"), "-q", "-h", str(self._folder), "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0


def server_programs() -> Path | None:
    """The folder of the server's programs."""
    found = shutil.which("initdb")
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *([Path(found).parent] if found else [])]
    needed = ("initdb", "postgres", "pg_isready", "psql")
    return next((folder for folder in folders if all((folder / program).exists() for program in needed)), None)


def _unprivileged(*command: str) -> list[str]:
    """Wrap the command: PostgreSQL refuses to run as root, and it should end with this process."""
    if shutil.which("setpriv") is None:
        return list(command)
    owner = _server_user()
    who = [f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"] if owner else []
    return ["setpriv", *who, "--pdeathsig=INT", *command]


def _chown_to_server(path: Path) -> None:
    owner = _server_user()
    if owner:
        os.chown(path, owner.pw_uid, owner.pw_gid)


def _server_user() -> pwd.struct_passwd | None:
    """The user that the server runs as if this process is root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]
