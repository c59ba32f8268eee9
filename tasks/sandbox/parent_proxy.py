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
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        told = f"Proxy-Authorization: Basic {base64.b64encode(self.login.encode()).decode()}\r\n" if self.login else ""
        try:
            outside.sendall(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{told}\r\n".encode())
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
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        port = parts.port or 80
    except ValueError as error:
        raise _refused("what is no address") from error
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
