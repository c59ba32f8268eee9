"""Entering a box: the command line that makes it, the environment inside, and what has to be there while it stands."""

import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from helmsman.config.infrastructure import SandboxConfig
from helmsman.errors import OperatorError
from helmsman.records.state import LoopState
from helmsman.sandbox.box import INSIDE, SOCKETS, Mount, arguments
from helmsman.sandbox.reach import CLAUDE_HOSTS, Reach, proxied, reach_of
from tasks.repository.checkout_environment import toolchains
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import recover
from tasks.sandbox import inside
from tasks.sandbox.host_mounts import hidden, named, refuse_hidden_in, tools, unreadable, written_out
from tasks.sandbox.login import lent_login
from tasks.sandbox.own_git import make_git, take_over
from tasks.sandbox.probe import find_bubblewrap
from tasks.sandbox.proxy import sockets, upstream_of
from tasks.system.environment import ours
from tasks.system.keys import keys_folder
from tasks.system.paths import LoopFolder

BOXED = "IS_SANDBOX"  # with 1, Claude Code bypasses permissions for root as well
_IGNORES_TERM = ("/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sandbox")
"""Bubblewrap ends at once at TERM, and all inside with it; so it is made deaf, and the command inside gets its time to end."""


@dataclass(frozen=True)
class Command:
    """What is run, and its environment."""

    arguments: list[str]
    environment: dict[str, str]


@dataclass(frozen=True)
class Agent:
    """The agent's program, and what is its own."""

    program: Path
    hooks: tuple[int, ...] = ()  # ports of our loopback that its hooks are answered at
    is_claude: bool = True


def git_folder(folder: LoopFolder) -> Path:
    """Where the repository of the agent's box lies: what it committed stays there until it is taken over."""
    return folder.root / "sandbox" / "git"


def take_over_work(context: LoopContext, state: LoopState) -> None:
    """Bring home what the agent committed in its box, before anybody looks at the branch. None of its processes may live."""
    made = git_folder(context.folder)
    if made.exists():
        recover(context.repository, context.worktree, state.branch)  # a driver that was killed in here left locks of git's
        take_over(context.repository, context.worktree, state.branch, made)


@contextmanager
def agent_box(config: SandboxConfig, worktree: Path, folder: LoopFolder, agent: Agent, command: Command) -> Generator[Command]:
    """The command as it is run in the configured box. Raises OperatorError where that cannot be made."""
    if config.kind != "bubblewrap":
        yield command
        return
    open_network, private = config.network == "open", folder.root / "sandbox"
    environment = _settled(command.environment, worktree)
    reach = Reach()
    if config.network == "model":
        reach = reach_of(environment, config.hosts, CLAUDE_HOSTS if agent.is_claude else ())
    made = git_folder(folder)
    shutil.rmtree(made, ignore_errors=True)
    made.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        lent = lent_login(private, environment, renewed=config.login == "renewed")
        login = stack.enter_context(lent) if agent.is_claude else ()
        git = make_git(worktree, made)
        ways = () if open_network else (stack.enter_context(sockets(reach, agent.hooks, upstream_of(ours()))),)
        environment = environment if open_network else proxied(environment, reach)
        mounts = [*_common(config, worktree, environment, agent.program, git), *login, *_writable(config, worktree, environment)]
        mounts += [Mount(SOCKETS, "empty"), *(Mount(SOCKETS, "read", str(way)) for way in ways)]
        yield _boxed(config, worktree, mounts, replace(command, environment=environment), config.network)


