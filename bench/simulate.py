"""Measure whether control between iterations helps: simulated agents under the real core, compared with simple rules.

    python bench/simulate.py [--loops 2000] [--seed 1] [--kind NAME]… [--response 0 0.3] [--set ladder.patience=4]…
    python bench/simulate.py --kind NAME --trace SEED

An agent is a seeded generator that works in a small model of a repository. Prefect, git, the CLI and its model are left out;
`helmsman/` is real. Prints by kind of agent: false stops of those that would finish; alarms and rollbacks of healthy ones;
the iteration in which faulty ones are detected, iterations and cost saved compared with `max iterations only`,
`3 without a change` and `3 without another test`; whether the targets are met; and the time of the core for one iteration.
"""

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from bench.simulation import report, timing
from bench.simulation.comparison import Comparison, Task, compare
from bench.simulation.kinds import KINDS, Kind
from bench.simulation.trace import trace


def main() -> None:
    """Run all loops and print the tables."""
    options = _arguments()
    start = time.monotonic()
    kinds = [kind for kind in KINDS if not options.kind or any(name in kind.name for name in options.kind)]
    settings = _settings(options.set)
    if options.trace is not None:
        for kind in kinds:
            trace(kind.name, options.trace, settings)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        healthy = _compare_all(pool, [kind for kind in kinds if kind.healthy], options, 0.0, settings)
        faulty = {
            response: _compare_all(pool, [kind for kind in kinds if not kind.healthy], options, response, settings)
            for response in options.response
        }
    _print(healthy, faulty)
    results = [result for by_kind in (healthy, *faulty.values()) for of_kind in by_kind.values() for result in of_kind]
    faults = sorted({fault for result in results for fault in result.faults})
    print(f"\nloops: {len(results)}, iterations: {sum(result.iterations for result in results)}")
    print(f"parts of the overseer that failed: {faults or 'none'}")
    timing.report()
    print(f"in {time.monotonic() - start:.0f} s")


def _print(healthy: report.ByKind, faulty: Mapping[float, report.ByKind]) -> None:
    if healthy:
        report.print_healthy(healthy)
    for response, by_kind in faulty.items():
        if by_kind:
            report.print_faulty(by_kind, response)
    if healthy and faulty:
        report.print_targets(healthy, next(iter(faulty.values())))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=2000, help="loops in all, spread evenly over the kinds")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same agents")
    parser.add_argument("--kind", action="append", help="only kinds whose name contains this; may be repeated")
    parser.add_argument(
        "--response", type=float, nargs="+", default=[0.0, 0.3], help="probability that a redirection cures the agent"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="a configuration other than the default")
    parser.add_argument("--trace", type=int, metavar="SEED", help="show one loop of each --kind, iteration by iteration")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    return parser.parse_args()


def _settings(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse `ladder.patience=9` into a tree."""
    settings = defaultdict[str, dict[str, Any]](dict)
    for assignment in assignments:
        key, _, value = assignment.partition("=")
        section, _, name = key.partition(".")
        settings[section][name] = json.loads(value)
    return dict(settings)


def _compare_all(
    pool: ProcessPoolExecutor, kinds: Sequence[Kind], options: argparse.Namespace, response: float, settings: dict[str, Any]
) -> dict[str, list[Comparison]]:
    loops_per_kind = max(1, round(options.loops / len(KINDS)))
    tasks = [
        Task(kind.name, options.seed * 1_000_000 + number, response, settings)
        for kind in kinds
        for number in range(loops_per_kind)
    ]
    by_kind = defaultdict[str, list[Comparison]](list)
    for result in pool.map(compare, tasks, chunksize=8):
        by_kind[result.kind].append(result)
    return dict(by_kind)


if __name__ == "__main__":
    main()
