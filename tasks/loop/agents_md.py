"""Proposing what loops learnt for a project's AGENTS.md: a patch beside the loop's records, and a commit once a person agrees."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.memory.agents_md import learnings, with_lines
from helmsman.oversee.imperatives import imperatives
from helmsman.parsers.project import find_commands
from helmsman.plain import clean, one_line
from helmsman.records.control import Imperative
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Guardrail, Lesson
from helmsman.records.state import LoopState
from helmsman.secret_shapes import shapes_in
from tasks.checking.detecting import read_project
from tasks.repository.branch_files import (
    LARGEST,
    NEW_FILE,
    Held,
    an_index,
    held_in,
    put_on_branch,
    text_of,
    tree_with,
    work_of,
)
from tasks.repository.git import GitError, Repository, commit_and_tree, git, git_bytes
from tasks.repository.trees import FILE_MODES, root_entries
from tasks.system.files import FOR_ALL, read_within, write_atomic
from tasks.system.secrets import redact
from tasks.worktrees.workplace import Workplace

AGENTS = "AGENTS.md"
PATCH = "AGENTS.md.patch"
_OTHERS = ("CLAUDE.md", "RUBRIC.md")
"""Documents at the top that order something as well."""
_DIFF = (
    "-p", "--text", "--full-index", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""What no setting and no attribute of a repository changes."""


@dataclass(frozen=True)
class Proposed:
    """What became of it."""

    lines: tuple[str, ...] = ()
    """What is proposed; empty where nothing is new."""
    patch: Path | None = None
    """For `git apply`, against the loop's head."""
    problem: str = ""
    """Why nothing could be proposed, for a person."""


def propose(place: Workplace, state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]) -> Proposed:
    """Write the patch of a completed loop where it teaches something new. The branch stays as it is. Never raises."""
    if state.outcome is not Outcome.COMPLETED or state.config.memory.agents_md == "off":
        return Proposed()
    try:
        return _proposed(place, state, lessons, guardrails)
    except (HelmsmanError, OSError, ValueError) as error:
        return Proposed(problem=one_line(str(error))[:500])


def commit_patch(place: Workplace, state: LoopState) -> str:
    """Put the patch, as it lies there and as a person agreed to it, on the loop's branch. Done already: nothing happens.

    Returns the branch's commit that holds it. Raises OperatorError where the patch does not fit, or changes anything else.
    """
    path = place.folder.root / PATCH
    patch = read_within(path.parent, PATCH, LARGEST)
    if patch is None:
        raise OperatorError("there is nothing to commit for AGENTS.md", expected="a patch", found=f"no {path}")
    tip = work_of(place.repository, state)
    if _applied(place.repository, tip, patch, "--reverse") not in {None, commit_and_tree(place.repository.common, tip)[1]}:
        return tip
    tree = _applied(place.repository, tip, patch)
    if tree is None:
        raise OperatorError(f"{PATCH} does not fit the loop's branch any more", found=str(path), remedy="apply it by hand")
    name, after = _only_file(place.repository, tip, tree)
    subject = f"Note in {name} what loop {state.loop} learnt"
    return put_on_branch(place.repository, state, tip, name, after.content, subject)


# --- proposing ----------------------------------------------------------------------------------------------------


def _proposed(place: Workplace, state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]) -> Proposed:
    repository = place.repository
    name = _name(repository, state.head)
    held = held_in(repository, state.head, name)
    present = text_of(held.content, name) if held else ""
    if "\0" in present:
        raise OperatorError(f"{name} cannot be added to", expected="text", found="zero bytes")
    own = {one.command for one in find_commands(read_project(repository)).candidates}
    found = learnings(state, lessons, guardrails, present, commands=own, orders=_orders(repository, state.head))
    # what only looks like a secret goes too: nobody misses such a line
    lines = tuple(line for line in found if redact(line) == line and not any(shapes_in(line)))
    path = place.folder.root / PATCH
    if not lines:
        path.unlink(missing_ok=True)  # of an attempt before this one
        return Proposed()
    tree = tree_with(repository, state.head, name, with_lines(present, lines).encode(), held.mode if held else NEW_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, git_bytes(repository.common, "diff-tree", *_DIFF, state.head, tree), mode=FOR_ALL)
    return Proposed(lines=lines, patch=path)


def _name(repository: Repository, commit: str) -> str:
    """The file as this project writes its name: two that differ in case alone cannot lie beside each other everywhere."""
    names = [entry.path for entry in root_entries(repository.common, commit)]
    return AGENTS if AGENTS in names else next((name for name in names if name.lower() == AGENTS.lower()), AGENTS)


def _orders(repository: Repository, commit: str) -> list[Imperative]:
    """What other documents at the top order; one that cannot be read orders nothing."""
    found: list[Imperative] = []
    for name in _OTHERS:
        try:
            held = held_in(repository, commit, name)
        except HelmsmanError:
            continue
        found += imperatives(name, held.content.decode("utf-8-sig", "replace")) if held else ()
    return found


# --- committing ---------------------------------------------------------------------------------------------------


def _applied(repository: Repository, tip: str, patch: bytes, *how: str) -> str | None:
    """The tree that the patch makes of a commit; None where it does not fit."""
    with an_index() as index:
        git(repository.common, "read-tree", tip, env=index)
        try:
            git(repository.common, "apply", "--cached", "--whitespace=nowarn", *how, "-", stdin=patch, env=index)
        except GitError:
            return None
        return git(repository.common, "write-tree", env=index).strip()


def _only_file(repository: Repository, tip: str, tree: str) -> tuple[str, Held]:
    """The file that a patch changes, where it is AGENTS.md and nothing else. Raises OperatorError."""
    changed = git(repository.common, "diff-tree", "-r", "-z", "--no-renames", "--name-status", tip, tree).split("\0")[:-1]
    status, name = (changed[0], changed[1]) if len(changed) == 2 else ("", "")  # noqa: PLR2004 - a letter and a name
    held = held_in(repository, tree, name) if status in {"A", "M"} and name == _name(repository, tree) else None
    mode = held_in(repository, tip, name) if held else None
    if held is None or held.mode not in FILE_MODES or held.mode != (mode.mode if mode else NEW_FILE):
        raise OperatorError(
            f"{PATCH} changes something else than {AGENTS}",
            expected="its lines and nothing else",
            found=clean(", ".join(changed[1::2]))[:200],
            remedy="look at it, and apply by hand what is wanted",
        )
    return name, held
