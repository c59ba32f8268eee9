"""Aligning: an alignment that is being made, asking a model for it, and what it means for the start of a loop."""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.layers import Layer
from helmsman.memory.handoff import joined, spent
from helmsman.naming import loop_id
from helmsman.orient.alignment import goal_text, same_goal
from helmsman.orient.alignment_file import is_alignment
from helmsman.plain import clean
from helmsman.records.alignment import ALIGNMENT, Alignment, Proposal
from helmsman.records.iteration import Question
from helmsman.texts import plural
from tasks.alignment.files import keep_aside, place_of, read_alignment, read_text, understood, write_alignment
from tasks.models.asking import LateAnswer, ask
from tasks.repository.git import Repository
from tasks.system.files import write_atomic
from tasks.system.paths import AlignFolder, helmsman_folder
from tasks.system.process import never

THOUGHT = 3
"""Times prompt.timeout_seconds that one answer may take: it reads and writes more than a focus."""
LONGEST_TIMEOUT = 600
QUESTIONS_SHOWN = 5


# --- one that is being made ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """An alignment, its place and its id."""

    repository: Repository
    config: LoopConfig
    file: str
    uid: str
    asks: bool

    @property
    def goal(self) -> str:
        return self.config.goal

    @property
    def name(self) -> str:
        return align_name(self.file, _linked(self.repository))

    @property
    def path(self) -> Path:
        return place_of(self.repository.top, self.file)

    @property
    def folder(self) -> AlignFolder:
        return align_folder(self.repository, self.file)


def align_name(file: str, checkout: Path | None = None) -> str:
    """How an alignment is called in the engine, where loops have their ids. `checkout`: where it is not the main one."""
    if checkout is None:
        return loop_id(f"align {file}", hashlib.sha256(file.encode()).hexdigest()[:6])
    unique = hashlib.sha256(os.fsencode(checkout / file)).hexdigest()[:12]
    return loop_id(f"align {checkout.name}", unique)


def align_folder(repository: Repository, file: str) -> AlignFolder:
    return AlignFolder(helmsman_folder(repository.common) / "alignments" / align_name(file, _linked(repository)))


def _linked(repository: Repository) -> Path | None:
    """The checkout, where it is not the main one: it has a file of its own, and so an alignment of its own."""
    return None if repository.common.parent == repository.top else repository.top


