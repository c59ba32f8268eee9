"""Run a command in a sandbox: its command line, environment and mounts, and the services that it needs meanwhile."""

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
from helmsman.sandbox import CLAUDE_HOSTS, INSIDE, SOCKETS, Mount, Reach, arguments, reach_of, with_proxy
from tasks.repository.checkout_environment import toolchains
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import recover
from tasks.sandbox import inside
from tasks.sandbox.host_mounts import existing_paths, expand_paths, hide_paths, hide_unreadable, require_not_writable, tool_mounts
from tasks.sandbox.login import login_mounts
from tasks.sandbox.own_git import import_commits, make_git
from tasks.sandbox.probe import find_bubblewrap
from tasks.sandbox.proxy import sockets, upstream_of
from tasks.system.environment import own_environment
from tasks.system.keys import keys_folder
from tasks.system.paths import LoopFolder

BOXED = "IS_SANDBOX"  # with 1, Claude Code allows bypassing permissions as root
_IGNORES_TERM = ("/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sandbox")
"""On TERM bubblewrap would end at once with all inside; ignoring it gives the command time to end."""


@dataclass(frozen=True)
class Command:
    """A command line and its environment."""

    arguments: list[str]
    environment: dict[str, str]


@dataclass(frozen=True)
class Agent:
    """The agent's program and its hooks."""

    program: Path
    hooks: tuple[int, ...] = ()  # ports of our loopback that serve its hooks
    is_claude: bool = True


def git_folder(folder: LoopFolder) -> Path:
    """Isolated repository of the agent's sandbox, with its commits until they are imported."""
    return folder.root / "sandbox" / "git"


def import_agent_work(context: LoopContext, state: LoopState) -> None:
    """Import the agent's commits from its sandbox, before the branch is read. None of its processes may be alive."""
    git = git_folder(context.folder)
    if git.exists():
        recover(context.repository, context.worktree, state.branch)  # a driver killed during an import leaves git's locks
        import_commits(context.repository, context.worktree, state.branch, git)


@contextmanager
def agent_sandbox(
    config: SandboxConfig, worktree: Path, folder: LoopFolder, agent: Agent, command: Command
) -> Generator[Command]:
    """Wrap the command in the configured sandbox. Raises OperatorError if that is not possible."""
    if config.kind != "bubblewrap":
        yield command
        return
    open_network, private = config.network == "open", folder.root / "sandbox"
    environment = _inner_environment(command.environment, worktree)
    reach = Reach()
    if config.network == "model":
        reach = reach_of(environment, config.hosts, CLAUDE_HOSTS if agent.is_claude else ())
    inner_git = git_folder(folder)
    shutil.rmtree(inner_git, ignore_errors=True)
    inner_git.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        lent_login = login_mounts(private, environment, renewed=config.login == "renewed")
        login = stack.enter_context(lent_login) if agent.is_claude else ()
        git = make_git(worktree, inner_git)
        socket_folders = (
            () if open_network else (stack.enter_context(sockets(reach, agent.hooks, upstream_of(own_environment()))),)
        )
        environment = environment if open_network else with_proxy(environment, reach)
        mounts = [*_common(config, worktree, environment, agent.program, git), *login, *_writable(config, worktree, environment)]
        mounts += [Mount(SOCKETS, "empty"), *(Mount(SOCKETS, "read", str(path)) for path in socket_folders)]
        yield _sandbox_command(config, worktree, mounts, replace(command, environment=environment), config.network)


