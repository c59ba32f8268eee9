"""One loop of a group, driven by a process of its own: what it comes to, be it that the process dies, stops no other loop."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from helmsman.plain import clean_lines
from helmsman.records.request import LoopRequest
from tasks.engine.embedded import FOREVER, is_embedded
from tasks.places import LoopFolder
from tasks.processes.environment import OF_A_SESSION, OF_PYTHON, other_environment, ours
from tasks.processes.process import TAG, run
from tasks.system.environment import neutral_directory

MODULE = "deployments.driver"
"""What the process runs. By name: what starts flows stands above us."""
PATIENCE_SECONDS = 20.0
"""Between asking a driver to stop and ending it: it ends its agent, and writes down how the loop stands."""
GRACE_SECONDS = 10.0
WORDS_KEPT = 2_000
OF_THE_ENGINE = "PREFECT__"
"""How variables begin by which a worker tells a process which run it is. This one is none of the worker's."""


@dataclass(frozen=True)
class Departed:
    """How the process of a loop ended. What the loop came to is in its state."""

    loop: str
    exit_code: int | None
    words: str
    """The end of what it complained of."""


def drive_member(due: LoopRequest, folder: LoopFolder, cancelled: Callable[[], bool]) -> Departed:
    """Drive a loop until its process ends. Once `cancelled` says so it is asked to stop, and ended where it does not."""
    ended = run(
        [sys.executable, "-P", "-m", MODULE, "member", *(["--embedded"] if is_embedded() else [])],
        cwd=neutral_directory(),
        env=other_environment(ours(), OF_PYTHON, ()),
        tag=f"member-{uuid4().hex}",
        deadline=FOREVER,
        grace=GRACE_SECONDS,
        stdin=_said(due),
        stop=_stopping(folder.cancel, cancelled),
    )
    words = clean_lines(ended.stderr or ended.tail or ended.head).strip()
    return Departed(due.loop, ended.exit_code, words[-WORDS_KEPT:])


def _said(due: LoopRequest) -> bytes:
    """Two lines of JSON: our environment, and the request. By a pipe: what a program is started with an agent could read."""
    environment = {
        name: value for name, value in ours().items() if name not in (*OF_A_SESSION, TAG) and not name.startswith(OF_THE_ENGINE)
    }
    return f"{json.dumps(environment)}\n{due.model_dump_json()}".encode()


def _stopping(flag: Path, cancelled: Callable[[], bool]) -> Callable[[], bool]:
    """The flag is set again and again: a driver that is only starting takes an old one away."""
    since: list[float] = []

    def stop() -> bool:
        if not cancelled():
            return False
        since.append(time.monotonic())
        del since[1:]
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()
        return time.monotonic() - since[0] > PATIENCE_SECONDS

    return stop
