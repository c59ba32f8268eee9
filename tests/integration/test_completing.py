"""What shells offer after Tab, in real shells at a terminal, in a repository whose refs were named by somebody hostile."""

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.repository.git import git
from tests.fakes.command_line import CommandLine
from tests.fakes.processes import eventually
from tests.fakes.repositories import make_repository
from tests.fakes.requirements import need
from tests.fakes.terminal import Terminal

PATIENCE = 12
"""Seconds until the words must be there, on a busy machine as well."""
INTERACTIVE = {"bash": ("--noprofile", "--norc", "-i"), "zsh": ("-f", "-i"), "fish": ("--no-config", "--interactive")}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cMDEHNOZ])|[\x07\x08\r]")


class Shell:
    """One that runs in a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        """Nothing of it was looked at yet."""
        self._terminal, self._seen = terminal, 0

    @property
    def shown(self) -> str:
        """What came since the last keys."""
        return _ESCAPES.sub("", self._terminal.written[self._seen :])

    def type(self, keys: str) -> None:
        self._seen = len(self._terminal.written)
        self._terminal.press(keys)

    def see(self, *words: str) -> str:
        """What is shown, once all of it is there."""
        assert eventually(lambda: all(word in self.shown for word in words), PATIENCE), f"not shown: {words}\n{self.shown}"
        return self.shown

    def do(self, command: str) -> str:
        """Run a command to its end."""
        self.type(f"{command}; echo done'.'\n")
        return self.see("done.")


@contextmanager
def run_shell(name: str, folder: Path, home: Path) -> Generator[Shell]:
    """Start it with nobody's settings in a session of its own. Skips the test where it is not installed."""
    need(name)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": path, "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "$ "}
    with Terminal.running(["setsid", "--ctty", name, *INTERACTIVE[name]], folder, own) as terminal:
        yield Shell(terminal)


LOOPS = "auth-fix", "auth-more"
HOSTILE = "auth-$(id>pwned)", "auth-`id>pwned`", "auth-'id>pwned", "auth-;id>pwned", 'auth-"$(id>pwned)"', "auth-{a,b}"
READ = {
    "bash": ". ~/.bashrc",
    "zsh": "fpath+=~/.zfunc; autoload -Uz compinit; compinit -u",
    "fish": ". ~/.config/fish/completions/helmsman.fish",
}
"""How each takes in what `helmsman --install-completion` wrote for it."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    make_repository(folder, {})
    commit = git(folder, "rev-parse", "HEAD").strip()
    for name in (*LOOPS, *HOSTILE):
        git(folder, "update-ref", f"refs/helmsman/{name}/state", commit)
    (tmp_path / "home").mkdir(exist_ok=True)
    return folder


def ready(typed: Shell, name: str) -> None:
    typed.do("helmsman --install-completion")
    typed.do(READ[name])


@pytest.mark.feature("H4", "X3")
@pytest.mark.parametrize("name", READ)
def test_a_shell_offers_loops_and_falls_for_no_name(name: str, repository: Path, tmp_path: Path) -> None:
    with run_shell(name, repository, tmp_path / "home") as typed:
        ready(typed, name)
        typed.type("helmsman resume auth-\t\t")
        shown = typed.see(*LOOPS)
        assert "pwned" not in shown
        assert "a,b" not in shown
    assert not (repository / "pwned").exists()


def test_what_can_be_chosen_from_is_offered(repository: Path, tmp_path: Path) -> None:
    helmsman = CommandLine(repository, {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}, warm=False)

    def offered(*words: str) -> list[str]:
        asked = {"COMP_WORDS": "\n".join(("helmsman", *words)), "COMP_CWORD": str(len(words))}
        told = helmsman.run(_HELMSMAN_COMPLETE="complete_bash", **asked)
        assert (told.exit_code, told.errors) == (0, ""), told
        return told.output.split()

    assert offered("log", "--repo", str(repository), "auth-f") == ["auth-fix"]
    assert offered("run", "goal", "--set", "limits.it") == ["limits.iterations=", "limits.iterations=30"]
    assert offered("run", "goal", "--set", "research.u") == ["research.use=", "research.use=false", "research.use=true"]
    assert offered("status", "--repo", str(tmp_path / "nowhere"), "") == []
