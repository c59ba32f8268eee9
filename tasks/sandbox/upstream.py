"""The operator's own proxy, where the machine reaches the network by one: the box's proxy goes through it."""

import base64
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from helmsman.errors import OperatorError

PATIENCE = 30.0
LARGEST_HEAD = 16 * 1024


@dataclass(frozen=True)
class Upstream:
    host: str
    port: int
    login: str = ""
    """`name:password`, or empty."""

    def connect(self, host: str, port: int) -> socket.socket:
        """A connection through it. Raises OSError where it refuses."""
        outside = socket.create_connection((self.host, self.port), PATIENCE)
        told = f"Proxy-Authorization: Basic {base64.b64encode(self.login.encode()).decode()}\r\n" if self.login else ""
        try:
            outside.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{told}\r\n".encode())
            _require_established(outside)
        except BaseException:
            outside.close()
            raise
        return outside


def upstream_of(environment: Mapping[str, str]) -> Upstream | None:
    """The proxy for HTTPS that the environment names. Raises OperatorError for one that is not spoken to by HTTP."""
    named = next((value for name in ("https_proxy", "HTTPS_PROXY") if (value := environment.get(name))), "")
    if not named:
        return None
    parts = urlsplit(named if "://" in named else f"http://{named}")
    if parts.scheme != "http" or not parts.hostname:
        raise OperatorError(
            "HTTPS_PROXY names a proxy that a sandbox cannot be led through",
            expected="http://HOST:PORT",
            found=parts.scheme,
            remedy='name an HTTP proxy, or set sandbox.network = "open"',
        )
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return Upstream(parts.hostname, parts.port or 80, login)


def _require_established(outside: socket.socket) -> None:
    """Byte by byte: what follows the head is the other side's already."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < LARGEST_HEAD:
        data = outside.recv(1)
        if not data:
            break
        head += data
    if head.split(b" ")[1:2] != [b"200"]:
        raise ConnectionRefusedError(f"the proxy answered {head.splitlines()[:1]}")
