"""Rules about single commands: what destroys, publishes, ends processes, runs unread scripts, or starts another loop."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from posixpath import basename, dirname
from typing import NamedTuple

from helmsman.orient.guardrails.paths import Kind, Place, locate
from helmsman.orient.guardrails.rules import Finding, Rule, Rules
from helmsman.orient.guardrails.shell import (
    FORK_BOMB,
    HOME,
    PARENT,
    SHELLS,
    UNKNOWN,
    Command,
    ShellCall,
    read,
    script_in,
    shell_call,
)
from helmsman.orient.guardrails.tool_calls import Session
from helmsman.orient.guardrails.words import has_flag, operands, word_set
from helmsman.orient.guardrails.wrappers import INTERPRETER


class Scene(NamedTuple):
    """A command, and what is known when it runs."""

    command: Command
    rules: Rules
    background: bool
    """Whether the session has started anything in the background."""


CommandRule = Callable[[Scene], Finding | None]


def findings(commands: tuple[Command, ...], session: Session, rules: Rules) -> Iterator[Finding]:
    """What speaks against each command of a call."""
    background = session.background or any(command.background for command in commands)
    for command in commands:
        scene = Scene(command, rules, background)
        yield from (finding for rule in _RULES if (finding := rule(scene)))


# another loop ---------------------------------------------------------------------------------------------------------

_AGENTS = word_set("claude claude-code")
_LOOPS = word_set("helmsman deployments.cli")


def _nested(scene: Scene) -> Finding | None:
    program, words = scene.command.program, scene.command.arguments
    agent = program in _AGENTS and has_flag(words, "p", word_set("--print"))
    loop = program in _LOOPS and words[:1] in {("run",), ("resume",)}
    if scene.rules.nesting > 0 or not (agent or loop):
        return None
    return Finding(Rule.NESTED, "This session already runs in a loop. Do the work yourself, here, step by step.")


_OPERATORS = word_set("approve answer reject cancel trust")
_OPERATORS_OF_MEMORY = word_set("forget import")


def _operator(scene: Scene) -> Finding | None:
    """Only the plain words: state that decides is protected by other means."""
    verb, below = (*operands(scene.command.arguments), "", "")[:2]
    decides = verb in _OPERATORS or (verb == "memory" and below in _OPERATORS_OF_MEMORY)
    if scene.command.program not in _LOOPS or not decides or _TRIAL & set(scene.command.arguments):
        return None
    return Finding(
        Rule.OPERATOR,
        "That is for the person who runs this loop to decide. Write what you need from them into .helmsman/progress.md and go on"
        " with what can be done without it.",
    )


# publishing -----------------------------------------------------------------------------------------------------------

_PUBLISHING = frozenset(
    tuple(line.split())
    for line in (
        "npm publish",
        "pnpm publish",
        "yarn publish",
        "yarn npm publish",
        "bun publish",
        "lerna publish",
        "twine upload",
        "poetry publish",
        "uv publish",
        "pdm publish",
        "hatch publish",
        "flit publish",
        "cargo publish",
        "gem push",
        "docker push",
        "docker image push",
        "podman push",
        "mvn deploy",
        "dotnet nuget push",
        "vsce publish",
        "helm push",
        "gh pr create",
        "gh pr merge",
        "gh release create",
        "gh repo delete",
    )
)
_TRIAL = word_set("--dry-run --help -h")


def _publish(scene: Scene) -> Finding | None:
    words = tuple(word for word in scene.command.arguments if not word.startswith("-"))
    program = scene.command.program
    publishes = any((program, *words[:length]) in _PUBLISHING for length in (1, 2))
    if not publishes or _TRIAL & set(scene.command.arguments):
        return None
    return Finding(Rule.PUBLISH, "What leaves this machine is released by people. Build and check it here; --dry-run is fine.")


# destruction ----------------------------------------------------------------------------------------------------------

_MACHINE = word_set("shutdown reboot halt poweroff")
_EVERYTHING = word_set("* .* {*,.*} .[!.]*")


def _destroys(what: str, instead: str) -> Finding:
    return Finding(Rule.DESTRUCTIVE, f"{what}. {instead}")


def _machine(scene: Scene) -> Finding | None:
    program = scene.command.program
    if program == FORK_BOMB:
        return _destroys("This fills the machine with processes", "Run the one command that you need.")
    if program in _MACHINE:
        return _destroys("The machine is shared", "Leave it running; go on with the work.")
    if program == "mkfs" or program.startswith("mkfs."):
        return _destroys("This erases a disk", "Write to a file in the working tree or in /tmp.")
    return None


def _sudo(scene: Scene) -> Finding | None:
    if not {"sudo", "doas"} & set(scene.command.wrappers):
        return None
    return _destroys(
        "Nothing here needs another user's rights", "Run it without sudo; install into the project's own environment."
    )


def _raw_disk(scene: Scene) -> Finding | None:
    targets = (
        [word[3:] for word in scene.command.arguments if word.startswith("of=/dev/")] if scene.command.program == "dd" else []
    )
    places = [locate(target, scene.command.folder, scene.rules) for target in targets]
    if not any(place and place.kind is Kind.OUTSIDE for place in places):
        return None
    return _destroys("This overwrites a device", "Write to a file in the working tree or in /tmp.")


def _remove(scene: Scene) -> Finding | None:
    command = scene.command
    if command.program != "rm" or not has_flag(command.arguments, "rR", word_set("--recursive --no-preserve-root")):
        return None
    if not any(_removes_all(word, scene) for word in operands(command.arguments)):
        return None
    return _destroys(
        "This removes the whole working tree, its history, or a folder around it",
        "Name the build folders and files that you made, for example `rm -rf build dist`.",
    )


def _removes_all(word: str, scene: Scene) -> bool:
    every = basename(word.rstrip("/")) in _EVERYTHING
    place = locate((dirname(word) or ".") if every else word, scene.command.folder, scene.rules)
    return place is not None and (place.holds_worktree or place.path == ".git" or _is_home(place, scene.rules))


def _is_home(place: Place, rules: Rules) -> bool:
    return place.path in {HOME, rules.home or HOME} and place.kind is not Kind.INSIDE


def _open_to_all(scene: Scene) -> Finding | None:
    command = scene.command
    recursive = has_flag(command.arguments, "R", word_set("--recursive"))
    if command.program not in {"chmod", "chown", "chgrp"} or not recursive:
        return None
    places = [locate(word, command.folder, scene.rules) for word in list(operands(command.arguments))[1:]]
    if not any(place and place.kind is Kind.OUTSIDE for place in places):
        return None
    return _destroys(
        "This changes rights outside the working tree", "Change the one file that needs it, for example `chmod +x run.sh`."
    )


# processes ------------------------------------------------------------------------------------------------------------

_EVERYBODY = word_set("-1 0 1")
_CHILDREN = frozenset({"-P", "--parent"})


def _ends(scene: Scene) -> Finding | None:
    command = scene.command
    if command.program in {"pkill", "killall", "kill"} and _parent(command.arguments):
        found = True
    elif command.program in {"pkill", "killall"}:
        found = not _CHILDREN & set(command.arguments) and not _TRIAL & set(command.arguments)
    elif command.program == "kill":
        found = _foreign(command.arguments, background=scene.background)
    else:
        return None
    if not found:
        return None
    return Finding(
        Rule.PROCESSES,
        "This may end processes that are not yours. End what you started, by `kill $!` or `kill %1` in the command that started"
        " it, or by its own pid.",
    )


def _parent(words: tuple[str, ...]) -> bool:
    """What runs the agent; a signal of 0 only asks whether it is there."""
    return "-0" not in words and any(word.lstrip("-") == PARENT for word in words)


def _foreign(words: tuple[str, ...], *, background: bool) -> bool:
    """A pid can't be told from others, but where nothing was started none is ours."""
    if {"-0", "-l", "-L"} & set(words):
        return False
    pids = _pids(words)
    return bool(_EVERYBODY & set(pids)) or (not background and any(pid.isdigit() for pid in pids))


