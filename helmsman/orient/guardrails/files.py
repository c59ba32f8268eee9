"""Rules about where a call writes: git's own files, the loop's, protected ones, and the world outside the worktree."""

from collections.abc import Iterator
from typing import NamedTuple

from helmsman.orient.guardrails.git import folder_of
from helmsman.orient.guardrails.paths import Kind, Place, locate, matches_any
from helmsman.orient.guardrails.rules import AGENTS_FILE, OWN_FILES, OWN_FOLDER, RESEARCH_FILE, TEMPORARY, Finding, Rule, Rules
from helmsman.orient.guardrails.shell import Command
from helmsman.orient.guardrails.tool_calls import ToolCall
from helmsman.orient.guardrails.writes import FOLDERS_ONLY, written

_BYPRODUCTS = (
    "__pycache__/",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    "node_modules/",
    "*.pyc",
    ".DS_Store",
    "__pycache__",
)
"""They lie in protected folders too, and are nobody's work."""
_HARMLESS_IN_GIT = ("/.git/**/*.lock", "/.git/COMMIT_EDITMSG", "/.git/MERGE_MSG", "/.git/SQUASH_MSG")
_LOOPS_FILES = "/.git/helmsman/"
"""In whichever repository: a worktree's own git folder lies elsewhere."""
_SHOWN = 200


class Write(NamedTuple):
    word: str
    folder: str | None
    folders_only: bool = False


def findings(call: ToolCall, commands: tuple[Command, ...], rules: Rules) -> Iterator[Finding]:
    """What speaks against the places that a call writes to."""
    for write in _writes(call, commands, rules):
        place = locate(write.word, write.folder, rules)
        if place is not None and (finding := _judged(place, write, rules)):
            yield finding


def _writes(call: ToolCall, commands: tuple[Command, ...], rules: Rules) -> Iterator[Write]:
    if call.path:
        yield Write(call.path, call.folder(rules.worktree))
    for command in commands:
        folder = folder_of(command, rules.home)
        yield from (Write(word, folder, command.program in FOLDERS_ONLY) for word in written(command))


def _judged(place: Place, write: Write, rules: Rules) -> Finding | None:
    if place.kind is Kind.TEMPORARY:
        return _of_loop(write.word) if _LOOPS_FILES in f"{place.path}/" else None
    if place.kind is Kind.OUTSIDE:
        return Finding(
            Rule.OUTSIDE,
            f"{shown(write.word)} is outside the working tree. Write inside {shown(rules.worktree)},"
            f" or in {TEMPORARY[0]} for what is temporary.",
        )
    return None if write.folders_only else _inside(place.path, rules) or _of_operator(place.path, rules)


def _inside(path: str, rules: Rules) -> Finding | None:
    first, _, rest = path.partition("/")
    if first == ".git" and not matches_any(path, _HARMLESS_IN_GIT):
        return Finding(
            Rule.GIT_INTERNALS, f"{shown(path)} belongs to git. Use git's own commands: add, commit, restore, config user.name."
        )
    if first == OWN_FOLDER and rest != AGENTS_FILE and not (rules.looks_only and rest == RESEARCH_FILE):
        return _of_loop(path)
    return None


def _of_loop(path: str) -> Finding:
    return Finding(
        Rule.OWN_STATE,
        f"{shown(path)} belongs to the loop; reading is fine. Write your notes to {OWN_FOLDER}/{AGENTS_FILE}.",
    )


def _of_operator(path: str, rules: Rules) -> Finding | None:
    own = matches_any(path, OWN_FILES)
    if rules.looks_only and not path.startswith(f"{OWN_FOLDER}/") and not matches_any(path, _BYPRODUCTS):
        return Finding(
            Rule.PROTECTED,
            f"{shown(path)} stays as it is in this iteration, which is for research."
            f" Write what you found to {OWN_FOLDER}/{RESEARCH_FILE}.",
        )
    if not own and (matches_any(path, (*_BYPRODUCTS, *rules.allowed)) or not matches_any(path, rules.protected)):
        return None
    return Finding(
        Rule.PROTECTED,
        f"{shown(path)} is protected: it judges the work. Leave it as it is and change the code so that it passes;"
        f" where you think that it is wrong, say so in {OWN_FOLDER}/{AGENTS_FILE}.",
    )


def shown(text: str) -> str:
    """A path in a sentence: printable and bounded."""
    plain = "".join(char if char.isprintable() else "?" for char in text[:_SHOWN])
    return f"`{plain}…`" if len(text) > _SHOWN else f"`{plain}`"
