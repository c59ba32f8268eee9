"""Measure the cost of reading an object of a repository: with one persistent git process, and with a process for each.

    python bench/reading.py [--objects 300] [--repo .]

Prints medians in milliseconds, and the CPU time of importing GitPython once.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tasks.repository.git import git, git_bytes
from tasks.repository.objects import close_readers, read_objects

ROOT = Path(__file__).parents[1]
IMPORT = "import time, pydantic; a = time.process_time(); import git; print(time.process_time() - a)"


def milliseconds(read: Callable[[str], object], names: list[str]) -> float:
    """Median over the names, each requested separately."""
    taken: list[float] = []
    for name in names:
        start = time.perf_counter()
        read(name)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--repo", type=Path, default=ROOT)
    given = parser.parse_args()
    names = git(given.repo, "ls-tree", "-r", "--object-only", "HEAD").split()[: given.objects]
    stays = milliseconds(lambda name: read_objects(given.repo, [name]), names)
    process = milliseconds(lambda name: git_bytes(given.repo, "cat-file", "blob", name), names)
    close_readers()
    imported = [float(subprocess.check_output([sys.executable, "-c", IMPORT], cwd="/")) for _ in range(5)]
    print(f"one git that stays      {stays:7.2f} ms an object, median of {len(names)}")
    print(f"a process for each      {process:7.2f} ms an object, {process / stays:.0f} times as much")
    print(f"GitPython's import      {statistics.median(imported) * 1000:7.0f} ms of CPU, once in a process that reads")


if __name__ == "__main__":
    main()
