"""Network of a sandbox, from our side: Unix sockets, each for one port, or for a proxy with an allowlist."""

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
from helmsman.sandbox import LOOPBACK, Reach
from tasks.loopback import LoopbackServer, serving
from tasks.sandbox.inside import copy_both_ways
from tasks.system.journal import publish

LARGEST_HEAD = 16 * 1024  # maximum bytes of a proxy request
PATIENCE = 30.0  # seconds for the request, and for connecting
MOST_REPORTED = 20  # maximum of reported refusals for each call, so that retries do not fill the journal
_CONNECT = re.compile(rb"CONNECT \[?([A-Za-z0-9.:-]{1,253}?)\]?:(\d{1,5}) HTTP/1\.[01]\r\n")
_log = logging.getLogger(__name__)

Connect = Callable[[socket.socket], socket.socket | None]
"""Opens the outside connection for one of the sandbox; None if it is refused."""


@contextmanager
def sockets(reach: Reach, fixed: tuple[int, ...], upstream: "Upstream | None") -> Generator[Path]:
    """Serve a folder with a socket for each port that is reachable inside."""
    targets: dict[int, Connect] = {port: partial(_to_loopback, port) for port in (*reach.ports, *fixed)}
    if reach.proxy:
        targets[reach.proxy_port] = Proxy(reach, upstream)
    with tempfile.TemporaryDirectory(prefix="helmsman-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        for port, connect in targets.items():
            stack.enter_context(serving(_SocketServer(Path(folder) / str(port), connect), "sandbox-socket"))
        yield Path(folder)


class _SocketServer(LoopbackServer):
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
            self.connections.add(outside)  # to be closed on shutdown: its peer may stay silent forever
            copy_both_ways(request, outside)
            self.connections.discard(outside)


def _to_loopback(port: int, _: socket.socket) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port), PATIENCE)
    except OSError:
        return None


@dataclass
class Proxy:
    """Handle CONNECT to allowed hosts, and refuse everything else with an event in the journal."""

    reach: Reach
    upstream: "Upstream | None" = None
    refused: int = 0

    def __call__(self, inside: socket.socket) -> socket.socket | None:
        inside.settimeout(PATIENCE)
        head = b""  # a client sends nothing more before the response
        while b"\r\n\r\n" not in head and len(head) < LARGEST_HEAD and (data := inside.recv(LARGEST_HEAD)):
            head += data
        request = _CONNECT.match(head)
        if request is None:
            return self._refuse(inside, clean(head.split(b"\r\n")[0].decode(errors="replace")) or "nothing", "400 Bad Request")
        host, port = request[1].decode().lower(), int(request[2])
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
        """Connect through the proxy. Raises OSError if it refuses."""
        outside = socket.create_connection((self.host, self.port), PATIENCE)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        credentials = f"Proxy-Authorization: Basic {base64.b64encode(self.login.encode()).decode()}\r\n" if self.login else ""
        with ExitStack() as failed:
            failed.callback(outside.close)
            outside.sendall(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n{credentials}\r\n".encode())
            head = b""
            # byte by byte: data after the head belongs to the connection
            while not head.endswith(b"\r\n\r\n") and len(head) < LARGEST_HEAD and (data := outside.recv(1)):
                head += data
            if head.split(b" ")[1:2] != [b"200"]:
                raise ConnectionRefusedError(f"the proxy answered {head.splitlines()[:1]}")
            failed.pop_all()
        return outside


def upstream_of(environment: Mapping[str, str]) -> Upstream | None:
    """HTTPS proxy of the environment, or None. Raises OperatorError for one without HTTP."""
    url = next((value for name in ("https_proxy", "HTTPS_PROXY") if (value := environment.get(name))), "")
    if not url:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or 80
    except ValueError as error:
        raise _unusable_proxy_error("not an address") from error
    if parts.scheme != "http" or not parts.hostname:
        raise _unusable_proxy_error(parts.scheme)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return Upstream(parts.hostname, port, login)


def _unusable_proxy_error(found: str) -> OperatorError:
    """Error without the address, which may contain a password."""
    return OperatorError(
        "a sandbox cannot use the proxy in HTTPS_PROXY",
        expected="http://HOST:PORT",
        found=found,
        remedy='set an HTTP proxy, or sandbox.network = "open"',
    )
