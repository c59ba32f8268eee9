"""What the invariants find in two labelled corpora of small diffs, and what looking costs.

    python bench/invariants.py [--case NAME]

A dishonest diff is found when a finding blocks. An honest diff is a false alarm when a finding blocks; a warning is counted
and told, no more. Printed are precision and recall, both by family and by language, every miss and every false alarm by
name, and milliseconds: for a diff of a corpus, and for a generated one of 5,000 changed lines in 300 files.

The rules were improved on the first corpus, so its rates flatter them, its files `second_*` included, which were held out
until the rules had been measured on them; the held-out corpus of now tells what to expect elsewhere.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.invariants_cases import CORPUS, Case, cases, scene
from bench.invariants_scale import FILES, changed_lines, large_scene
from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.scene import Scene

Find = Callable[[Scene], tuple[Finding, ...]]
HELD_OUT = CORPUS.with_name("invariants_heldout")
CORPORA = {
    "Corpus (the rules were improved on it)": CORPUS,
    "Held-out corpus (no rule was changed because of it)": HELD_OUT,
}
"""Folders by the headings under which they are printed."""
EDITIONS = 3
"""Large diffs that are looked at; the fastest counts, because a shared machine only ever adds."""


@dataclass(frozen=True)
class Outcome:
    """What was found in one case."""

    case: Case
    findings: tuple[Finding, ...]
    milliseconds: float

    @property
    def blocked(self) -> bool:
        return any(finding.weight is Weight.BLOCK for finding in self.findings)

    @property
    def warned(self) -> bool:
        return any(finding.weight is Weight.HINT for finding in self.findings)

    @property
    def named(self) -> bool:
        """Whether what blocks is of a family that was expected."""
        return any(_of(finding, family) for finding in self.findings for family in self.case.families)

    @property
    def rules(self) -> str:
        return ", ".join(sorted({finding.rule for finding in self.findings if finding.weight is Weight.BLOCK}))


def main() -> None:
    """Look at both corpora, or at one case, and print."""
    from helmsman.verify.invariants import findings

    name = _arguments().case
    if name:
        _print_case(name, findings)
        return
    for heading, folder in CORPORA.items():
        print(f"{heading}\n{'=' * len(heading)}\n")
        _print_rates(outcomes(findings, folder))
        print()
    _print_large(findings)


def outcomes(find: Find, folder: Path = CORPUS) -> tuple[Outcome, ...]:
    """Look at every case of a corpus."""
    return tuple(_outcome(case, find) for case in cases(folder))


def precision(found: Iterable[Outcome]) -> float:
    """Give the share of honest work among what passes for it: blocked and dishonest, of all that is blocked."""
    blocked = [outcome for outcome in found if outcome.blocked]
    return _share([not outcome.case.honest for outcome in blocked])


def recall(found: Iterable[Outcome]) -> float:
    """Give the share of dishonest cases that are blocked."""
    return _share([outcome.blocked for outcome in found if not outcome.case.honest])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="", help="name of one case: show its diff and all that is found in it")
    return parser.parse_args()


def _of(finding: Finding, family: str) -> bool:
    return finding.weight is Weight.BLOCK and f"{finding.rule}.".startswith(f"{family}.")


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 1.0


def _outcome(case: Case, find: Find) -> Outcome:
    found, milliseconds = _timed(scene(case), find)
    return Outcome(case, found, milliseconds)


def _timed(what: Scene, find: Find) -> tuple[tuple[Finding, ...], float]:
    """Look once, as at a diff that was never seen before: rules may remember what they have read. Milliseconds."""
    begun = time.perf_counter()
    found = find(what)
    return found, (time.perf_counter() - begun) * 1000


def _print_rates(found: tuple[Outcome, ...]) -> None:
    honest = [outcome for outcome in found if outcome.case.honest]
    dishonest = [outcome for outcome in found if not outcome.case.honest]
    strict = [outcome for outcome in honest if not outcome.case.tolerated_warn]
    print(f"{len(found)} diffs, {len(honest)} honest and {len(dishonest)} dishonest")
    print(f"precision {precision(found):.3f}, recall {recall(found):.3f}")
    print(f"dishonest diffs with the expected rule named: {_share([outcome.named for outcome in dishonest]):.1%}")
    print(f"honest diffs with a warning: {_share([outcome.warned for outcome in honest]):.1%}", end="")
    print(f", where none is in place: {_share([outcome.warned for outcome in strict]):.1%}")
    _print_families(dishonest)
    _print_languages(found)
    _print_names("missed", [f"{outcome.case.name} ({outcome.case.family})" for outcome in dishonest if not outcome.blocked])
    _print_names("false alarms", [f"{outcome.case.name} ({outcome.rules})" for outcome in honest if outcome.blocked])
    _print_names(
        "found under another name", [_misnamed(outcome) for outcome in dishonest if outcome.blocked and not outcome.named]
    )
    _print_names("warned of where none is in place", [_warning(outcome) for outcome in strict if outcome.warned])
    times = [outcome.milliseconds for outcome in found]
    print(f"\nmilliseconds for one diff: median {statistics.median(times):.2f}, largest {max(times):.2f}")


def _misnamed(outcome: Outcome) -> str:
    return f"{outcome.case.name} ({outcome.case.family}, found as {outcome.rules})"


def _warning(outcome: Outcome) -> str:
    rules = {finding.rule for finding in outcome.findings if finding.weight is Weight.HINT}
    return f"{outcome.case.name} ({', '.join(sorted(rules))})"


def _print_families(dishonest: list[Outcome]) -> None:
    print(f"\n{'family':22}{'diffs':>7}{'found':>7}{'named':>7}")
    for family in sorted({outcome.case.family or "" for outcome in dishonest}):
        of = [outcome for outcome in dishonest if outcome.case.family == family]
        print(f"{family:22}{len(of):>7}{sum(o.blocked for o in of):>7}{sum(o.named for o in of):>7}")


def _print_languages(found: tuple[Outcome, ...]) -> None:
    print(f"\n{'language':22}{'diffs':>7}{'precision':>11}{'recall':>11}")
    for language in sorted({outcome.case.language for outcome in found}):
        of = [outcome for outcome in found if outcome.case.language == language]
        rates = [precision(of) if any(o.blocked for o in of) else None, recall(of)]
        print(f"{language:22}{len(of):>7}" + "".join(f"{'-' if rate is None else f'{rate:.3f}':>11}" for rate in rates))


def _print_names(title: str, names: Sequence[str]) -> None:
    print(f"\n{title}: {len(names)}")
    for name in names:
        print(f"  {name}")


def _print_large(find: Find) -> None:
    runs = [_timed(large_scene(edition), find) for edition in range(EDITIONS)]
    found, milliseconds = min(runs, key=lambda run: run[1])
    print(f"milliseconds for {changed_lines(large_scene())} changed lines in {FILES} files: {milliseconds:.0f}", end="")
    print(f", {len(found)} findings")


def _print_case(name: str, find: Find) -> None:
    case = next((case for folder in CORPORA.values() for case in cases(folder) if case.name == name), None)
    if case is None:
        print(f"there is no case {name}")
        return
    print(f"{case.name}: {case.label}, {' or '.join(case.families) or 'nothing'} expected; checks {', '.join(case.commands)}")
    for file in scene(case).diff:
        print(f"\n{file.status} {file.path}" + (f", was {file.old_path}" if file.old_path else ""))
        print("".join(f"-{line.number:>4} {line.text}\n" for line in file.removed), end="")
        print("".join(f"+{line.number:>4} {line.text}\n" for line in file.added), end="")
    for finding in find(scene(case)):
        print(f"\n{finding.weight} {finding.rule} {finding.where}: {finding.message}")
        print(f"  was: {finding.before}\n  is:  {finding.after}\n  honest: {finding.honest}")


if __name__ == "__main__":
    main()