def _pids(words: tuple[str, ...]) -> tuple[str, ...]:
    """Behind the signal: `-9`, `-TERM`, `-s TERM`, `--`. A lone `-1` is a signal, behind a signal it is everybody."""
    if words[:1] in {("-s",), ("-n",)}:
        words = words[2:]
    elif words[:1] and words[0].startswith("-") and words[0] != "--":
        words = words[1:]
    return words[1:] if words[:1] == ("--",) else words


# scripts from elsewhere -----------------------------------------------------------------------------------------------

_FETCHERS = frozenset({"curl", "wget"})
_INTERPRETERS = word_set("node perl ruby php deno bun")
_SOURCES = frozenset({"source", "."})
_STDIN = frozenset({"", "/dev/stdin", "/dev/fd/0"})
_FETCHED = "\ue000"
"""Stands in a script for what was put there before it is read; UNKNOWN itself is dropped from every text."""


def _remote_script(scene: Scene) -> Finding | None:
    command = scene.command
    piped = bool(_FETCHERS & set(command.upstream)) and _reads_script(command)
    inner = bool(_FETCHERS & set(command.inner)) and _runs_words(command)
    if not piped and not inner:
        return None
    return Finding(Rule.REMOTE_SCRIPT, "Nobody has read this script. Download it to a file in /tmp, read it, then run the file.")


