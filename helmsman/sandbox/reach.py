"""Endpoints that the agent may reach from a box without a network: its model's, by name and port."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from helmsman.errors import OperatorError

HTTP, HTTPS = 80, 443
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CLAUDE_HOSTS = ("api.anthropic.com", "platform.claude.com")
"""Hosts of the Messages API and of the renewal of logins. ANTHROPIC_BASE_URL replaces them."""
BASE_URL = "_BASE_URL"  # suffix of variables with the address of a model
PROXY_PORT = 3128
FIRST_OPEN, LAST = 1024, 65535  # unprivileged ports: a command in the box has no capabilities

_URL = re.compile(r"(https?)://(?:[^/@]*@)?(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?(?:/.*)?", re.IGNORECASE)

Endpoint = tuple[str, int]


@dataclass(frozen=True)
class Reach:
    """Loopback ports forwarded under the same number inside, and endpoints behind a proxy."""

    ports: tuple[int, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    proxy: bool = (
        False  # whether there is a proxy, even one that refuses everything: refusals are logged, a missing network is not
    )

    def allows(self, host: str, port: int) -> bool:
        """Whether the proxy may connect there. `*.x` matches every name that ends with `.x`."""
        name = host.lower().rstrip(".")
        return any(port == allowed and fnmatchcase(name, pattern) for pattern, allowed in self.endpoints)

    @property
    def proxy_port(self) -> int:
        """Free port where the proxy listens inside."""
        return next(port for port in range(PROXY_PORT, PROXY_PORT + len(self.ports) + 1) if port not in self.ports)


def reach_of(environment: Mapping[str, str], hosts: Iterable[str], usual: Iterable[str]) -> Reach:
    """Reach for `network = "model"`: base URLs in the agent's environment, else its `usual` hosts; and the operator's own.

    Raises OperatorError if the model's address is unknown, and for an invalid port.
    """
    urls = {name: value for name, value in environment.items() if name.endswith(BASE_URL) and value}
    base_endpoints = [_endpoint_of_url(name, url) for name, url in urls.items()]
    configured = [_endpoint_of_host(name) for name in hosts]
    defaults = [] if base_endpoints else [_endpoint_of_host(name) for name in usual]
    if not base_endpoints and not configured and not defaults:
        raise OperatorError(
            "sandbox.network is model, but the address of this agent's model is unknown",
            expected="sandbox.hosts, or a variable *_BASE_URL that the agent may see",
            remedy='name the host: sandbox.hosts = ["api.example.com"]; or set sandbox.network = "open"',
        )
    ports = tuple(dict.fromkeys(port for host, port in (*base_endpoints, *configured) if host in LOOPBACK))
    return Reach(
        ports,
        tuple(dict.fromkeys(end for end in (*base_endpoints, *defaults, *configured) if end[0] not in LOOPBACK)),
        proxy=True,
    )


def with_proxy(environment: Mapping[str, str], reach: Reach) -> dict[str, str]:
    """The environment with Helmsman's proxy in place of any other."""
    without_proxies = {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
    if not reach.proxy:
        return without_proxies
    url = f"http://127.0.0.1:{reach.proxy_port}"
    no_proxy = ",".join(sorted(LOOPBACK))
    return {**without_proxies, "HTTPS_PROXY": url, "https_proxy": url, "NO_PROXY": no_proxy, "no_proxy": no_proxy}


def _endpoint_of_url(name: str, url: str) -> Endpoint:
    parts = _URL.fullmatch(url.strip())
    is_https, host = (parts[1].lower() == "https", parts[2].strip("[]").lower()) if parts else (False, "")
    if parts is None or not (is_https or host in LOOPBACK):
        raise OperatorError(
            f"{name} cannot be reached from a sandbox",
            expected="https://HOST, or http:// to this machine",
            found="http:// to another machine" if parts else "not a URL",
            remedy='use https, or set sandbox.network = "open"',
        )
    return _check_port(name, host, int(parts[3] or (HTTPS if is_https else HTTP)))


def _endpoint_of_host(text: str) -> Endpoint:
    name, _, port_text = text.lower().partition(":")
    return _check_port("sandbox.hosts", name, int(port_text or HTTPS))


def _check_port(source: str, host: str, port: int) -> Endpoint:
    if not (FIRST_OPEN if host in LOOPBACK else 1) <= port <= LAST:
        raise OperatorError(
            f"{source} names a port that cannot be forwarded into a sandbox",
            expected=f"1 to {LAST}; on this machine {FIRST_OPEN} or above, because the sandbox cannot listen below",
            found=f"{host}:{port}",
            remedy=f"set another one as {host}:PORT",
        )
    return host, port
