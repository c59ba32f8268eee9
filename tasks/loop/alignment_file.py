"""The alignment file: bounded reads, atomic writes that never overwrite a person's text, and its effect on a loop."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.config.layers import Layer
from helmsman.errors import OperatorError
from helmsman.memory.handoff import is_goal_completed, join_handoffs
from helmsman.orient.alignment import goal_text
from helmsman.parsers.alignment_file import is_alignment, is_same_goal, read, render
from helmsman.plain import clean, loop_id
from helmsman.records.alignment import ALIGNMENT, Alignment
from helmsman.texts import plural
from tasks.repository.git import Repository
from tasks.system.files import FOR_ALL, resolve_inside, write_atomic
from tasks.system.files import read_text as read_whole
from tasks.system.paths import AlignFolder, helmsman_folder

QUESTIONS_SHOWN = 5


def alignment_path(top: Path, file: str) -> Path:
    """Path of the alignment file. Raises OperatorError where it leads out of the repository."""
    return resolve_inside(top, file, "the alignment file")


def read_text(path: Path) -> str | None:
    """The file's text; None without such a file. Raises OperatorError where it cannot be read."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # such as a name that is too long
        raise OperatorError(f"{path} cannot be used", found=str(error.strerror), remedy="give another path") from error
    return read_whole(path, "a Markdown file")


def read_alignment(path: Path) -> Alignment | None:
    """Read an alignment; None without a file. Raises OperatorError, with the line, where the file is not an alignment."""
    text = read_text(path)
    return None if text is None else parse_alignment(path, text)


def parse_alignment(path: Path, text: str) -> Alignment:
    """Parse an alignment. Raises OperatorError where the text is none."""
    parsed = read(text)
    if isinstance(parsed, str):
        kind = "cannot be read" if is_alignment(text) else "is no alignment"
        remedy = "fix the file" if is_alignment(text) else "move it elsewhere, or give another path"
        raise OperatorError(f"{path} {kind}", found=parsed, remedy=f"{remedy}; docs/align.md shows its form")
    return parsed


def write_alignment(path: Path, alignment: Alignment) -> None:
    """Write the alignment atomically, replacing the file. Raises OperatorError."""
    try:
        write_atomic(path, render(alignment), mode=FOR_ALL)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be written", found=str(error.strerror), remedy="free disk space, or make the folder writable"
        ) from error


def align_name(file: str, checkout: Path | None = None) -> str:
    """Name of an alignment in the engine, where a loop has its id. `checkout`: a checkout other than the main one."""
    if checkout is None:
        return loop_id(f"align {file}", hashlib.sha256(file.encode()).hexdigest()[:6])
    unique = hashlib.sha256(os.fsencode(checkout / file)).hexdigest()[:12]
    return loop_id(f"align {checkout.name}", unique)


def align_folder(repository: Repository, file: str) -> AlignFolder:
    # a linked worktree has its own file, and so its own alignment
    linked = None if repository.common.parent == repository.top else repository.top
    return AlignFolder(helmsman_folder(repository.common) / "alignments" / align_name(file, linked))


def with_stored_handoffs(repository: Repository, file: str, alignment: Alignment) -> Alignment:
    """The checkout's alignment with handoffs stored next to it while it was in no commit: the file itself is a person's."""
    stored = read_text(align_folder(repository, file).left)
    return alignment.model_copy(update={"more": join_handoffs(alignment.more, stored)}) if stored else alignment


def other_goal_error(path: Path, alignment: Alignment, remedy: str) -> OperatorError:
    goal = clean(alignment.goal.partition("\n")[0])[:200]
    return OperatorError(f"{path} is about another goal", found=goal, remedy=remedy)


def with_alignment(repository: Repository, config: LoopConfig, *, others: bool = False) -> LoopConfig:
    """The configuration with the alignment file's content added to its goal; unchanged without an alignment.

    `others`: ignore an alignment about another goal, as it belongs to another loop.
    Raises OperatorError where the file cannot be read, is about another goal, or still asks something.
    """
    in_file = refuse_open_questions(repository, config.alignment)
    if in_file is None:
        return config
    alignment = with_stored_handoffs(repository, config.alignment, in_file)
    if is_same_goal(alignment.goal, config.goal):
        return config.model_copy(update={"goal": goal_text(config.goal, alignment)})
    if others or is_goal_completed(alignment):
        return config
    remedy = "align this goal: remove the file, then helmsman align GOAL; or start without it: --set alignment="
    raise other_goal_error(repository.top / config.alignment, alignment, remedy)


def refuse_open_questions(repository: Repository, file: str) -> Alignment | None:
    """The alignment that a starting loop has to follow, or None. Raises OperatorError while a question is open."""
    alignment = None if repository.bare or not file else _read_for_loop(repository.top, file)
    if alignment is not None and alignment.open:
        raise OperatorError(
            f"{plural(len(alignment.open), 'question')} in {repository.top / file} must be answered before a loop starts",
            found="; ".join(clean(question) for question in alignment.open[:QUESTIONS_SHOWN]),
            remedy="answer them: helmsman align, or in the file, each ticked with its answer below it; or start without "
            "the file: --set alignment=",
        )
    return alignment


def goal_layer(top: Path, layers: Sequence[Layer]) -> list[Layer]:
    """The goal of the alignment file, for a loop without another goal."""
    if any("goal" in layer.values for layer in layers):
        return []
    file = next((layer.values["alignment"] for layer in layers if "alignment" in layer.values), ALIGNMENT)
    alignment = _read_for_loop(top, file) if isinstance(file, str) and file else None
    return [Layer(file, {"goal": alignment.goal})] if alignment else []


def _read_for_loop(top: Path, file: str) -> Alignment | None:
    """Read the alignment for a loop; None where the default file is another document. Raises OperatorError."""
    text = read_text(alignment_path(top, file))
    if file == ALIGNMENT and not is_alignment(text or ""):
        return None
    if text is None:
        raise OperatorError(
            "the alignment file does not exist",
            found=str(top / file),
            remedy="correct `alignment`, or create the file: helmsman align",
        )
    return parse_alignment(top / file, text)
