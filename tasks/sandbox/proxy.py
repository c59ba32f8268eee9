"""What a sandbox reaches, from our side: sockets in the file system, each for one place, or for a proxy with a short list."""

import base64
import logging
import re
import socket
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socketserver import BaseRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.agent import Guarded
from helmsman.records.events import ToolGuarded
from helmsman.sandbox.reach import LOOPBACK, Reach
from tasks.loopback import LoopbackServer, serving
from tasks.sandbox.inside import both_ways
from tasks.system.journal import publish

LARGEST_HEAD = 16 * 1024  # bytes of what a client of the proxy says before it gets an answer
PATIENCE = 30.0  # seconds to say that, and for a connection to come about
MOST_REPORTED = 20  # refusals of one call that are reported: an agent that tries again and again fills no journal
_CONNECT = re.compile(rb"CONNECT \[?([A-Za-z0-9.:-]{1,253}?)\]?:(\d{1,5}) HTTP/1\.[01]\r\n")
_log = logging.getLogger(__name__)

Connect = Callable[[socket.socket], socket.socket | None]
"""From a connection of the sandbox to one with where it goes, or None where it is refused."""


@contextmanager
def sockets(reach: Reach, fixed: tuple[int, ...], upstream: "Upstream | None") -> Generator[Path]:
    """A folder with a socket for each port that is reached inside."""
    targets: dict[int, Connect] = {port: partial(_to_loopback, port) for port in (*reach.ports, *fixed)}
    if reach.proxy:
        targets[reach.proxy_port] = Proxy(reach, upstream)
    with tempfile.TemporaryDirectory(prefix="helmsman-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        for port, connect in targets.items():
            stack.enter_context(serving(_Socket(Path(folder) / str(port), connect), "sandbox-socket"))
        yield Path(folder)


class _Socket(LoopbackServer):
    address_family = socket.AF_UNIX

    def __init__(self, path: Path, connect: Connect) -> None:
        self._connect = connect
        super().__init__(str(path), BaseRequestHandler)

    def finish_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:  # noqa: ARG002 - overridden
        if not isinstance(request, socket.socket):
            return
        outside = self._connect(request)
        if outside is None:
            return
        with outside:
            self.connections.add(outside)  # whoever is there may have nothing more to say, and never go
            both_ways(request, outside)
            self.connections.discard(outside)


def _to_loopback(port: int, _: socket.socket) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port), PATIENCE)
    except OSError:
        return None


@dataclass
class Proxy:
    """Answers CONNECT for what may be reached, and refuses everything else with a line in the journal."""

    reach: Reach
    upstream: "Upstream | None" = None
    refused: int = 0

    def __call__(self, inside: socket.socket) -> socket.socket | None:
        inside.settimeout(PATIENCE)
        head = b""  # a client sends nothing more before it is answered
        while b"\r\n\r\n" not in head and len(head) < LARGEST_HEAD and (data := inside.recv(LARGEST_HEAD)):
            head += data
        asked = _CONNECT.match(head)
        if asked is None:
            return self._refuse(inside, clean(head.split(b"\r\n")[0].decode(errors="replace")) or "nothing", "400 Bad Request")
        host, port = asked[1].decode().lower(), int(asked[2])
        if host in LOOPBACK or not self.reach.allows(host, port):
            return self._refuse(inside, f"{host}:{port}", "403 Forbidden")
        try:
            outside = self.upstream.connect(host, port) if self.upstream else socket.create_connection((host, port), PATIENCE)
        except OSError as error:
            _log.warning("the sandbox's proxy cannot reach %s:%s: %s", host, port, error)
            inside.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return None
        outside.settimeout(None)
        inside.settimeout(None)
        inside.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return outside

    def _refuse(self, inside: socket.socket, what: str, status: str) -> None:
        self.refused += 1
        if self.refused <= MOST_REPORTED:
            _log.warning("the sandbox's network policy refused %s (sandbox.network, sandbox.hosts)", what)
            publish(ToolGuarded(guarded=Guarded(rule="network", tool="network", detail=what[:120], denied=True)))
        inside.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


@dataclass(frozen=True)
class Upstream:
    host: str
    port: int
    login: str = ""  # `name:password`, or empty

    def connect(self, host: str, port: int) -> socket.socket:
        """A connection through it. Raises OSError where it refuses."""
        outside = socket.create_connection((self.host, self.port), PATIENCE)
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        credentials = f"Proxy-Authorization: Basic {base64.b64encode(self.login.encode()).decode()}\r\n" if self.login else ""
        with ExitStack() as failed:
            failed.callback(outside.close)
            outside.sendall(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{credentials}\r\n".encode())
            head = b""
            # byte by byte: what follows the head is the other side's already
            while not head.endswith(b"\r\n\r\n") and len(head) < LARGEST_HEAD and (data := outside.recv(1)):
                head += data
            if head.split(b" ")[1:2] != [b"200"]:
                raise ConnectionRefusedError(f"the proxy answered {head.splitlines()[:1]}")
            failed.pop_all()
        return outside


def upstream_of(environment: Mapping[str, str]) -> Upstream | None:
    """The proxy for HTTPS that the environment names. Raises OperatorError for one that is not spoken to by HTTP."""
    named = next((value for name in ("https_proxy", "HTTPS_PROXY") if (value := environment.get(name))), "")
    if not named:
        return None
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        port = parts.port or 80
    except ValueError as error:
        raise _refused("something that is not an address") from error
    if parts.scheme != "http" or not parts.hostname:
        raise _refused(parts.scheme)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return Upstream(parts.hostname, port, login)


def _refused(found: str) -> OperatorError:
    """Not with the address as it is: a password may be in it."""
    return OperatorError(
        "HTTPS_PROXY names a proxy that a sandbox cannot be led through",
        expected="http://HOST:PORT",
        found=found,
        remedy='name an HTTP proxy, or set sandbox.network = "open"',
    )
