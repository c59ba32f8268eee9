"""`--detach`: a loop is driven by a process of its own, which goes on whatever becomes of the one that started it.

It is no child of ours and has a session of its own: what ends a terminal, an editor or the tree of processes below it does not
reach it.
"""

import json
import os
import select
import subprocess
import sys
from io import FileIO
from pathlib import Path

from deployments.choosing import driver_of
from helmsman.errors import WorldError
from helmsman.plain import clean, clean_lines
from helmsman.records.request import LoopRequest
from helmsman.records.result import LoopResult, result_of
from helmsman.texts import SIGNS
from tasks.places import loop_folder
from tasks.processes.environment import OF_A_SESSION, ours
from tasks.repository.git import Repository
from tasks.repository.state_ref import read_state, state_ref
from tasks.system.environment import neutral_directory

OUTPUT = "output.log"
"""What its drivers print, beside the loop's journal."""
UNDER_WAY = "+"
"""The driver's word for it. Any other is the exit status that it ended with before."""
GONE, SILENT = "", "…"
"""What is heard of a driver that has gone without a word, and of one that has not spoken yet."""
LONGEST_WORD = 16
PATIENCE_SECONDS = 100
"""An embedded engine on an empty database was seen to need a minute. Editors give a command two."""
OUTPUT_SHOWN = 4000
"""Bytes."""


def drive_apart(repository: Repository, request: LoopRequest, *, as_json: bool) -> int:
    """Start a driver and wait until the loop is under way. Returns 0, or the exit status of a driver that ended before."""
    folder = loop_folder(repository, request.loop).root
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / OUTPUT
    with path.open("ab", buffering=0) as output:
        before = output.tell()
        word = _waited_for(request, output)
    if word == GONE:
        raise WorldError(
            f"the process that was to drive loop {request.loop} has gone",
            found=_printed(path, before) or "no word of it",
            remedy=f"helmsman resume {request.loop}",
        )
    status = None if word in {UNDER_WAY, SILENT} else int(word)
    if status is not None:
        (sys.stderr if status or as_json else sys.stdout).write(f"{_printed(path, before)}\n")
    if status is None or as_json:
        _show(repository, request.loop, path, as_json=as_json)
    return status or 0


def _waited_for(request: LoopRequest, output: FileIO) -> str:
    try:
        return first_word(_start(request, output), PATIENCE_SECONDS)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nloop {request.loop} goes on without this command; end it with: helmsman cancel {request.loop}\n")
        raise


def first_word(pipe: int, patience: float) -> str:
    """What the driver says first, within seconds."""
    try:
        heard, _, _ = select.select([pipe], [], [], patience)
        return os.read(pipe, LONGEST_WORD).decode().strip() if heard else SILENT
    finally:
        os.close(pipe)


def _start(request: LoopRequest, output: FileIO) -> int:
    """The end of a pipe on which the driver speaks. What we started has ended: the driver is whom it has left behind."""
    ours_, theirs = os.pipe()
    try:
        starting = subprocess.Popen(
            [sys.executable, "-P", "-m", "deployments.detached", str(theirs), request.model_dump_json()],
            cwd=neutral_directory(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={name: value for name, value in ours().items() if name not in OF_A_SESSION},
            pass_fds=[theirs],
            start_new_session=True,
        )
        try:
            starting.wait()
        except KeyboardInterrupt:  # no Ctrl-C reaches it in its own session: it goes on, and whoever is left behind is told so
            starting.wait()
            raise
    finally:
        os.close(theirs)
    return ours_


def _printed(path: Path, before: int) -> str:
    """The end of what this driver has printed so far."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(before if before <= size else 0, size - OUTPUT_SHOWN))  # shorter by now: it has been turned over
        return clean_lines(file.read().decode(errors="replace")).strip()


def _show(repository: Repository, loop: str, output: Path, *, as_json: bool) -> None:
    driver, result = driver_of(repository, loop), result_of(read_state(repository, loop)[0], state_ref(loop))
    if as_json:
        told = {**result.model_dump(mode="json"), "driver": driver.name if driver else None, "output": str(output)}
        print(json.dumps(told))
        return
    print("\n".join(_lines(result, driver.name if driver else "", output)))


def _lines(result: LoopResult, driver: str, output: Path) -> list[str]:
    stands = f"▶ under way – driven by {driver}" if driver else "… its engine is still starting"
    return [
        f"loop       {result.loop}",
        f"outcome    {SIGNS[result.outcome] if result.outcome else stands}",
        f"branch     {clean(result.branch)}",
        f"output     {clean(str(output))}",
        f"next       helmsman status {result.loop}; helmsman watch {result.loop}; helmsman cancel {result.loop}",
    ]
