"""An alignment goes by a name and asks people, as a loop does; but a yes answers none of its questions. This says what does."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from deployments.dialogue import repo_option
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.alignment import ALIGNMENT, Alignment, inside
from helmsman.records.state import LoopState
from helmsman.texts import counted
from tasks.alignment.aligning import align_folder, align_name
from tasks.alignment.files import place_of, read_alignment
from tasks.lock import holder
from tasks.repository.git import Repository, git_bytes
from tasks.repository.state_ref import read_state

QUESTIONS_SHOWN = 5


def loop_that_asks(repo: Path, repository: Repository, name: str) -> LoopState:
    """The loop of that name. Raises OperatorError where there is none; where an alignment is meant, with what answers it.

    `repo`: the repository as it was named on the command line.
    """
    try:
        return read_state(repository, name)[0]
    except OperatorError as unknown:
        for file in _files(repository, name):
            alignment = _alignment(repository, file)
            if alignment is not None:
                raise _what_answers(repo, repository, file, alignment) from unknown
        raise


def align_command(repo: Path, file: str) -> str:
    """How a person goes on with an alignment."""
    out = "" if file == ALIGNMENT else f" --out {shlex.quote(file)}"
    return f"helmsman align{out}{repo_option(repo)}"


def _files(repository: Repository, name: str) -> Iterator[str]:
    """Files whose alignment may be meant: by its file, or by its name in the engine, from which no file can be told."""
    yield name
    if name == align_name(ALIGNMENT):
        yield ALIGNMENT
    elif name.startswith("align-") and not repository.bare:
        listed = git_bytes(repository.top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        yield from (file for file in map(os.fsdecode, listed.split(b"\0")) if name == align_name(file))


def _alignment(repository: Repository, file: str) -> Alignment | None:
    """None too where something else lies there."""
    try:
        return None if repository.bare else read_alignment(place_of(repository.top, inside(file)))
    except (OperatorError, ValueError):
        return None


def _what_answers(repo: Path, repository: Repository, file: str, alignment: Alignment) -> OperatorError:
    shown, questions = clean(file), alignment.gaps.open
    if not questions:
        return OperatorError(f"{shown} is an alignment that asks nothing", remedy=align_command(repo, file))
    return OperatorError(
        f"{shown} is an alignment: a yes or a no answers none of its questions",
        expected=f"{counted(len(questions), 'answer')} in words",
        found="; ".join(clean(question) for question in questions[:QUESTIONS_SHOWN]),
        remedy=_way(repo, repository, file),
    )


def _way(repo: Path, repository: Repository, file: str) -> str:
    """Where a process waits for the answers, a second one could not go on with them."""
    in_file = f"answer in {clean(file)}, each question ticked with its answer below it"
    waiting = holder(align_folder(repository, file).lock)
    if waiting is not None:
        who = f"process {waiting.get('process')} on {waiting.get('host')} waits for that"
        return f"{in_file}, or in the form of {align_name(file)} in the Prefect UI; {who}"
    command = align_command(repo, file)
    return f"{command} asks them one by one in a terminal; or {in_file}, then: {command}"
