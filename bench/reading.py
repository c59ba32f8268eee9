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


def median_ms(read: Callable[[str], object], names: list[str]) -> float:
    """Median over the names, each requested separately."""
    seconds: list[float] = []
    for name in names:
        start = time.perf_counter()
        read(name)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--repo", type=Path, default=ROOT)
    options = parser.parse_args()
    names = git(options.repo, "ls-tree", "-r", "--object-only", "HEAD").split()[: options.objects]
    persistent = median_ms(lambda name: read_objects(options.repo, [name]), names)
    process = median_ms(lambda name: git_bytes(options.repo, "cat-file", "blob", name), names)
    close_readers()
    imports = [float(subprocess.check_output([sys.executable, "-c", IMPORT], cwd="/")) for _ in range(5)]
    print(f"one persistent git      {persistent:7.2f} ms per object, median of {len(names)}")
    print(f"a process per object    {process:7.2f} ms per object, {process / persistent:.0f} times as much")
    print(f"GitPython's import      {statistics.median(imports) * 1000:7.0f} ms of CPU, once per process")


if __name__ == "__main__":
    main()
