"""Sockets of a sandbox: the model, the hooks, and a proxy with an allowlist."""

import json
import logging
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from helmsman.config import SandboxConfig
from helmsman.errors import OperatorError
from helmsman.records.events import Event, ToolGuarded
from helmsman.sandbox import Reach
from tasks.sandbox.login import login_mounts
from tasks.sandbox.proxy import MOST_REPORTED, Upstream, sockets, upstream_of
from tasks.system.journal import listening
from tests.fakes.sandbox_scene import SandboxScene, scene

__all__ = ["scene"]
pytestmark = pytest.mark.feature("D5")


@contextmanager
def echoing(*, prefix: bytes = b"") -> Generator[int]:
    """A server that says back what it hears, after a prefix."""

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                heard = connection.recv(65536)
                connection.sendall(prefix + heard)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def exchange(folder: Path, port: int, *words: bytes) -> bytes:
    """What comes back through a socket, all of it, for words that each wait for an answer."""
    answers = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(folder / str(port)))
        for word in words:
            client.sendall(word)
            answers += client.recv(65536)
    return answers


def connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def test_a_socket_leads_to_the_same_port_of_loopback() -> None:
    with echoing() as port, sockets(Reach(), (port,), None) as folder:
        assert exchange(folder, port, b"hello") == b"hello"
        assert [path.name for path in folder.iterdir()] == [str(port)]
    assert not folder.exists()


def test_nothing_is_left_of_a_connection_to_whoever_never_ends_it() -> None:
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket(socket.AF_UNIX) as client:
        with sockets(Reach(), (silent.getsockname()[1],), None) as folder:
            client.connect(str(folder / str(silent.getsockname()[1])))
            client.sendall(b"hello")
            theirs, _ = silent.accept()
            assert theirs.recv(5) == b"hello"
        with theirs:
            for thread in set(threading.enumerate()) - before:
                thread.join(timeout=10)
                assert not thread.is_alive()


def test_the_proxy_leads_to_what_is_allowed() -> None:
    reach = Reach((), (("model.example", 443),), proxy=True)
    with echoing(prefix=b"HTTP/1.1 200 fine\r\n\r\n") as port, sockets(reach, (), Upstream("127.0.0.1", port)) as folder:
        answer = exchange(folder, reach.proxy_port, connect("model.example", 443))
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")


REFUSED = {
    "another name": (connect("evil.example", 443), b"403", "evil.example:443"),
    "another port": (connect("model.example", 22), b"403", "model.example:22"),
    "loopback by name": (connect("localhost", 443), b"403", "localhost:443"),
    "loopback by number": (connect("127.0.0.1", 443), b"403", "127.0.0.1:443"),
    "no tunnel": (b"GET http://model.example/ HTTP/1.1\r\n\r\n", b"400", "GET http://model.example/ HTTP/1.1"),
    "nonsense": (b"\x1b[31m\xff\r\n\r\n", b"400", None),
    "a name that hides a line": (b"CONNECT model.example\n:443 HTTP/1.1\r\n\r\n", b"400", None),
    "a head without an end": (b"CONNECT " + b"x" * 20_000, b"400", None),
}


@pytest.mark.parametrize(("asked", "status", "told"), REFUSED.values(), ids=REFUSED)
def test_the_proxy_refuses_everything_else_and_says_so(
    asked: bytes, status: bytes, told: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Event] = []
    reach = Reach((), (("model.example", 443), ("localhost", 443)), proxy=True)
    with caplog.at_level(logging.WARNING), listening(heard.append), sockets(reach, (), None) as folder:
        assert exchange(folder, reach.proxy_port, asked).startswith(b"HTTP/1.1 " + status)
    (event,) = heard
    assert isinstance(event, ToolGuarded)
    assert (event.guarded.rule, event.guarded.denied) == ("network", True)
    assert "\x1b" not in event.guarded.detail
    assert told in {None, event.guarded.detail}
    assert "sandbox's network policy refused" in caplog.text


