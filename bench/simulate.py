"""Measure whether control between iterations helps: modelled agents through the real core, compared with simple rules.

    python bench/simulate.py [--loops 2000] [--seed 1] [--kind NAME]… [--response 0 0.3] [--set ladder.patience=4]…
    python bench/simulate.py --kind NAME --trace SEED

An agent is a seeded generator that works in a small model of a repository. Prefect, git, the CLI and its model are left out;
`helmsman/` is real. Prints by kind of agent: false stops of those that would have finished, alarms and rollbacks of honest ones;
the iteration in which faulty ones were detected, iterations and cost saved compared with `max iterations only`,
`3 without a change` and `3 without another test`; whether the targets are met; and the time of the core for one iteration.
"""

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from typing import Any

from bench.modelled import report, timing
from bench.modelled.comparing import Fared, Task, compare
from bench.modelled.kinds import KINDS, Kind
from bench.modelled.tracing import trace


def main() -> None:
    """Run all loops and print the tables."""
    given = _arguments()
    begun = time.monotonic()
    kinds = [kind for kind in KINDS if not given.kind or any(name in kind.name for name in given.kind)]
    settings = _settings(given.set)
    if given.trace is not None:
        for kind in kinds:
            trace(kind.name, given.trace, settings)
        return
    with ProcessPoolExecutor(given.jobs) as pool:
        honest = _fared(pool, [kind for kind in kinds if kind.healthy], given, 0.0, settings)
        sick = {
            chance: _fared(pool, [kind for kind in kinds if not kind.healthy], given, chance, settings)
            for chance in given.response
        }
    _print(honest, sick)
    loops = list(chain.from_iterable((*honest.values(), *chain.from_iterable(found.values() for found in sick.values()))))
    faults = sorted({fault for fared in loops for fault in fared.faults})
    print(f"\nloops: {len(loops)}, iterations: {sum(fared.iterations for fared in loops)}, parts that broke: {faults or 'none'}")
    timing.report()
    print(f"took {time.monotonic() - begun:.0f} s")


def _print(honest: report.ByKind, sick: Mapping[float, report.ByKind]) -> None:
    if honest:
        report.healthy_report(honest)
    for chance, found in sick.items():
        if found:
            report.sick_report(found, chance)
    if honest and sick:
        report.aims(honest, next(iter(sick.values())))


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


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """Parse `ladder.patience=9` into a tree."""
    found = defaultdict[str, dict[str, Any]](dict)
    for setting in given:
        key, _, value = setting.partition("=")
        section, _, name = key.partition(".")
        found[section][name] = json.loads(value)
    return dict(found)


def _fared(
    pool: ProcessPoolExecutor, kinds: Sequence[Kind], given: argparse.Namespace, response: float, settings: dict[str, Any]
) -> dict[str, list[Fared]]:
    each = max(1, round(given.loops / len(KINDS)))
    tasks = [Task(kind.name, given.seed * 1_000_000 + n, response, settings) for kind in kinds for n in range(each)]
    found = defaultdict[str, list[Fared]](list)
    for fared in pool.map(compare, tasks, chunksize=8):
        found[fared.kind].append(fared)
    return dict(found)


if __name__ == "__main__":
    main()