@contextmanager
def check_box(config: SandboxConfig, worktree: Path, command: Command, clean: CleanCheckout | None = None) -> Generator[Command]:
    """Likewise for a check: a home and a repository of its own, which nothing is left of. A clean checkout has both already."""
    if config.kind != "bubblewrap" or not config.checks:
        yield command
    elif clean is not None:
        # the user's home is hidden as ever; the checkout, its own folders and the toolchains are seen
        _settled(command.environment, clean.root)
        users = {**command.environment, "HOME": ours().get("HOME", "/")}
        mounts = [
            *_seen(config, clean.root, users, None),
            *(Mount(path) for path in dict.fromkeys(toolchains(ours()).values()) if Path(path).is_dir()),
            *_readable((*config.read, *config.write), users),
            Mount(str(clean.store.objects)),
            *(Mount(str(path), "write") for path in (clean.root, *clean.own_folders)),
        ]
        boxed = _boxed(config, clean.root, mounts, replace(command, environment=users), config.checks_network)
        yield replace(boxed, environment=command.environment)
    else:
        environment = _settled(command.environment, worktree)
        with tempfile.TemporaryDirectory(prefix="helmsman-", ignore_cleanup_errors=True) as scratch:
            git = make_git(worktree, Path(scratch) / "git")
            mounts = [*_common(config, worktree, environment, None, git), *_readable(config.write, environment)]
            yield _boxed(config, worktree, mounts, replace(command, environment=environment), config.checks_network)


def _boxed(config: SandboxConfig, worktree: Path, mounts: Sequence[Mount], command: Command, network: str) -> Command:
    home, keys = command.environment["HOME"], keys_folder()
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)  # what is not there cannot be covered, and may be there in a moment
    writable = [worktree, *written_out(config.write, home)]
    refuse_hidden_in(config.hide, writable, home)
    refuse_hidden_in([str(keys)], writable, home, "the folder of the keys that sign a loop's state")
    entry = Mount(INSIDE, "read", str(Path(inside.__file__)))
    whole = [*mounts, entry, *hidden([*config.hide, str(keys)], home)]
    bubblewrap = [str(find_bubblewrap()), *arguments(str(worktree), whole, shares_network=network == "open")]
    python = [os.path.realpath(sys.executable), "-I", "-S", INSIDE, SOCKETS]
    return replace(command, arguments=[*_IGNORES_TERM, *bubblewrap, *python, *command.arguments])


def _seen(config: SandboxConfig, root: Path, environment: Mapping[str, str], program: Path | None) -> Iterator[Mount]:
    """Of the machine."""
    home = environment["HOME"]
    yield from unreadable()
    yield Mount(home, "empty")
    yield from tools(environment, program, [root, *written_out(config.write, home)])


def _common(
    config: SandboxConfig, worktree: Path, environment: Mapping[str, str], program: Path | None, git: Sequence[Mount]
) -> Iterator[Mount]:
    yield from _seen(config, worktree, environment, program)
    yield from _readable(config.read, environment)
    yield Mount(str(worktree), "write")
    if (worktree / ".git").is_file():
        yield Mount(str(worktree / ".git"))
    yield from git


def _readable(paths: Sequence[str], environment: Mapping[str, str]) -> Iterator[Mount]:
    yield from (Mount(str(path)) for path in named(paths, environment["HOME"]))


def _writable(config: SandboxConfig, worktree: Path, environment: Mapping[str, str]) -> Iterator[Mount]:
    for path in named(config.write, environment["HOME"]):
        if any(Path(inner).is_relative_to(path) for inner in (worktree, environment["HOME"])):
            raise OperatorError(
                "sandbox.write allows more than a sandbox can contain",
                expected="folders beside the home and the worktree, or in them",
                found=str(path),
                remedy="name the folders that have to be written to, one by one",
            )
        yield Mount(str(path), "write")


def _settled(environment: Mapping[str, str], worktree: Path) -> dict[str, str]:
    """The environment inside. Raises OperatorError where hiding the home would hide the work, or showing it show the home."""
    home = environment.get("HOME", "")
    if not Path(home).is_absolute() or home == "/" or Path(home).is_relative_to(worktree):
        raise OperatorError(
            "a sandbox needs a home directory that can be hidden",
            expected="HOME as a folder that does not lie in the worktree",
            found=home or "no HOME",
            remedy="set HOME, or work in a worktree (without --in-place)",
        )
    left_out = {"TMPDIR", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR"}  # they lead to where nothing is
    return {name: value for name, value in environment.items() if name not in left_out}
