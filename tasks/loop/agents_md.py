"""Proposing what loops learnt for a project's AGENTS.md: a patch beside the loop's records, and a commit once a person agrees."""

from collections.abc import Sequence

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.memory.agents_md import learnings, with_lines
from helmsman.parsers.project import find_commands
from helmsman.plain import one_line
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Guardrail, Lesson
from helmsman.records.state import LoopState
from helmsman.secret_shapes import shapes_in
from tasks.checks.project_commands import read_project
from tasks.repository.branch_files import NEW_FILE, held_in, put_on_branch, text_of, tree_with, work_of
from tasks.repository.git import Repository, git_bytes
from tasks.repository.loop_context import LoopContext
from tasks.repository.objects import root_entries
from tasks.system.files import FOR_ALL, write_atomic
from tasks.system.secrets import redact

AGENTS = "AGENTS.md"
PATCH = "AGENTS.md.patch"
_DIFF = (
    "-p", "--text", "--full-index", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""What no setting and no attribute of a repository changes."""

Proposed = tuple[tuple[str, ...], str]
"""The lines that a patch was written for, for `git apply` on the loop's head; and why nothing could be proposed, for a person."""


def propose(context: LoopContext, state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]) -> Proposed:
    """Write the patch of a completed loop where it teaches something new. The branch stays as it is. Never raises."""
    if state.outcome is not Outcome.COMPLETED or state.config.memory.agents_md == "off":
        return (), ""
    repository, path = context.repository, context.folder.root / PATCH
    try:
        name, mode, present = _file(repository, state.head)
        own = {one.command for one in find_commands(read_project(repository)).candidates}
        found = learnings(state, lessons, guardrails, present, commands=own)
        # what only looks like a secret goes too: nobody misses such a line
        lines = tuple(line for line in found if redact(line) == line and not any(shapes_in(line)))
        if not lines:
            path.unlink(missing_ok=True)  # of an attempt before this one
            return (), ""
        tree = tree_with(repository, state.head, name, with_lines(present, lines).encode(), mode)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, git_bytes(repository.common, "diff-tree", *_DIFF, state.head, tree), mode=FOR_ALL)
    except (HelmsmanError, OSError, ValueError) as error:
        return (), one_line(str(error))[:500]
    return lines, ""


def commit_lines(context: LoopContext, state: LoopState) -> str:
    """Put the lines that a person agreed to, as the loop's signed state has them, on its branch. Done already: nothing happens.

    Returns the branch's commit that holds them. Raises OperatorError where nothing can be added to the file.
    """
    tip = work_of(context.repository, state)
    name, _, present = _file(context.repository, tip)
    new = [line for line in state.proposed if f"- {line}" not in present.splitlines()]
    if not new:
        return tip
    subject = f"Note in {name} what loop {state.loop} learnt"
    return put_on_branch(context.repository, state, tip, name, with_lines(present, new).encode(), subject)


def _file(repository: Repository, commit: str) -> tuple[str, str, str]:
    """Name, mode and text of a commit's file. Raises OperatorError where nothing can be added to it.

    The name is as this project writes it: two that differ in case alone cannot lie beside each other everywhere.
    """
    names = [entry.path for entry in root_entries(repository.common, commit)]
    name = AGENTS if AGENTS in names else next((name for name in names if name.lower() == AGENTS.lower()), AGENTS)
    held = held_in(repository, commit, name)
    text = text_of(held.content, name) if held else ""
    if "\0" in text:
        raise OperatorError(f"{name} cannot be added to", expected="text", found="zero bytes")
    return name, held.mode if held else NEW_FILE, text
