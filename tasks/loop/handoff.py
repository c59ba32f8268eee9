"""What a completed loop leaves on its branch: what is to know in the alignment file, for the next loop, and lines for AGENTS.md.

Where the loop's branch has that file, it is a commit of ours on the branch, which is what a person merges. Where it lies in the
checkout and is in no commit, the handoff is kept in the git folder: the checkout is a person's, and a branch with that file could
not be merged over it.
"""

from collections.abc import Sequence
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.memory.agents_md import learnings, with_lines
from helmsman.memory.handoff import Handoff, handed_down, handoff_of, with_handoff, with_section
from helmsman.parsers.alignment_file import is_alignment, own_goal, render
from helmsman.parsers.project import find_commands
from helmsman.plain import clean, one_line
from helmsman.records.alignment import ALIGNMENT, Alignment, inside
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Guardrail, Lesson
from helmsman.records.state import LoopState
from helmsman.secret_shapes import shapes_in
from tasks.checks.project import read_project
from tasks.loop.alignment_file import align_folder, place_of, read_text, understood, with_kept
from tasks.repository.branch_files import NEW_FILE, commit_with, held_in, put_on_branch, text_of, tree_with, work_of
from tasks.repository.git import Repository, git_bytes, succeeds
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

NAME = "handoff.md"  # in the loop's own folder: there it is whatever becomes of the file
SUBJECT = "Add the handoff of loop {}"


def hand_over(context: LoopContext, state: LoopState) -> str:
    """Write down what a completed loop leaves. Returns why it could not be handed over, for a person.

    Done already: nothing happens. Never raises: the loop's work is done.
    """
    if state.outcome is not Outcome.COMPLETED or not state.config.alignment:
        return ""
    kept = context.folder.root / NAME
    try:
        handoff = handoff_of(state)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, f"{handoff.text}\n", mode=FOR_ALL)
        _hand_over(context, state, handoff)
    except (HelmsmanError, OSError, ValueError) as error:
        return f"{one_line(str(error))[:500]}; it is kept in {kept}"
    return ""


def handed_on(context: LoopContext, state: LoopState, tip: str) -> str:
    """A commit on top of `tip`, on no branch yet, that hands over what the loop leaves; `tip` where no file of it takes that."""
    try:
        name = inside(state.config.alignment) if state.config.alignment else ""
        held = held_in(context.repository, tip, name) if name else None
        after = _with_handoff(name, text_of(held.content, name), handoff_of(state)) if held else None
        return tip if after is None else commit_with(context.repository, state, tip, name, after, SUBJECT.format(state.loop))
    except (HelmsmanError, OSError, ValueError):  # it is tried again, and told, once the loop has ended
        return tip


def left_in(repository: Repository, file: str) -> str:
    """What a loop that starts is told of those before it, by the checkout's alignment file. Raises OperatorError."""
    path = place_of(repository.top, file) if file else None
    text = read_text(path) if path else None
    if path is None or not text or not is_alignment(text):
        return ""
    return handed_down(with_kept(repository, inside(file), understood(path, text)).more)


def left_at(repository: Repository, commit: str, file: str) -> str:
    """The same by a commit, for a loop that begins where another one ended and nobody has merged it yet."""
    text = text_at(repository, commit, file)
    return handed_down(understood(Path(file), text).more) if text and is_alignment(text) else ""


def text_at(repository: Repository, commit: str, file: str) -> str | None:
    """The alignment file as it is in a commit; None where that has none. Raises OperatorError where it cannot be read."""
    if not file:
        return None
    name = place_of(repository.top, file).relative_to(repository.top.resolve()).as_posix()
    held = held_in(repository, commit, name)
    return text_of(held.content, file).removeprefix("\ufeff").replace("\r\n", "\n") if held else None


def _hand_over(context: LoopContext, state: LoopState, handoff: Handoff) -> None:
    name, repository = inside(state.config.alignment), context.repository
    tip = work_of(repository, state)
    held = held_in(repository, tip, name)
    if held is None:
        found = None if repository.bare else read_text(place_of(repository.top, name))
        if found is not None:
            _put_beside(repository, name, found, handoff)
        if found is not None or name == ALIGNMENT:
            return
    begun = Alignment(goal=own_goal(state.config.goal))
    after = _with_handoff(name, text_of(held.content, name) if held else render(begun), handoff)
    if after is not None:
        put_on_branch(repository, state, tip, name, after, SUBJECT.format(state.loop))


def _with_handoff(name: str, text: str, handoff: Handoff) -> bytes | None:
    """The alignment file with the handoff; None where it is another document."""
    return None if _is_another_document(name, text) else with_handoff(text, handoff).encode()


def _put_beside(repository: Repository, name: str, text: str, handoff: Handoff) -> None:
    """Beside the checkout's file, unless it has been committed since the loop began: then it belongs to a commit."""
    if _is_another_document(name, text):
        return
    if succeeds(repository.top, "ls-files", "--error-unmatch", "--", f":(top,literal){name}"):
        raise OperatorError(f"{clean(name)} was added to the repository after the loop began, so its branch does not have it")
    understood(repository.top / name, text)
    kept = align_folder(repository, name).left
    before = read_text(kept) or ""
    after = with_section(before.rstrip(), handoff)
    if after != before.rstrip():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, f"{after}\n", mode=FOR_ALL)


def _is_another_document(name: str, text: str) -> bool:
    """A file of the usual name may be somebody's own."""
    return name == ALIGNMENT and not is_alignment(text.removeprefix("\ufeff"))


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