def test_refusals_without_end_do_not_fill_the_journal() -> None:
    heard: list[Event] = []
    reach = Reach(proxy=True)
    with listening(heard.append), sockets(reach, (), None) as folder:
        for number in range(MOST_REPORTED + 5):
            exchange(folder, reach.proxy_port, connect(f"h{number}.example", 443))
    assert len(heard) == MOST_REPORTED


def test_the_operator_s_own_proxy_is_gone_through_with_its_login() -> None:
    with echoing(prefix=b"HTTP/1.1 200 fine\r\n\r\n") as port:
        upstream = upstream_of({"HTTPS_PROXY": f"http://ada:p%40ss@127.0.0.1:{port}"})
        assert upstream is not None
        assert upstream == Upstream("127.0.0.1", port, "ada:p@ss")
        with upstream.connect("model.example", 443) as outside:
            asked = outside.recv(65536)
    assert asked.startswith(b"CONNECT model.example:443 HTTP/1.1\r\n")
    assert b"Basic YWRhOnBAc3M=" in asked


def test_an_address_of_numbers_is_asked_for_in_brackets() -> None:
    with echoing(prefix=b"HTTP/1.1 200 fine\r\n\r\n") as port, Upstream("127.0.0.1", port).connect("2001:db8::1", 443) as outside:
        assert outside.recv(65536).startswith(b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n")


def test_one_that_refuses_is_an_error() -> None:
    with echoing(prefix=b"HTTP/1.1 407 no\r\n\r\n") as port, pytest.raises(ConnectionRefusedError, match="407"):
        Upstream("127.0.0.1", port).connect("model.example", 443)


def test_a_proxy_of_another_kind_is_refused() -> None:
    assert upstream_of({}) is None
    for named in ("socks5://x:1", "http://", "http://ada:secret@x:port", "http://x:99999", "http://[::1"):
        with pytest.raises(OperatorError, match="HTTPS_PROXY") as caught:
            upstream_of({"https_proxy": named})
        assert "secret" not in str(caught.value)


@pytest.mark.needs("bubblewrap")
def test_hooks_and_proxy_answer_inside_at_their_ports_and_nothing_else_does(scene: SandboxScene) -> None:
    config = SandboxConfig(kind="bubblewrap", hosts=("model.example",))
    ask = "import socket; c = socket.create_connection(('127.0.0.1', {}), 5); c.sendall({}); print(c.recv(99)[:12])"
    with echoing() as hooks, echoing() as other:
        script = "\n".join(
            f"python3 -c {shell(ask.format(port, words))} 2>&1 | tail -1"
            for port, words in ((hooks, b"hello"), (3128, connect("evil.example", 1)), (other, b"x"))
        )
        with scene.box("sh", "-c", script, config=config, hooks=(hooks,)) as boxed:
            ended = scene.run(boxed, 30)
    assert ended.head.splitlines()[:2] == ["b'hello'", "b'HTTP/1.1 403'"]
    assert "refused" in ended.head.splitlines()[2]


@pytest.mark.needs("bubblewrap")
def test_a_port_of_this_machine_that_is_named_is_reached_inside(scene: SandboxScene) -> None:
    with echoing() as port:
        config = SandboxConfig(kind="bubblewrap", hosts=("model.example", f"localhost:{port}"))
        ask = f"import socket; c = socket.create_connection(('localhost', {port}), 5); c.sendall(b'hello'); print(c.recv(99))"
        assert scene.python(ask, config=config).head == "b'hello'\n"


def shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


LOGIN = {"claudeAiOauth": {"accessToken": "a", "expiresAt": 1}}


def logged_in(scene: SandboxScene) -> Path:
    real = scene.home / ".claude" / ".credentials.json"
    real.parent.mkdir()
    real.write_text(json.dumps(LOGIN))
    return real


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('{"claudeAiOauth": {"accessToken": "b", "expiresAt": 2}}', True),
        ('{"claudeAiOauth": {"accessToken": "b"}}', False),
        ('{"apiKeyHelper": "evil"}', False),
        ("[" * 100_000, False),
        ("", False),
    ],
)
def test_a_login_that_was_renewed_is_given_back_and_nothing_else(
    scene: SandboxScene, tmp_path: Path, written: str, kept: bool
) -> None:
    real, private = logged_in(scene), tmp_path / "private"
    with login_mounts(private, {"HOME": str(scene.home)}, renewed=True) as (folder, credentials):
        assert Path(credentials.source).stat().st_mode & 0o077 == 0
        Path(credentials.source).write_text(written)
        assert os.path.commonpath([folder.source, str(private)]) == str(private)
    assert real.read_text() == (written if kept else json.dumps(LOGIN))
    assert not (private / "credentials.json").exists()


