"""Tables of results."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from bench.simulation.comparison import Comparison
from bench.simulation.kinds import CHECK_FORMATS, KINDS, Kind

MAX_ITERATIONS, NO_CHANGE, NO_TEST_CHANGE = "max iterations only", "3 without a change", "3 without another test"
SOON = 3
WIDTH = 21
Column = tuple[str, Callable[[Sequence[Comparison]], str]]
ByKind = Mapping[str, Sequence[Comparison]]


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def percent(part: float, whole: float) -> str:
    return f"{share(part, whole):.1%}" if whole else "-"


def print_table(title: str, columns: Sequence[Column], kinds: Iterable[Kind], by_kind: ByKind) -> None:
    """Print a row for each kind, and one for all below."""
    rows = [(kind.name, by_kind[kind.name]) for kind in kinds if by_kind.get(kind.name)]
    everything = [result for _, results in rows for result in results]
    print(f"\n{title}")
    print("".join((" " * WIDTH, *(f"{name:>13}" for name, _ in columns))))
    for name, results in [*rows, ("all", everything)]:
        print("".join((name.ljust(WIDTH), *(f"{text(results):>13}" for _, text in columns))))


def _mean(values: Iterable[float]) -> str:
    numbers = list(values)
    return f"{statistics.fmean(numbers):.1f}" if numbers else "-"


def _rate(results: Sequence[Comparison], part: str, whole: str) -> str:
    """Sum of one field as a share of the sum of another."""
    return percent(*(sum(getattr(result, field) for result in results) for field in (part, whole)))


def _finishing(results: Sequence[Comparison]) -> list[Comparison]:
    return [result for result in results if result.would_finish]


def false_stops(results: Sequence[Comparison]) -> float:
    """Share of false stops among agents that would have finished."""
    return share(sum(result.is_false_stop for result in results), len(_finishing(results)))


def _stopped_by_baseline(rule: str) -> Callable[[Sequence[Comparison]], str]:
    def column(results: Sequence[Comparison]) -> str:
        finishing = _finishing(results)
        return percent(sum(not result.baselines[rule].completed for result in finishing), len(finishing))

    return column


HEALTHY_COLUMNS: tuple[Column, ...] = (
    ("loops", lambda results: str(len(results))),
    ("would finish", lambda results: str(len(_finishing(results)))),
    ("false stops", lambda results: str(sum(result.is_false_stop for result in results))),
    ("rate", lambda results: f"{false_stops(results):.2%}"),
    ("3 unchanged", _stopped_by_baseline(NO_CHANGE)),
    ("3 same tests", _stopped_by_baseline(NO_TEST_CHANGE)),
    ("only steered", lambda results: str(sum(result.completed and not result.would_finish for result in results))),
    ("alarmed", lambda results: _rate(results, "alarmed_iterations", "healthy_iterations")),
    ("escalated", lambda results: _rate(results, "escalated_iterations", "healthy_iterations")),
    ("rollbacks", lambda results: str(sum(result.rollbacks for result in results))),
    ("iterations", lambda results: _mean(result.iterations for result in _finishing(results))),
    ("max only", lambda results: _mean(result.baselines[MAX_ITERATIONS].iterations for result in _finishing(results))),
    ("hours waited", lambda results: _mean(result.hours_waited for result in results)),
)


def share_detected_soon(results: Sequence[Comparison]) -> float:
    """Share detected within 3 iterations of the onset, of loops that reached it."""
    at_onset = [result for result in results if result.reached_onset]
    return share(
        sum(result.iterations_to_detect is not None and result.iterations_to_detect <= SOON for result in at_onset), len(at_onset)
    )


def relative_cost(results: Sequence[Comparison]) -> float:
    """Cost as a share of that under max iterations only."""
    return share(sum(result.dollars for result in results), sum(result.baselines[MAX_ITERATIONS].dollars for result in results))


def _cost_after_onset(results: Sequence[Comparison]) -> str:
    return percent(
        sum(result.dollars_after_onset for result in results),
        sum(result.baselines[MAX_ITERATIONS].dollars_after_onset for result in results),
    )


def _baseline_cost(rule: str) -> Callable[[Sequence[Comparison]], str]:
    return lambda results: percent(
        sum(result.baselines[rule].dollars for result in results),
        sum(result.baselines[MAX_ITERATIONS].dollars for result in results),
    )


def _quantile(results: Sequence[Comparison], quantile: float) -> str:
    """Quantile of the detection delay of all that reached the onset; never detected ones are last."""
    delays = sorted((result.iterations_to_detect or 999) for result in results if result.reached_onset)
    value = delays[min(len(delays) - 1, int(quantile * len(delays)))] if delays else 999
    return "never" if value == 999 else str(value)


FAULTY_COLUMNS: tuple[Column, ...] = (
    ("loops", lambda results: str(len(results))),
    ("onset seen", lambda results: str(sum(result.reached_onset for result in results))),
    (
        "detected",
        lambda results: percent(
            sum(result.iterations_to_detect is not None for result in results), sum(result.reached_onset for result in results)
        ),
    ),
    ("within 3", lambda results: f"{share_detected_soon(results):.1%}"),
    ("median", lambda results: _quantile(results, 0.5)),
    ("95th", lambda results: _quantile(results, 0.95)),
    ("iterations", lambda results: _mean(result.iterations for result in results)),
    ("saved", lambda results: _mean(result.baselines[MAX_ITERATIONS].iterations - result.iterations for result in results)),
    ("cost of max", lambda results: f"{relative_cost(results):.1%}"),
    ("from onset", _cost_after_onset),
    ("3 unchanged", _baseline_cost(NO_CHANGE)),
    ("3 same tests", _baseline_cost(NO_TEST_CHANGE)),
    ("cured, done", lambda results: percent(sum(result.completed for result in results), len(results))),
    ("rollbacks", lambda results: str(sum(result.rollbacks for result in results))),
)


def print_tally(title: str, kinds: Iterable[Kind], by_kind: ByKind, labels_of: Callable[[Comparison], Iterable[str]]) -> None:
    """Print how many agents of each kind have each label, the most frequent first."""
    print(f"\n{title}")
    for kind in kinds:
        counts = Counter(label for result in by_kind.get(kind.name, ()) for label in dict.fromkeys(labels_of(result)))
        if counts:
            print(kind.name.ljust(WIDTH), ", ".join(f"{label} {count}" for label, count in counts.most_common(6)))


def print_healthy(by_kind: ByKind) -> None:
    kinds = [kind for kind in KINDS if kind.healthy]
    title = "Healthy agents. False stop: it ended without completion, but completes under max iterations only."
    print_table(title, HEALTHY_COLUMNS, kinds, by_kind)
    for check in CHECK_FORMATS[0]:
        results = [result for of_kind in by_kind.values() for result in of_kind if result.check == check]
        print(f"check format {check:<8} {len(_finishing(results)):>5} would finish, {false_stops(results):>7.2%} false stops")
    print_tally("Rules that intervened against healthy agents (loops)", kinds, by_kind, lambda result: result.alarms)
    false_stops_by_kind = {name: [result for result in results if result.is_false_stop] for name, results in by_kind.items()}
    print_tally("What ended false stops (loops)", kinds, false_stops_by_kind, lambda result: (result.ended_by,))
    print("\nSeeds of false stops, for --kind NAME --trace SEED")
    for name, results in false_stops_by_kind.items():
        if results:
            print(name.ljust(WIDTH), *(result.seed for result in results[:6]))


def print_faulty(by_kind: ByKind, response: float) -> None:
    kinds = [kind for kind in KINDS if not kind.healthy]
    title = f"Faulty agents; each redirection cures with probability {response:g} per iteration. Counted from the onset."
    print_table(title, FAULTY_COLUMNS, kinds, by_kind)
    print_tally("Rules that detected them first (loops)", kinds, by_kind, lambda result: result.detected_by)
    print_tally("What ended them (loops)", kinds, by_kind, lambda result: (result.ended_by,))


def print_targets(healthy: ByKind, faulty: ByKind) -> None:
    """Print the targets with the measured values."""
    print("\nTargets")
    for target in ("stuck", "oscillating"):
        results = [result for kind in KINDS if kind.target == target for result in faulty.get(kind.name, ())]
        _print_target(f"{target}: within {SOON} iterations", share_detected_soon(results), at_least=0.99)
    finishing = [result for results in healthy.values() for result in results]
    _print_target("agents that would finish: stopped or ejected", false_stops(finishing), below=0.01)
    visible = [result for result in finishing if result.check != "opaque" and result.kind != "slow, coarse tests"]
    print(f"  without opaque checks and coarse tests{false_stops(visible):>9.2%}")
    _print_target(
        "faulty agents: cost of max iterations only",
        relative_cost([result for results in faulty.values() for result in results]),
        below=0.25,
    )


def _print_target(name: str, value: float, *, at_least: float = 0.0, below: float = 1.0) -> None:
    bound = f">= {at_least:.0%}" if at_least else f"<= {below:.0%}"
    verdict = "met" if at_least <= value <= below else "MISSED"
    print(f"{name:<48}{value:>8.2%}  target {bound:<8}{verdict}")
