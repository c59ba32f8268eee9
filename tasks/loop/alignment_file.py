"""The alignment file: read with bounds, written in one step and never over what somebody wrote; what it means to a loop."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.config.layers import Layer
from helmsman.errors import OperatorError
from helmsman.memory.handoff import joined, spent
from helmsman.naming import loop_id
from helmsman.orient.alignment import goal_text
from helmsman.parsers.alignment_file import is_alignment, read, render, same_goal
from helmsman.plain import clean
from helmsman.records.alignment import ALIGNMENT, Alignment
from helmsman.texts import plural
from tasks.repository.git import Repository
from tasks.system.files import FOR_ALL, resolve_inside, write_atomic
from tasks.system.files import read_text as read_whole
from tasks.system.paths import AlignFolder, helmsman_folder

QUESTIONS_SHOWN = 5


def place_of(top: Path, file: str) -> Path:
    """Where the file lies. Raises OperatorError where that leads out of the repository."""
    return resolve_inside(top, file, "the alignment file")


def read_text(path: Path) -> str | None:
    """The file's text; None where there is no such file. Raises OperatorError where it cannot be read."""
    return read_whole(path, "a Markdown file") if os.path.lexists(path) else None


def read_alignment(path: Path) -> Alignment | None:
    """What the file says; None where there is none. Raises OperatorError where it is no alignment, with the line."""
    text = read_text(path)
    return None if text is None else understood(path, text)


def understood(path: Path, text: str) -> Alignment:
    found = read(text)
    if isinstance(found, str):
        kind = "cannot be read" if is_alignment(text) else "is no alignment"
        remedy = "fix the file" if is_alignment(text) else "move it away, or give another path"
        raise OperatorError(f"{path} {kind}", found=found, remedy=f"{remedy}; docs/align.md shows its form")
    return found


def write_alignment(path: Path, alignment: Alignment) -> None:
    """Put it in the place of whatever is there, in one step."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, render(alignment), mode=FOR_ALL)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be written", found=str(error.strerror), remedy="make room for it, or make the folder writable"
        ) from error


def align_name(file: str, checkout: Path | None = None) -> str:
    """How an alignment is called in the engine, where loops have their ids. `checkout`: where it is not the main one."""
    if checkout is None:
        return loop_id(f"align {file}", hashlib.sha256(file.encode()).hexdigest()[:6])
    unique = hashlib.sha256(os.fsencode(checkout / file)).hexdigest()[:12]
    return loop_id(f"align {checkout.name}", unique)


def align_folder(repository: Repository, file: str) -> AlignFolder:
    # a checkout that is not the main one has a file of its own, and so an alignment of its own
    linked = None if repository.common.parent == repository.top else repository.top
    return AlignFolder(helmsman_folder(repository.common) / "alignments" / align_name(file, linked))


def with_kept(repository: Repository, file: str, alignment: Alignment) -> Alignment:
    """The checkout's alignment with what loops left while it was in no commit: that is kept beside it, the file is a person's."""
    kept = read_text(align_folder(repository, file).left)
    return alignment.model_copy(update={"more": joined(alignment.more, kept)}) if kept else alignment


def another_goal(path: Path, found: Alignment, remedy: str) -> OperatorError:
    goal = clean(found.goal.partition("\n")[0])[:200]
    return OperatorError(f"{path} is about another goal", found=goal, remedy=remedy)


def aligned(repository: Repository, config: LoopConfig, *, others: bool = False) -> LoopConfig:
    """The configuration whose goal holds what was agreed on in its file; unchanged where there is nothing to hold to.

    `others`: an alignment about another goal is another loop's, and says nothing of this one.
    Raises OperatorError where the file cannot be read, is about another goal, or still asks something.
    """
    found = refuse_open_questions(repository, config.alignment)
    if found is None:
        return config
    alignment = with_kept(repository, config.alignment, found)
    if same_goal(alignment.goal, config.goal):
        return config.model_copy(update={"goal": goal_text(config.goal, alignment)})
    if others or spent(alignment):
        return config
    remedy = "align this goal: remove the file, then helmsman align GOAL; or start without it: --set alignment="
    raise another_goal(repository.top / config.alignment, alignment, remedy)


def refuse_open_questions(repository: Repository, file: str) -> Alignment | None:
    """What a loop that starts has to hold to; None for nothing. Raises OperatorError while a question is open."""
    alignment = None if repository.bare or not file else _for_a_loop(repository.top, file)
    if alignment is not None and alignment.open:
        raise OperatorError(
            f"{plural(len(alignment.open), 'question')} in {repository.top / file} must be answered before a loop starts",
            found="; ".join(clean(question) for question in alignment.open[:QUESTIONS_SHOWN]),
            remedy="answer them: helmsman align, or in the file, each ticked with its answer below it; or start without "
            "the file: --set alignment=",
        )
    return alignment


def goal_layer(top: Path, layers: Sequence[Layer]) -> list[Layer]:
    """The goal of the alignment file, for a loop to which nobody else gives one."""
    if any("goal" in layer.values for layer in layers):
        return []
    file = next((layer.values["alignment"] for layer in layers if "alignment" in layer.values), ALIGNMENT)
    alignment = _for_a_loop(top, file) if isinstance(file, str) and file else None
    return [Layer(file, {"goal": alignment.goal})] if alignment else []


def _for_a_loop(top: Path, file: str) -> Alignment | None:
    """A file of the usual name that is a document of somebody's own says nothing about loops."""
    text = read_text(place_of(top, file))
    if file == ALIGNMENT and not is_alignment(text or ""):
        return None
    if text is None:
        raise OperatorError(
            "the alignment file is not there", found=str(top / file), remedy="correct `alignment`, or make it: helmsman align"
        )
    return understood(top / file, text)
