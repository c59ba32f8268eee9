"""Tables of results."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from bench.modelled.comparing import Fared
from bench.modelled.kinds import CHECKS, KINDS, Kind

MAX_ONLY, NO_CHANGE, NO_TEST = "max iterations only", "3 without a change", "3 without another test"
SOON = 3
WIDTH = 21
Column = tuple[str, Callable[[Sequence[Fared]], str]]
ByKind = Mapping[str, Sequence[Fared]]


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def percent(part: float, whole: float) -> str:
    return f"{share(part, whole):.1%}" if whole else "-"


def table(title: str, columns: Sequence[Column], kinds: Iterable[Kind], by_kind: ByKind) -> None:
    """Print a row for each kind, and one for all below."""
    rows = [(kind.name, by_kind[kind.name]) for kind in kinds if by_kind.get(kind.name)]
    everything = [fared for _, found in rows for fared in found]
    print(f"\n{title}")
    print("".join((" " * WIDTH, *(f"{name:>13}" for name, _ in columns))))
    for name, found in [*rows, ("all", everything)]:
        print("".join((name.ljust(WIDTH), *(f"{text(found):>13}" for _, text in columns))))


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.fmean(found):.1f}" if found else "-"


def _finishing(found: Sequence[Fared]) -> list[Fared]:
    return [fared for fared in found if fared.would_finish]


def false_stops(found: Sequence[Fared]) -> float:
    """Share of false stops among agents that would have finished."""
    return share(sum(fared.false_stop for fared in found), len(_finishing(found)))


def _stopped_by(rule: str) -> Callable[[Sequence[Fared]], str]:
    def text(found: Sequence[Fared]) -> str:
        finishing = _finishing(found)
        return percent(sum(not fared.plain[rule].completed for fared in finishing), len(finishing))

    return text


HEALTHY: tuple[Column, ...] = (
    ("loops", lambda found: str(len(found))),
    ("would finish", lambda found: str(len(_finishing(found)))),
    ("false stops", lambda found: str(sum(fared.false_stop for fared in found))),
    ("of these", lambda found: f"{false_stops(found):.2%}"),
    ("3 unchanged", _stopped_by(NO_CHANGE)),
    ("3 same tests", _stopped_by(NO_TEST)),
    ("only so done", lambda found: str(sum(fared.completed and not fared.would_finish for fared in found))),
    ("alarmed", lambda found: percent(sum(fared.alarmed for fared in found), sum(fared.healthy for fared in found))),
    ("on a rung", lambda found: percent(sum(fared.climbed for fared in found), sum(fared.healthy for fared in found))),
    ("rollbacks", lambda found: str(sum(fared.rollbacks for fared in found))),
    ("iterations", lambda found: _mean(fared.iterations for fared in _finishing(found))),
    ("max only", lambda found: _mean(fared.plain[MAX_ONLY].iterations for fared in _finishing(found))),
    ("hours waited", lambda found: _mean(fared.hours_waited for fared in found)),
)


def soon(found: Sequence[Fared]) -> float:
    """Share detected within 3 iterations of the onset, of loops that reached it."""
    reached = [fared for fared in found if fared.reached]
    return share(sum(fared.detected is not None and fared.detected <= SOON for fared in reached), len(reached))


def cost(found: Sequence[Fared]) -> float:
    """Cost as a share of that under max iterations only."""
    return share(sum(fared.dollars for fared in found), sum(fared.plain[MAX_ONLY].dollars for fared in found))


def _sick_cost(found: Sequence[Fared]) -> str:
    return percent(sum(fared.sick_dollars for fared in found), sum(fared.plain[MAX_ONLY].sick_dollars for fared in found))


def _plain_cost(rule: str) -> Callable[[Sequence[Fared]], str]:
    return lambda found: percent(
        sum(fared.plain[rule].dollars for fared in found), sum(fared.plain[MAX_ONLY].dollars for fared in found)
    )


def _quantile(found: Sequence[Fared], part: float) -> str:
    """Quantile of the detection delay of all that reached the onset; never detected ones are last."""
    at = sorted((fared.detected or 999) for fared in found if fared.reached)
    value = at[min(len(at) - 1, int(part * len(at)))] if at else 999
    return "never" if value == 999 else str(value)


SICK: tuple[Column, ...] = (
    ("loops", lambda found: str(len(found))),
    ("onset seen", lambda found: str(sum(fared.reached for fared in found))),
    (
        "detected",
        lambda found: percent(sum(fared.detected is not None for fared in found), sum(fared.reached for fared in found)),
    ),
    ("within 3", lambda found: f"{soon(found):.1%}"),
    ("median", lambda found: _quantile(found, 0.5)),
    ("95th", lambda found: _quantile(found, 0.95)),
    ("iterations", lambda found: _mean(fared.iterations for fared in found)),
    ("saved", lambda found: _mean(fared.plain[MAX_ONLY].iterations - fared.iterations for fared in found)),
    ("cost of max", lambda found: f"{cost(found):.1%}"),
    ("from onset", _sick_cost),
    ("3 unchanged", _plain_cost(NO_CHANGE)),
    ("3 same tests", _plain_cost(NO_TEST)),
    ("cured, done", lambda found: percent(sum(fared.completed for fared in found), len(found))),
    ("rollbacks", lambda found: str(sum(fared.rollbacks for fared in found))),
)


def tally(title: str, kinds: Iterable[Kind], by_kind: ByKind, words: Callable[[Fared], Iterable[str]]) -> None:
    """Print how often each word applies to an agent, by kind, the most frequent first."""
    print(f"\n{title}")
    for kind in kinds:
        counts = Counter(word for fared in by_kind.get(kind.name, ()) for word in dict.fromkeys(words(fared)))
        if counts:
            print(kind.name.ljust(WIDTH), ", ".join(f"{word} {count}" for word, count in counts.most_common(6)))


def healthy_report(by_kind: ByKind) -> None:
    kinds = [kind for kind in KINDS if kind.healthy]
    title = (
        "Honest agents. False stop: it ended without completion, and completes under max iterations only. Alarms by iteration."
    )
    table(title, HEALTHY, kinds, by_kind)
    checks = {check: [fared for found in by_kind.values() for fared in found if fared.check == check] for check in CHECKS[0]}
    for check, found in checks.items():
        print(f"checks of the sort {check:<8} {len(_finishing(found)):>5} would finish, {false_stops(found):>7.2%} false stops")
    tally("Rules that intervened against honest agents (loops)", kinds, by_kind, lambda fared: fared.alarms)
    false = {name: [fared for fared in found if fared.false_stop] for name, found in by_kind.items()}
    tally("What ended false stops (loops)", kinds, false, lambda fared: (fared.ended_by,))
    print("\nSeeds of false stops, for --kind NAME --trace SEED")
    for name, found in false.items():
        if found:
            print(name.ljust(WIDTH), *(fared.seed for fared in found[:6]))


def sick_report(by_kind: ByKind, response: float) -> None:
    kinds = [kind for kind in KINDS if not kind.healthy]
    title = f"Agents at fault, cured by being redirected with probability {response:g} an iteration. Counted from the onset."
    table(title, SICK, kinds, by_kind)
    tally("Rules that detected them first (loops)", kinds, by_kind, lambda fared: fared.detected_by)
    tally("What ended them (loops)", kinds, by_kind, lambda fared: (fared.ended_by,))


def aims(honest: ByKind, sick: ByKind) -> None:
    """Print the targets with the measured values."""
    print("\nAims")
    for aim in ("stuck", "oscillating"):
        found = [fared for kind in KINDS if kind.aim == aim for fared in sick.get(kind.name, ())]
        _aim(f"{aim}: within {SOON} iterations", soon(found), at_least=0.99)
    finishing = [fared for found in honest.values() for fared in found]
    _aim("agents that would finish: stopped or ejected", false_stops(finishing), below=0.01)
    seen = [fared for fared in finishing if fared.check != "opaque" and fared.kind != "slow, coarse tests"]
    print(f"  of those whose evidence shows their work (no opaque check, no coarse tests){false_stops(seen):>9.2%}")
    _aim("agents at fault: cost of max iterations only", cost([fared for found in sick.values() for fared in found]), below=0.25)


def _aim(name: str, value: float, *, at_least: float = 0.0, below: float = 1.0) -> None:
    wanted = f">= {at_least:.0%}" if at_least else f"<= {below:.0%}"
    verdict = "met" if at_least <= value <= below else "MISSED"
    print(f"{name:<48}{value:>8.2%}  wanted {wanted:<8}{verdict}")
