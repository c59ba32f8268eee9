"""Concurrent processes that use a store."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fakes.processes import ROOT, eventually

PATIENCE = 100
PRELUDE = """
import sys
from datetime import datetime, timedelta
from pathlib import Path
from tasks.memory import open_store
from tests.integration.memory_stores import DAY, NOW, episode, guardrail, lesson, summary
url, mine = sys.argv[1], sys.argv[2]
"""


def process(code: str, url: str, *arguments: str, user: Sequence[str] = ()) -> subprocess.Popen[str]:
    """A process that runs this code with a store's URL."""
    return subprocess.Popen(
        [*user, sys.executable, "-c", PRELUDE + code, url, *(arguments or ("",))],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def at_once(code: str, url: str, processes: int, folder: Path) -> list[str]:
    """What so many processes print that begin with this code at the same moment."""
    ready = "import time\nPath(mine).touch()\nwhile not Path(sys.argv[3]).exists(): time.sleep(0.001)\n"
    signs, go = [folder / f"ready{number}" for number in range(processes)], folder / "go"
    running = [process("import tasks.memory.sqlite\n" + ready + code, url, str(sign), str(go)) for sign in signs]
    assert eventually(lambda: all(sign.exists() for sign in signs), PATIENCE)
    go.touch()
    return [output_of(one) for one in running]


def output_of(running: subprocess.Popen[str]) -> str:
    """What a process prints until its end, which must be a good one."""
    output, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, errors
    return output.strip()