@contextmanager
def check_sandbox(
    config: SandboxConfig, worktree: Path, command: Command, clean: CleanCheckout | None = None
) -> Generator[Command]:
    """Like `agent_sandbox` for a check, with a temporary home and repository. A clean checkout already has both."""
    if config.kind != "bubblewrap" or not config.checks:
        yield command
    elif clean is not None:
        # hide the user's home; show the checkout, its own folders and the toolchains
        _inner_environment(command.environment, clean.root)
        environment = {**command.environment, "HOME": own_environment().get("HOME", "/")}
        mounts = [
            *_machine(config, clean.root, environment, None),
            *(Mount(path) for path in dict.fromkeys(toolchains(own_environment()).values()) if Path(path).is_dir()),
            *_readable((*config.read, *config.write), environment),
            Mount(str(clean.store.objects)),
            *(Mount(str(path), "write") for path in (clean.root, *clean.own_folders)),
        ]
        sandboxed = _sandbox_command(config, clean.root, mounts, replace(command, environment=environment), config.checks_network)
        yield replace(sandboxed, environment=command.environment)
    else:
        environment = _inner_environment(command.environment, worktree)
        with tempfile.TemporaryDirectory(prefix="helmsman-", ignore_cleanup_errors=True) as scratch:
            git = make_git(worktree, Path(scratch) / "git")
            mounts = [*_common(config, worktree, environment, None, git), *_readable(config.write, environment)]
            yield _sandbox_command(config, worktree, mounts, replace(command, environment=environment), config.checks_network)


def _sandbox_command(config: SandboxConfig, worktree: Path, mounts: Sequence[Mount], command: Command, network: str) -> Command:
    home, keys = command.environment["HOME"], keys_folder()
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)  # a missing folder cannot be hidden, and may be created later
    writable = [worktree, *expand_paths(config.write, home)]
    require_not_writable(config.hide, writable, home)
    require_not_writable([str(keys)], writable, home, "the folder of the keys that sign a loop's state")
    entry = Mount(INSIDE, "read", str(Path(inside.__file__)))
    all_mounts = [*mounts, entry, *hide_paths([*config.hide, str(keys)], home)]
    bubblewrap = [str(find_bubblewrap()), *arguments(str(worktree), all_mounts, shares_network=network == "open")]
    python = [os.path.realpath(sys.executable), "-I", "-S", INSIDE, SOCKETS]
    return replace(command, arguments=[*_IGNORES_TERM, *bubblewrap, *python, *command.arguments])


def _machine(config: SandboxConfig, root: Path, environment: Mapping[str, str], program: Path | None) -> Iterator[Mount]:
    """Mounts of the machine's programs."""
    home = environment["HOME"]
    yield from hide_unreadable()
    yield Mount(home, "empty")
    yield from tool_mounts(environment, program, [root, *expand_paths(config.write, home)])


def _common(
    config: SandboxConfig, worktree: Path, environment: Mapping[str, str], program: Path | None, git: Sequence[Mount]
) -> Iterator[Mount]:
    yield from _machine(config, worktree, environment, program)
    yield from _readable(config.read, environment)
    yield Mount(str(worktree), "write")
    if (worktree / ".git").is_file():
        yield Mount(str(worktree / ".git"))
    yield from git


def _readable(paths: Sequence[str], environment: Mapping[str, str]) -> Iterator[Mount]:
    yield from (Mount(str(path)) for path in existing_paths(paths, environment["HOME"]))


def _writable(config: SandboxConfig, worktree: Path, environment: Mapping[str, str]) -> Iterator[Mount]:
    for path in existing_paths(config.write, environment["HOME"]):
        if any(Path(inner).is_relative_to(path) for inner in (worktree, environment["HOME"])):
            raise OperatorError(
                "sandbox.write contains the home or the worktree",
                expected="folders next to or inside the home and the worktree",
                found=str(path),
                remedy="list the writable folders one by one",
            )
        yield Mount(str(path), "write")


def _inner_environment(environment: Mapping[str, str], worktree: Path) -> dict[str, str]:
    """Environment inside. Raises OperatorError if hiding the home would hide the worktree, or the worktree contains the home."""
    home = environment.get("HOME", "")
    if not Path(home).is_absolute() or home == "/" or Path(home).is_relative_to(worktree):
        raise OperatorError(
            "a sandbox needs a home directory that can be hidden",
            expected="HOME outside of the worktree",
            found=home or "no HOME",
            remedy="set HOME, or work in a worktree (without --in-place)",
        )
    left_out = {"TMPDIR", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR"}  # their folders do not exist inside
    return {name: value for name, value in environment.items() if name not in left_out}
