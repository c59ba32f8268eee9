"""Classify paths as inside the worktree, temporary or outside, and find those that a call may not write to."""

from posixpath import dirname, join, normpath
from typing import Literal, NamedTuple

from helmsman.guardrails.rules import AGENTS_FILE, OWN_FOLDER, RESEARCH_FILE, Finding, Rules
from helmsman.parsers.paths import matches_any
from helmsman.parsers.shell import HOME, resolve_word
from helmsman.parsers.shell_words import UNKNOWN
from helmsman.plain import word_set

TEMPORARY = ("/tmp", "/private/tmp", "/var/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm")  # noqa: S108 - only compared
_DEVICES = ("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/proc/self/fd")
_OWN_FILES = ("/RUBRIC.md", "/helmsman.toml", "/.claude/autochecks.sh", "/.claude/settings*.json")
"""Files that judge the work or steer the loop; nobody may edit them during an iteration."""
_BYPRODUCTS = tuple(word_set("__pycache__/ .pytest_cache/ .mypy_cache/ .ruff_cache/ node_modules/ *.pyc .DS_Store __pycache__"))
"""Generated files, which are also written to protected folders."""
_HARMLESS_IN_GIT = ("/.git/**/*.lock", "/.git/COMMIT_EDITMSG", "/.git/MERGE_MSG", "/.git/SQUASH_MSG")
_LOOPS_FILES = "/.git/helmsman/"  # in any repository: a worktree's own git folder is elsewhere
_LONGEST = 4096  # characters of a path; no system opens a longer one
_SHOWN = 200


class Place(NamedTuple):
    kind: Literal["inside", "temporary", "outside"]
    path: str  # relative to the worktree if inside, "" for its top; else absolute
    holds_worktree: bool = False  # whether it is the worktree itself or a folder above it


def locate(word: str, folder: str | None, rules: Rules) -> Place | None:
    """Resolve a word as a path in `folder`; None if its text does not determine it."""
    path = resolve_word(word, folder, rules.home or HOME) if 0 < len(word) <= _LONGEST else None
    if path is None:
        return None
    resolved = _resolve(path, rules)
    tops = {normpath(rules.worktree), _resolve(normpath(rules.worktree), rules)}
    holds_worktree = any(is_below(top, resolved) for top in tops)
    for top in sorted(tops):
        if is_below(resolved, top):
            return Place("inside", resolved[len(top) :].strip("/"), holds_worktree)
    if any(is_below(path, device) for device in _DEVICES):
        return Place("temporary", path)
    is_temporary = any(is_below(resolved, normpath(top)) for top in (*TEMPORARY, *rules.temporary) if top)
    return Place("temporary" if is_temporary else "outside", resolved, holds_worktree)


def _resolve(path: str, rules: Rules) -> str:
    """Follow links in the known part of a path."""
    known, unknown, _ = path.partition(UNKNOWN)
    folder = dirname(known) if unknown else path
    return f"/{normpath(join(rules.resolve(folder), path[len(folder) :].lstrip('/'))).lstrip('/')}"


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def write_finding(word: str, folder: str | None, rules: Rules, *, folders_only: bool = False) -> Finding | None:
    """Reason against writing to a path, if any. `folders_only`: an empty folder harms no protected file."""
    place = locate(word, folder, rules)
    if place is None:
        return None
    if place.kind == "temporary":
        return _own_state_finding(word) if _LOOPS_FILES in f"{place.path}/" else None
    if place.kind == "outside":
        text = f"{display(word)} is outside the working tree. Write in {display(rules.worktree)}, or in {TEMPORARY[0]} for"
        return Finding("outside", f"{text} temporary files.")
    return None if folders_only else _inside_finding(place.path, rules)


def _inside_finding(path: str, rules: Rules) -> Finding | None:
    first, _, rest = path.partition("/")
    if first == ".git" and not matches_any(path, _HARMLESS_IN_GIT):
        text = "belongs to git. Use git's own commands: add, commit, restore, config user.name."
        return Finding("git_internals", f"{display(path)} {text}")
    if first == OWN_FOLDER and rest != AGENTS_FILE and not (rules.looks_only and rest == RESEARCH_FILE):
        return _own_state_finding(path)
    if rules.looks_only and first != OWN_FOLDER and not matches_any(path, _BYPRODUCTS):
        text = "must not change in this iteration, which is for research. Write your findings to"
        return Finding("protected", f"{display(path)} {text} {OWN_FOLDER}/{RESEARCH_FILE}.")
    is_protected = matches_any(path, rules.protected) and not matches_any(path, (*_BYPRODUCTS, *rules.allowed))
    if not is_protected and not matches_any(path, _OWN_FILES):
        return None
    text = "is protected. Leave it as it is and make the work fit it; if it is wrong, end with BLOCKED and show where."
    return Finding("protected", f"{display(path)} {text}")


def _own_state_finding(path: str) -> Finding:
    text = f"{display(path)} belongs to the loop and is read-only. Write your notes to {OWN_FOLDER}/{AGENTS_FILE}."
    return Finding("own_state", text)


def display(text: str) -> str:
    """Format a path for a sentence: printable and bounded."""
    printable = "".join(char if char.isprintable() else "?" for char in text[:_SHOWN])
    return f"`{printable}…`" if len(text) > _SHOWN else f"`{printable}`"
