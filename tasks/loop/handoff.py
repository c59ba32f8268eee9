"""What a completed loop leaves on its branch: what is to know in the alignment file, for the next loop, and lines for AGENTS.md.

Where the loop's branch has that file, it is a commit of ours on the branch, which is what a person merges. Where it lies in the
checkout alone, the handoff is kept in the git folder: the checkout is a person's, and a branch with that file could not be merged
over it.
"""

from collections.abc import Sequence
from pathlib import Path

from helmsman.errors import HelmsmanError
from helmsman.memory.agents_md import learnings, with_lines
from helmsman.memory.handoff import Handoff, handed_down, handoff_of, with_handoff, with_section
from helmsman.parsers.alignment_file import is_alignment, own_goal, render
from helmsman.parsers.project import find_commands
from helmsman.records.alignment import ALIGNMENT, Alignment, inside
from helmsman.records.lessons import Guardrail, Lesson
from helmsman.records.state import LoopState
from helmsman.secret_shapes import shapes_in
from tasks.checks.project import read_project
from tasks.loop.alignment_file import align_folder, place_of, read_text, understood, with_kept
from tasks.repository.branch_files import NEW_FILE, commit_with, held_in, put_on_branch, text_of, tree_with, work_of
from tasks.repository.git import Repository, git_bytes
from tasks.repository.loop_context import LoopContext
from tasks.system.files import FOR_ALL, write_atomic
from tasks.system.secrets import redact

AGENTS = "AGENTS.md"
PATCH = "AGENTS.md.patch"
_DIFF = (
    "-p", "--text", "--full-index", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""What no setting and no attribute of a repository changes."""

NAME = "handoff.md"  # in the loop's own folder: there it is whatever becomes of the file
SUBJECT = "Add the handoff of loop {}"


def hand_over(context: LoopContext, state: LoopState) -> None:
    """Write down what a completed loop leaves. Done already: nothing happens. Raises HelmsmanError where that cannot be."""
    if not state.config.alignment:
        return
    handoff, kept = handoff_of(state), context.folder.root / NAME
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(kept, f"{handoff.text}\n", mode=FOR_ALL)
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
    if not file:
        return ""
    held = held_in(repository, commit, place_of(repository.top, file).relative_to(repository.top.resolve()).as_posix())
    text = text_of(held.content, file).removeprefix("\ufeff").replace("\r\n", "\n") if held else ""
    return handed_down(understood(Path(file), text).more) if is_alignment(text) else ""


def _with_handoff(name: str, text: str, handoff: Handoff) -> bytes | None:
    """The alignment file with the handoff; None where it is another document."""
    return None if _is_another_document(name, text) else with_handoff(text, handoff).encode()


def _put_beside(repository: Repository, name: str, text: str, handoff: Handoff) -> None:
    """Beside the checkout's file."""
    if _is_another_document(name, text):
        return
    understood(repository.top / name, text)
    kept = align_folder(repository, name).left
    before = (read_text(kept) or "").rstrip()
    after = with_section(before, handoff)
    if after != before:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, f"{after}\n", mode=FOR_ALL)


def _is_another_document(name: str, text: str) -> bool:
    """A file of the usual name may be somebody's own."""
    return name == ALIGNMENT and not is_alignment(text.removeprefix("\ufeff"))


def propose(
    context: LoopContext, state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]
) -> tuple[str, ...]:
    """Write the patch of a completed loop where it teaches something new, for `git apply` on its head, and return its lines.

    The branch stays as it is. Raises OperatorError where nothing can be added to the file.
    """
    if state.config.memory.agents_md == "off":
        return ()
    repository, path = context.repository, context.folder.root / PATCH
    path.unlink(missing_ok=True)  # of an attempt before this one
    mode, present = _agents(repository, state.head)
    own = {one.command for one in find_commands(read_project(repository)).candidates}
    found = learnings(state, lessons, guardrails, present, commands=own)
    # what only looks like a secret goes too: nobody misses such a line
    lines = tuple(line for line in found if redact(line) == line and not any(shapes_in(line)))
    if lines:
        tree = tree_with(repository, state.head, AGENTS, with_lines(present, lines).encode(), mode)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, git_bytes(repository.common, "diff-tree", *_DIFF, state.head, tree), mode=FOR_ALL)
    return lines


def commit_lines(context: LoopContext, state: LoopState) -> str:
    """Put the lines that a person agreed to, as the loop's signed state has them, on its branch. Done already: nothing happens.

    Returns the branch's commit that holds them. Raises OperatorError where nothing can be added to the file.
    """
    tip = work_of(context.repository, state)
    _, present = _agents(context.repository, tip)
    new = [line for line in state.proposed if f"- {line}" not in present.splitlines()]
    if not new:
        return tip
    subject = f"Note in {AGENTS} what loop {state.loop} learnt"
    return put_on_branch(context.repository, state, tip, AGENTS, with_lines(present, new).encode(), subject)


def _agents(repository: Repository, commit: str) -> tuple[str, str]:
    """Mode and text of a commit's file. Raises OperatorError where nothing can be added to it."""
    held = held_in(repository, commit, AGENTS)
    return (held.mode, text_of(held.content, AGENTS)) if held else (NEW_FILE, "")
