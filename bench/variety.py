"""What counting the variety of a tree costs, cold and warm.

    python bench/variety.py [--repository DIR] [--history N]

Cold reads every source of HEAD, warm reads none, and in between the parent commit is measured with the cache of HEAD, so that
what an iteration changed is all that is read. With --history the last N commits on the first-parent line are measured, and
the score is printed for each, with what the detector says of it; a project's honest history says how much it swings.
"""

import argparse
import tempfile
import time
from pathlib import Path

from helmsman.oversee.variety import score, variety_signal
from helmsman.records.control import Variety
from tasks.checks.scan import Measured, measured
from tasks.repository.git import git


def timed(cwd: Path, commit: str, cache: Path) -> tuple[Measured, float]:
    start = time.perf_counter()
    found = measured(cwd, commit, cache)
    return found, time.perf_counter() - start


def costs(cwd: Path, cache: Path) -> None:
    for name, commit in (("cold", "HEAD"), ("warm", "HEAD"), ("parent", "HEAD~1"), ("back", "HEAD")):
        found, seconds = timed(cwd, commit, cache)
        print(f"{name:<7} {seconds * 1000:7.0f} ms  {found.read:5} files read, {found.left_out} left out")
    print(f"cache   {cache.stat().st_size / 1024:7.0f} KB")
    print(found.variety)


def history(cwd: Path, cache: Path, number: int) -> None:
    commits = git(cwd, "rev-list", "--first-parent", f"--max-count={number}", "HEAD").split()[::-1]
    trend: list[Variety] = []
    for commit in commits:
        trend.append(measured(cwd, commit, cache).variety)
        signal = variety_signal(trend[-10:], green=True)
        fall = score(trend[-5]) - score(trend[-1]) if len(trend) > 4 else 0.0
        told = signal.message if signal else ""
        print(f"{commit[:10]} {trend[-1].lines:7} lines  score {score(trend[-1]):6.3f}  fell {fall:6.3f}  {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--history", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "variety.json"
        costs(given.repository, cache)
        history(given.repository, cache, given.history)


if __name__ == "__main__":
    main()
