"""What holds the agent and the checks, where asking it to behave is not enough."""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from helmsman.config.base import Owner, Section

Host = Annotated[str, StringConstraints(pattern=r"^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$")]
"""`name`, `name:port` or `*.name`; without a port 443."""

Place = Annotated[str, StringConstraints(pattern=r"^(/|~/|~$)")]
"""A whole path, or one in the home: what a relative one is meant to begin at, nobody knows."""


class SandboxConfig(Section):
    """Where the agent and the checks run."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: Literal["none", "bubblewrap", "container"] = "none"
    """`none`: with all that you may do. `bubblewrap`: each in a box of its own, on Linux. `container`: Helmsman itself runs in a
    container that may be broken; the start is refused where it does not."""
    network: Literal["model", "open", "off"] = "model"
    """What the agent reaches from its box. `model`: its model's endpoint and `hosts`. `off`: nothing but its own hooks."""
    hosts: tuple[Host, ...] = ()
    """Further hosts for `network = "model"`: `name`, `name:port` or `*.name`, by HTTPS; `localhost:port` is
    that port of this machine, whatever it speaks."""
    login: Literal["renewed", "read"] = "renewed"
    """Of Claude Code. `renewed`: one that its program renewed takes the place of yours. `read`: yours stays as it is."""
    checks: bool = True
    """Put the checks into a box as well. They run what the agent wrote: without it, that reads whatever you can read."""
    checks_network: Literal["off", "open"] = "off"
    """What checks reach from their box. `off`: only what they start themselves; loopback is their own."""
    read: tuple[Place, ...] = ()
    """Paths outside of the worktree that can be read: tools and caches in your home, above all. `~` is your home."""
    write: tuple[Place, ...] = ()
    """Paths outside of the worktree that the agent may write to; checks may read them."""
    hide: tuple[Place, ...] = ()
    """Paths that are hidden although they lie in what can be read. Refused in what can be written: there they could be moved."""
