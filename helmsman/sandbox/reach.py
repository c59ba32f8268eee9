"""What the agent may reach from a box without a network: its model's endpoint, by name and port."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from helmsman.errors import OperatorError

HTTP, HTTPS = 80, 443
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CLAUDE_HOSTS = ("api.anthropic.com", "platform.claude.com")
"""Of the Messages API, and where a login is renewed. ANTHROPIC_BASE_URL takes their place."""
BASE_URL = "_BASE_URL"  # how variables end that tell an agent where its model is
PROXY_PORT = 3128
FIRST_OPEN, LAST = 1024, 65535  # ports that anybody may listen at: the box gives its command no rights

_URL = re.compile(r"(https?)://(?:[^/@]*@)?(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?(?:/.*)?", re.IGNORECASE)

Endpoint = tuple[str, int]


@dataclass(frozen=True)
class Reach:
    """Ports of our own loopback that are the same inside, and endpoints that a proxy leads to."""

    ports: tuple[int, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    proxy: bool = False  # whether there is one, be it to say no to everybody: a refusal is on record, a missing network is not

    def allows(self, host: str, port: int) -> bool:
        """Whether the proxy may connect there. A name `*.x` stands for whatever ends with `.x`."""
        name = host.lower().rstrip(".")
        return any(port == allowed and fnmatchcase(name, pattern) for pattern, allowed in self.endpoints)

    @property
    def proxy_port(self) -> int:
        """Where the proxy listens inside: a port that nothing else takes."""
        return next(port for port in range(PROXY_PORT, PROXY_PORT + len(self.ports) + 1) if port not in self.ports)


def reach_of(environment: Mapping[str, str], hosts: Iterable[str], usual: Iterable[str]) -> Reach:
    """What `network = "model"` comes to: base URLs in the agent's environment, else its `usual` hosts; and the operator's own.

    Raises OperatorError where nothing tells where the model is, and for a port that nothing can be behind.
    """
    urls = {name: value for name, value in environment.items() if name.endswith(BASE_URL) and value}
    ends = [_endpoint(name, url) for name, url in urls.items()]
    named = [_host(name) for name in hosts]
    default = [] if ends else [_host(name) for name in usual]
    if not ends and not named and not default:
        raise OperatorError(
            'sandbox.network = "model", and nothing tells where the model of this agent is',
            expected="sandbox.hosts, or a variable *_BASE_URL that the agent may see",
            remedy='name the host: sandbox.hosts = ["api.example.com"]; or set sandbox.network = "open"',
        )
    ports = tuple(dict.fromkeys(port for host, port in (*ends, *named) if host in LOOPBACK))
    return Reach(ports, tuple(dict.fromkeys(end for end in (*ends, *default, *named) if end[0] not in LOOPBACK)), proxy=True)


def proxied(environment: Mapping[str, str], reach: Reach) -> dict[str, str]:
    """The environment that leads to the proxy, and to nobody else's."""
    kept = {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
    if not reach.proxy:
        return kept
    url = f"http://127.0.0.1:{reach.proxy_port}"
    own = ",".join(sorted(LOOPBACK))
    return {**kept, "HTTPS_PROXY": url, "https_proxy": url, "NO_PROXY": own, "no_proxy": own}


def _endpoint(name: str, url: str) -> Endpoint:
    parts = _URL.fullmatch(url.strip())
    secure, host = (parts[1].lower() == "https", parts[2].strip("[]").lower()) if parts else (False, "")
    if parts is None or not (secure or host in LOOPBACK):
        raise OperatorError(
            f"{name} cannot be led out of a sandbox",
            expected="https://HOST, or http:// to this machine",
            found="http:// to another machine" if parts else "no URL",
            remedy='use https, or set sandbox.network = "open"',
        )
    return _led_out(name, host, int(parts[3] or (HTTPS if secure else HTTP)))


def _host(text: str) -> Endpoint:
    name, _, given = text.lower().partition(":")
    return _led_out("sandbox.hosts", name, int(given or HTTPS))


def _led_out(source: str, host: str, port: int) -> Endpoint:
    if not (FIRST_OPEN if host in LOOPBACK else 1) <= port <= LAST:
        raise OperatorError(
            f"{source} names a port that cannot be led out of a sandbox",
            expected=f"1 to {LAST}; on this machine {FIRST_OPEN} or above, as nobody inside may listen below",
            found=f"{host}:{port}",
            remedy=f"give another as {host}:PORT",
        )
    return host, port
