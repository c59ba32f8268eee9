"""A completed loop's handoff to the next loop, in the alignment file, and its proposed lines for AGENTS.md.

Where the loop's branch has the alignment file, the handoff is a commit on that branch, which a person merges. Where only the
checkout has it, the handoff is stored in the git folder: the checkout is a person's, and a branch with that file could not be
merged over it.
"""

from collections.abc import Sequence
from pathlib import Path

from helmsman.errors import HelmsmanError
from helmsman.memory.agents_md import add_lines, propose_lines
from helmsman.memory.handoff import Handoff, add_handoff, add_section, earlier_handoffs, handoff_of
from helmsman.parsers.alignment_file import is_alignment
from helmsman.parsers.project import find_commands
from helmsman.records.alignment import ALIGNMENT, inside
from helmsman.records.lessons import Guardrail, Lesson
from helmsman.records.state import LoopState
from helmsman.secret_shapes import shapes_in
from tasks.checks.project import read_project
from tasks.loop.alignment_file import align_folder, alignment_path, parse_alignment, read_text, with_stored_handoffs
from tasks.repository.branch_files import NEW_FILE, commit_file, commit_to_branch, decode_text, file_at, proven_tip, tree_with
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
"""Diff options that no setting or attribute of a repository overrides."""

HANDOFF_FILE = "handoff.md"  # in the loop's own folder, whatever happens to the alignment file
SUBJECT = "Add the handoff of loop {}"


def write_handoff(context: LoopContext, state: LoopState) -> None:
    """Write a completed loop's handoff. Idempotent. Raises HelmsmanError where that is impossible."""
    if not state.config.alignment:
        return
    handoff, own_copy = handoff_of(state), context.folder.root / HANDOFF_FILE
    write_atomic(own_copy, f"{handoff.text}\n", mode=FOR_ALL)
    name, repository = inside(state.config.alignment), context.repository
    tip = proven_tip(repository, state)
    present = file_at(repository, tip, name)
    if present is None:
        in_checkout = None if repository.bare else read_text(alignment_path(repository.top, name))
        if in_checkout is not None:
            _store_separately(repository, name, in_checkout, handoff)
        return
    after = _with_handoff(name, decode_text(present.content, name), handoff)
    if after is not None:
        commit_to_branch(repository, state, tip, name, after, SUBJECT.format(state.loop))


def commit_handoff(context: LoopContext, state: LoopState, tip: str) -> str:
    """A commit on top of `tip`, on no branch yet, with the loop's handoff; `tip` where no file can take it."""
    try:
        name = inside(state.config.alignment) if state.config.alignment else ""
        present = file_at(context.repository, tip, name) if name else None
        after = _with_handoff(name, decode_text(present.content, name), handoff_of(state)) if present else None
        return tip if after is None else commit_file(context.repository, state, tip, name, after, SUBJECT.format(state.loop))
    except (HelmsmanError, OSError, ValueError):  # repeated, and reported, once the loop has ended
        return tip


def handoffs_in_checkout(repository: Repository, file: str) -> str:
    """The handoffs of earlier loops in the checkout's alignment file, for a loop that starts. Raises OperatorError."""
    path = alignment_path(repository.top, file) if file else None
    text = read_text(path) if path else None
    if path is None or not text or not is_alignment(text):
        return ""
    return earlier_handoffs(with_stored_handoffs(repository, inside(file), parse_alignment(path, text)).more)


def handoffs_at_commit(repository: Repository, commit: str, file: str) -> str:
    """The handoffs of earlier loops in a commit, for a loop that starts from another loop's unmerged work."""
    if not file:
        return ""
    present = file_at(repository, commit, alignment_path(repository.top, file).relative_to(repository.top.resolve()).as_posix())
    text = decode_text(present.content, file).removeprefix("\ufeff").replace("\r\n", "\n") if present else ""
    return earlier_handoffs(parse_alignment(Path(file), text).more) if is_alignment(text) else ""


def _with_handoff(name: str, text: str, handoff: Handoff) -> bytes | None:
    """The alignment file with the handoff; None where it is another document."""
    return None if _is_another_document(name, text) else add_handoff(text, handoff).encode()


def _store_separately(repository: Repository, name: str, text: str, handoff: Handoff) -> None:
    """Store the handoff next to the checkout's alignment file, in the git folder."""
    if _is_another_document(name, text):
        return
    parse_alignment(repository.top / name, text)
    path = align_folder(repository, name).left
    before = (read_text(path) or "").rstrip()
    after = add_section(before, handoff)
    if after != before:
        write_atomic(path, f"{after}\n", mode=FOR_ALL)


def _is_another_document(name: str, text: str) -> bool:
    """Whether a file of the default name is not an alignment file but another document."""
    return name == ALIGNMENT and not is_alignment(text.removeprefix("\ufeff"))


def write_proposal(
    context: LoopContext, state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]
) -> tuple[str, ...]:
    """Write a patch with a completed loop's new lessons for AGENTS.md, for `git apply` on its head, and return its lines.

    The branch does not change. Raises OperatorError where nothing can be added to the file.
    """
    if state.config.memory.agents_md == "off":
        return ()
    repository, path = context.repository, context.folder.root / PATCH
    path.unlink(missing_ok=True)  # from an earlier attempt
    mode, present = _read_agents_md(repository, state.head)
    project_commands = {candidate.command for candidate in find_commands(read_project(repository)).candidates}
    candidates = propose_lines(state, lessons, guardrails, present, commands=project_commands)
    # lines that only look like a secret are dropped too: nobody misses them
    lines = tuple(line for line in candidates if redact(line) == line and not any(shapes_in(line)))
    if lines:
        tree = tree_with(repository, state.head, AGENTS, add_lines(present, lines).encode(), mode)
        write_atomic(path, git_bytes(repository.common, "diff-tree", *_DIFF, state.head, tree), mode=FOR_ALL)
    return lines


def commit_lines(context: LoopContext, state: LoopState) -> str:
    """Commit the lines that a person approved, as stored in the loop's signed state, to its branch. Idempotent.

    Returns the branch's commit with the lines. Raises OperatorError where nothing can be added to the file.
    """
    tip = proven_tip(context.repository, state)
    _, present = _read_agents_md(context.repository, tip)
    new = [line for line in state.proposed if f"- {line}" not in present.splitlines()]
    if not new:
        return tip
    subject = f"Note in {AGENTS} what loop {state.loop} learnt"
    return commit_to_branch(context.repository, state, tip, AGENTS, add_lines(present, new).encode(), subject)


def _read_agents_md(repository: Repository, commit: str) -> tuple[str, str]:
    """Mode and text of a commit's file. Raises OperatorError where nothing can be added to it."""
    present = file_at(repository, commit, AGENTS)
    return (present.mode, decode_text(present.content, AGENTS)) if present else (NEW_FILE, "")
