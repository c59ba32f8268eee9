"""The sandbox of a command: arguments of bubblewrap, git's configuration inside, and the endpoints that an agent may reach."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from helmsman.errors import OperatorError

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
"""Programs and their settings, read-only. Paths that are neither here nor mounted do not exist in the box."""

OWN_FOLDER = "/run/helmsman"  # Helmsman's own folder in the box
INSIDE = f"{OWN_FOLDER}/inside.py"
SOCKETS = f"{OWN_FOLDER}/sockets"
OBJECTS = f"{OWN_FOLDER}/objects"

NAMESPACES = (
    "--unshare-user",
    "--disable-userns",  # otherwise a process inside could create a namespace and control mounts and networks there
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
UNPRIVILEGED = ("--cap-drop", "ALL", "--die-with-parent")
"""No --new-session: the process runner starts a session itself, and its TERM must reach the group inside."""
FINAL_OPTIONS = ("--remount-ro", "/")  # created to hold the mounts
EMPTY = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - inside the box

Way = Literal["read", "write", "empty", "nothing"]


@dataclass(frozen=True)
class Mount:
    """Content of a path in the box: a host path to read or write, an empty folder, or an empty file."""

    path: str
    way: Way = "read"
    source: str = ""  # Host path; empty for the same path.

    def arguments(self) -> list[str]:
        """Arguments of bubblewrap for this mount."""
        source = self.source or self.path
        options: dict[Way, list[str]] = {
            "read": ["--ro-bind", source],
            "write": ["--bind", source],
            "empty": ["--tmpfs"],
            "nothing": ["--ro-bind", "/dev/null"],
        }
        return [*options[self.way], self.path]


def arguments(worktree: str, mounts: Sequence[Mount], *, shares_network: bool) -> list[str]:
    """Arguments of bubblewrap for a command in the worktree, up to `--`. A later mount covers an earlier one."""
    network = () if shares_network else ("--unshare-net",)
    system = [part for path in SYSTEM for part in ("--ro-bind-try", path, path)]
    own = ["--proc", "/proc", "--dev", "/dev", *(part for path in EMPTY for part in ("--tmpfs", path))]
    mounted = [part for mount in mounts for part in mount.arguments()]
    return [*NAMESPACES, *network, *UNPRIVILEGED, *system, *own, *mounted, *FINAL_OPTIONS, "--chdir", worktree, "--"]


# --- git configuration inside: settings for files and the committer's identity; no address, no credential ---

CORE = frozenset(
    f"core.{name}"
    for name in (
        "autocrlf", "eol", "filemode", "hookspath", "ignorecase", "longpaths", "precomposeunicode", "safecrlf",
        "sparsecheckout", "sparsecheckoutcone", "symlinks",
    )
)  # fmt: skip
USER = frozenset({"user.name", "user.email"})
SECTIONS = "filter", "diff", "merge"
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"})

Setting = tuple[str, str]  # a key as git prints it, and its value


def parse_config_list(text: str) -> list[Setting]:
    """Parse the output of `git config --list -z --show-scope`, without settings of Helmsman's own command line.

    A setting without a value is true.
    """
    parts = text.split("\0")
    scoped_entries = zip(parts[::2], parts[1::2], strict=False)  # ends with a zero byte
    entries = (entry.partition("\n") for scope, entry in scoped_entries if scope != "command")
    return [(key, value if separator else "true") for key, separator, value in entries]


def config_text(settings: Iterable[Setting]) -> str:
    """A git configuration file with the allowed settings, the last value of each."""
    text = ""
    for key, value in dict(settings).items():
        section, _, rest = key.partition(".")
        inner, _, name = rest.rpartition(".")
        if key in CORE | USER or (inner and section in SECTIONS):
            quoted = inner.replace("\\", "\\\\").replace('"', '\\"')
            head = f'{section} "{quoted}"' if inner else section
            text += f'[{head}]\n\t{name} = "{value.translate(_ESCAPED)}"\n'
    return text


# --- endpoints that the agent may reach without a network: its model's, by name and port ---

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