RENEWED = json.dumps({"claudeAiOauth": {"accessToken": "b", "expiresAt": 2}})


def test_a_login_that_was_renewed_before_an_interrupt_is_not_lost(scene: SandboxScene, tmp_path: Path) -> None:
    real = logged_in(scene)

    def interrupted() -> None:
        with login_mounts(tmp_path / "private", {"HOME": str(scene.home)}, renewed=True) as (_, credentials):
            Path(credentials.source).write_text(RENEWED)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert real.read_text() == RENEWED
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["claude"]


@pytest.mark.parametrize("meanwhile", [None, json.dumps({"claudeAiOauth": {"accessToken": "c", "expiresAt": 3}})])
def test_one_that_was_renewed_before_the_driver_was_killed_is_given_back_at_the_next_call(
    scene: SandboxScene, tmp_path: Path, meanwhile: str | None
) -> None:
    real, login = logged_in(scene), partial(login_mounts, tmp_path / "private", {"HOME": str(scene.home)}, renewed=True)
    killed = login()
    _, credentials = killed.__enter__()
    left = {path: path.read_bytes() for path in (tmp_path / "private").iterdir() if path.is_file()}
    killed.__exit__(None, None, None)
    for path, content in left.items():  # as kill -9 leaves them
        path.write_bytes(content)
    Path(credentials.source).write_text(RENEWED)
    real.write_text(meanwhile or real.read_text())
    with login() as (_, credentials):
        assert Path(credentials.source).read_text() == (meanwhile or RENEWED)
    assert real.read_text() == (meanwhile or RENEWED)


@pytest.mark.needs("bubblewrap")
def test_a_login_that_is_to_be_read_only_stays_whatever_is_written(scene: SandboxScene, tmp_path: Path) -> None:
    real = logged_in(scene)
    config = SandboxConfig(kind="bubblewrap", network="off", login="read")
    script = f"cat ~/.claude/.credentials.json; echo '{RENEWED}' > ~/.claude/.credentials.json"
    ended = scene.inside(script, config=config, claude=True)
    assert (ended.head, real.read_text()) == (json.dumps(LOGIN), json.dumps(LOGIN))
    with login_mounts(tmp_path / "p", {"HOME": str(scene.home)}, renewed=False) as (_, credentials):
        Path(credentials.source).write_text(RENEWED)
    assert real.read_text() == json.dumps(LOGIN)


@pytest.mark.needs("bubblewrap")
def test_of_the_agent_s_own_folder_only_the_login_is_given_and_what_it_plants_there_stays_inside(scene: SandboxScene) -> None:
    real = logged_in(scene)
    (real.parent / "settings.json").write_text("{}")
    first = scene.inside("ls -A ~/.claude; cat ~/.claude/.credentials.json; echo x > ~/.claude/settings.json", claude=True)
    again = scene.inside(f"rm -f ~/.claude/.credentials.json; ls ~/.claude; ln -sf {scene.root}/aim ~/.claude/x", claude=True)
    assert (first.head, again.head) == (f".credentials.json\n{json.dumps(LOGIN)}", "settings.json\n")
    assert (real.parent / "settings.json").read_text() == "{}"
    assert real.read_text() == json.dumps(LOGIN)
