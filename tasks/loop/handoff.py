"""Handing over: what a completed loop leaves to know goes into the alignment file, for the next loop.

Where the loop's branch has that file, it is a commit of ours on the branch, which is what a person merges. Where it lies in the
checkout and is in no commit, the handoff is kept in the git folder: the checkout is a person's, and a branch with that file could
not be merged over it.
"""

from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.memory.handoff import Handoff, handed_down, handoff_of, with_handoff, with_section
from helmsman.orient.alignment import own_goal
from helmsman.orient.alignment_file import is_alignment, render
from helmsman.plain import clean
from helmsman.records.alignment import ALIGNMENT, Alignment, Specification, inside
from helmsman.records.lessons import Summary
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from tasks.alignment.aligning import align_folder, named, with_kept
from tasks.alignment.files import place_of, read_text, understood
from tasks.repository.branch_files import LARGEST, held_in, put_on_branch, tree_with, work_of
from tasks.repository.git import Repository, git, succeeds
from tasks.system.files import FOR_ALL, read_plain, write_atomic
from tasks.worktrees.workplace import Workplace

NAME = "handoff.md"
"""In the loop's own folder: there it is whatever becomes of the file."""


@dataclass(frozen=True)
class HandedOver:
    """What became of a handoff."""

    commit: str = ""
    """The branch's commit that holds it; empty where none does."""
    file: Path | None = None
    """Where it is kept for the checkout's alignment file, which is in no commit."""
    problem: str = ""
    """Why it was not handed over, for a person."""


def hand_over(place: Workplace, state: LoopState, summary: Summary | None = None) -> HandedOver:
    """Write down what a completed loop leaves. Done already: nothing happens. Never raises: the loop's work is done."""
    config = state.config
    if state.outcome is not Outcome.COMPLETED or not config.memory.handoff or not config.alignment:
        return HandedOver()
    try:
        handoff = handoff_of(state, summary)
        _keep(place, handoff)
        return _handed_over(place, state, handoff)
    except (HelmsmanError, OSError, ValueError) as error:
        return HandedOver(problem=f"{clean(' '.join(str(error).split()))[:500]}; it is kept in {place.folder.root / NAME}")


def handed_on(place: Workplace, state: LoopState, tip: str) -> str:
    """A commit on top of `tip`, on no branch yet, that hands over what the loop leaves; `tip` where no file of it takes that."""
    config = state.config
    if not config.memory.handoff or not config.alignment:
        return tip
    try:
        return _handed_on(place, state, tip, inside(config.alignment))
    except (HelmsmanError, OSError, ValueError):  # it is tried again, and told, once the loop is done
        return tip


def _handed_on(place: Workplace, state: LoopState, tip: str, name: str) -> str:
    held = held_in(place.repository, tip, name)
    text = _decoded(name, held.content) if held else ""
    if held is None or _is_another_document(name, text):
        return tip
    after = with_handoff(text, handoff_of(state))
    if after == text:
        return tip
    tree = tree_with(place.repository, tip, name, after.encode(), held.mode)
    said = "-m", f"Hand over what loop {state.loop} leaves to know", "-m", f"Helmsman-Loop: {state.loop}"
    return git(place.repository.common, "commit-tree", tree, "-p", tip, *said).strip()


def left_in(repository: Repository, file: str) -> str:
    """What a loop that starts is told of those before it, by the checkout's alignment file. Raises OperatorError."""
    path = place_of(repository.top, inside(file)) if file else None
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
    held = held_in(repository, commit, named(file)) if file else None
    return _decoded(file, held.content).removeprefix("\ufeff").replace("\r\n", "\n") if held else None


def _keep(place: Workplace, handoff: Handoff) -> None:
    place.folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(place.folder.root / NAME, f"{handoff.text}\n".encode(), mode=FOR_ALL)


def _handed_over(place: Workplace, state: LoopState, handoff: Handoff) -> HandedOver:
    name = inside(state.config.alignment)
    tip = work_of(place.repository, state)
    held = held_in(place.repository, tip, name)
    if held is not None:
        return _on_branch(place, state, tip, _decoded(name, held.content), handoff)
    found = None if place.repository.bare else _in_checkout(place.repository, name)
    if found is not None:
        return _beside(place.repository, name, found, handoff)
    if name == ALIGNMENT:
        return HandedOver()
    begun = Alignment(specification=Specification(goal=own_goal(state.config.goal)))
    return _on_branch(place, state, tip, render(begun), handoff)


def _on_branch(place: Workplace, state: LoopState, tip: str, text: str, handoff: Handoff) -> HandedOver:
    name = inside(state.config.alignment)
    if _is_another_document(name, text):
        return HandedOver()
    after = with_handoff(text, handoff)
    if after == text:
        return HandedOver(commit=tip)
    subject = f"Hand over what loop {state.loop} leaves to know"
    return HandedOver(commit=put_on_branch(place.repository, state, tip, name, after.encode(), subject))


def _in_checkout(repository: Repository, name: str) -> str | None:
    """The text of a file that the loop's branch does not have; None where there is none."""
    path = place_of(repository.top, name)
    if not path.exists():
        return None
    try:
        return _decoded(name, read_plain(path, LARGEST + 1))
    except OSError as error:
        found = f"{clean(str(path))}: {error.strerror}"
        raise OperatorError("the alignment file is none", expected="a file", found=found) from error


def _beside(repository: Repository, name: str, text: str, handoff: Handoff) -> HandedOver:
    """Beside the checkout's file, unless it has been committed since the loop began: then it belongs to a commit."""
    if _is_another_document(name, text):
        return HandedOver()
    if succeeds(repository.top, "ls-files", "--error-unmatch", "--", f":(top,literal){name}"):
        raise OperatorError(f"{clean(name)} was added to the repository after the loop began, so its branch does not have it")
    understood(repository.top / name, text.removeprefix("\ufeff"))
    kept = align_folder(repository, name).left
    before = read_text(kept) or ""
    after = with_section(before.rstrip(), handoff)
    if after != before.rstrip():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, f"{after}\n", mode=FOR_ALL)
    return HandedOver(file=kept)


def _is_another_document(name: str, text: str) -> bool:
    """A file of the usual name may be somebody's own."""
    return name == ALIGNMENT and not is_alignment(text.removeprefix("\ufeff"))


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"{clean(name)} cannot be read", expected="UTF-8", found=str(error.reason)) from error