def attempt_id(folder: AlignFolder, goal: str) -> str:
    """The id under which the last attempt at the same goal was broken off, else a new one, written down before it is used."""
    try:
        known = json.loads(folder.attempt.read_text(encoding="utf-8"))
        if same_goal(known["goal"], goal):
            return str(known["uid"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass
    uid = secrets.token_hex(8)
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.attempt, json.dumps({"uid": uid, "goal": goal}))
    return uid


def with_checkout(repository: Repository) -> Repository:
    if repository.bare:
        raise OperatorError(
            "a bare repository has no place for an alignment file", found=str(repository.top), remedy="use a clone"
        )
    return repository


def present(work: Work) -> Alignment | None:
    """What the file says now; None where there is none. Raises OperatorError for another's file, or one about another goal."""
    found = read_alignment(work.path)
    if found is not None and not same_goal(found.specification.goal, work.goal):
        if spent(with_kept(work.repository, work.file, found)):
            return None
        raise _another_goal(
            work.path, found, f"remove it, or give --out FILE, or align its own goal: helmsman align --out {work.file}"
        )
    return found


def readable(work: Work) -> Alignment | None:
    """The same; None as well while somebody is writing, or has made it unreadable for now."""
    try:
        return present(work)
    except OperatorError:
        return None


def with_left(work: Work, alignment: Alignment) -> Alignment:
    """A new alignment with what loops have left behind the one that it replaces."""
    found = read_alignment(work.path)
    if found is None or alignment.more:
        return alignment
    return alignment.model_copy(update={"more": with_kept(work.repository, work.file, found).more})


def with_kept(repository: Repository, file: str, alignment: Alignment) -> Alignment:
    """The checkout's alignment with what loops left while it was in no commit: that is kept beside it, the file is a person's."""
    kept = read_text(align_folder(repository, file).left)
    return alignment.model_copy(update={"more": joined(alignment.more, kept)}) if kept else alignment


def put(work: Work, alignment: Alignment, over: Alignment | None) -> Path | None:
    """Write the file. Returns where its text is kept if that is neither `over` nor what is written now."""
    text, known = read_text(work.path), False
    with suppress(OperatorError):  # what is no alignment is somebody else's text
        known = text is None or understood(work.path, text) in (over, alignment)
    kept = None if known or text is None else keep_aside(work.folder.root, text)
    write_alignment(work.path, alignment)
    return kept


def propose(
    question: Question, config: LoopConfig, *, credentials: Mapping[str, str], tag: str, stop: Callable[[], bool] = never
) -> Proposal:
    """A model's answer, unread. One that did not come in time is charged as such and not asked for again by itself.

    Raises OperatorError, TransientError where it may be asked again, Cancelled.
    """
    seconds = min(LONGEST_TIMEOUT, THOUGHT * config.prompt.timeout_seconds)
    patient = config.model_copy(update={"prompt": config.prompt.model_copy(update={"timeout_seconds": seconds})})
    try:
        answer = ask(question, config=patient, credentials=credentials, tag=tag, stop=stop)
    except LateAnswer as late:
        return Proposal(text="", stop="late", usage=late.usage)
    return Proposal(text=answer.text, stop=answer.stop, usage=answer.usage)


# --- a loop that starts -------------------------------------------------------------------------------------------


def aligned(repository: Repository, config: LoopConfig, file: str, reached: Iterable[str] = ()) -> LoopConfig:
    """The configuration whose goal holds what was agreed on in this file; unchanged where there is nothing to hold to.

    `reached`: goals that are reached already by the work that the loop begins with.
    Raises OperatorError where the file cannot be read, is about another goal, or still asks something.
    """
    if repository.bare:
        return config
    answered = _answered(repository.top, file)
    return _held_to(repository.top / file, answered and with_kept(repository, file, answered), config, reached)


def aligned_in(top: Path, config: LoopConfig, file: str) -> LoopConfig:
    """The same for a folder that holds what a repository has at its top."""
    return _held_to(top / file, _answered(top, file), config, ())


def aligned_by(text: str, where: Path, config: LoopConfig, reached: Iterable[str] = ()) -> LoopConfig:
    """The same for the text of `config.alignment`, of which `where` says to people where it stands."""
    return _held_to(where, _without_questions(where, _meant(where, text, config.alignment)), config, reached)


def _held_to(path: Path, alignment: Alignment | None, config: LoopConfig, reached: Iterable[str]) -> LoopConfig:
    if alignment is None:
        return config
    goal = alignment.specification.goal
    if not same_goal(goal, config.goal):
        if spent(alignment) or any(same_goal(goal, one) for one in reached):
            return config
        remedy = "align this goal: remove the file, then helmsman align GOAL; or start without it: --set alignment="
        raise _another_goal(path, alignment, remedy)
    return config.model_copy(update={"goal": goal_text(config.goal, alignment)})


def refuse_open_questions(repository: Repository, file: str) -> Alignment | None:
    """What a loop that starts has to hold to; None for nothing. Raises OperatorError while a question is open."""
    return None if repository.bare else _answered(repository.top, file)


def _answered(top: Path, file: str) -> Alignment | None:
    return _without_questions(top / file, _for_a_loop(top, file)) if file else None


def _without_questions(path: Path, alignment: Alignment | None) -> Alignment | None:
    if alignment is not None and alignment.gaps.open:
        raise OperatorError(
            f"{plural(len(alignment.gaps.open), 'question')} in {path} must be answered before a loop starts",
            found="; ".join(clean(question) for question in alignment.gaps.open[:QUESTIONS_SHOWN]),
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
    return [Layer(file, {"goal": alignment.specification.goal})] if alignment else []


def _for_a_loop(top: Path, file: str) -> Alignment | None:
    text = read_text(place_of(top, file))
    if text is not None:
        return _meant(top / file, text, file)
    if file == ALIGNMENT:
        return None
    raise OperatorError(
        "the alignment file is not there", found=str(top / file), remedy="correct `alignment`, or make it: helmsman align"
    )


def _meant(path: Path, text: str, file: str) -> Alignment | None:
    """A file of the usual name that is a document of somebody's own says nothing about loops."""
    return None if file == ALIGNMENT and not is_alignment(text) else understood(path, text)


def _another_goal(path: Path, found: Alignment, remedy: str) -> OperatorError:
    goal = clean(found.specification.goal.partition("\n")[0])[:200]
    return OperatorError(f"{path} is about another goal", found=goal, remedy=remedy)