def _reads_script(command: Command) -> bool:
    """Whether it runs what comes down the pipe: a script or a module of its own makes that its data."""
    program, words = command.program, command.arguments
    if program in SHELLS:
        call = shell_call(words)
        return not ("c" in call.letters or _only_checks(call)) and ("s" in call.letters or call.first in _STDIN)
    if program in _SOURCES:
        return "".join(words[:1]) in _STDIN
    if INTERPRETER.fullmatch(program) or program in _INTERPRETERS:
        return all(word == "-" or re.fullmatch("-[uBEsSIO]+", word) for word in words) and not command.stdin
    return False


def _only_checks(call: ShellCall) -> bool:
    """`-n` reads a script and runs nothing; not every shell heeds it where it is interactive."""
    return "n" in call.letters and "i" not in call.letters


def _runs_words(command: Command) -> bool:
    """`$(curl …)`, `sh -c "$(curl …)"`, `bash <(curl …)`, `eval`: what was fetched is run, and not an argument of what runs."""
    if "".join(command.words[:1]).startswith(UNKNOWN) or _runs(command, UNKNOWN):
        return True
    if command.program in SHELLS and _only_checks(shell_call(command.arguments)):
        return False
    within = read(script_in(command).replace(UNKNOWN, _FETCHED), "")
    return any("".join(one.words[:1]).startswith(_FETCHED) or _runs(one, _FETCHED) for one in within)


def _runs(command: Command, mark: str) -> bool:
    """Whether it runs a file or a script that begins with the mark."""
    program, words = command.program, command.arguments
    if program in SHELLS:
        call = shell_call(words)
        return not _only_checks(call) and any(word.lstrip().startswith(mark) for word in (call.first, call.start_up))
    if INTERPRETER.fullmatch(program) or program in _INTERPRETERS:
        file = next((word for word in words if not word.startswith("-")), "") if "-m" not in words else ""
        scripts = [script.lstrip() for flag, script in pairwise(words) if flag in {"-c", "-e"}]
        return any(text.startswith(mark) for text in (file, *scripts))
    return program in {"eval", "trap", *_SOURCES} and any(word.lstrip().startswith(mark) for word in words)


_RULES: tuple[CommandRule, ...] = (
    _nested,
    _operator,
    _publish,
    _machine,
    _sudo,
    _raw_disk,
    _remove,
    _open_to_all,
    _ends,
    _remote_script,
)
