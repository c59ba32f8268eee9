"""What reading an object of a repository costs: by the git that stays, and by a process for each.

    python bench/reading.py [--objects 300] [--repo .]

Printed are medians in milliseconds.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from tasks.repository.git import git, git_bytes
from tasks.repository.objects import close_readers, read_objects

ROOT = Path(__file__).parents[1]


def milliseconds(read: Callable[[str], object], names: list[str]) -> float:
    """Median over the names, each asked for by itself."""
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
    print(f"one git that stays      {stays:7.2f} ms an object, median of {len(names)}")
    print(f"a process for each      {process:7.2f} ms an object, {process / stays:.0f} times as much")


if __name__ == "__main__":
    main()
