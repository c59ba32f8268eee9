"""Measure the cost of computing the variety of a tree.

    python bench/variety.py [--repository DIR] [--history N]

--history measures the last N commits of the first-parent line, and prints each score with the detector's verdict: the honest
history of a project shows how much the score varies.
"""

import argparse
import time
from pathlib import Path

from helmsman.oversee.variety import score, variety_alert
from helmsman.records.control import Variety
from tasks.checks.scan import measure_variety
from tasks.repository.git import git


def print_cost(cwd: Path) -> None:
    start = time.perf_counter()
    variety = measure_variety(cwd, "HEAD")
    print(f"{(time.perf_counter() - start) * 1000:.0f} ms  {variety}")


def print_history(cwd: Path, count: int) -> None:
    commits = git(cwd, "rev-list", "--first-parent", f"--max-count={count}", "HEAD").split()[::-1]
    trend: list[Variety] = []
    for commit in commits:
        trend.append(measure_variety(cwd, commit))
        signal = variety_alert(trend[-10:], green=True)
        fall = score(trend[-5]) - score(trend[-1]) if len(trend) > 4 else 0.0
        message = signal.message if signal else ""
        print(f"{commit[:10]} {trend[-1].lines:7} lines  score {score(trend[-1]):6.3f}  fell {fall:6.3f}  {message}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--history", type=int, default=0)
    options = parser.parse_args()
    print_cost(options.repository)
    print_history(options.repository, options.history)


if __name__ == "__main__":
    main()
