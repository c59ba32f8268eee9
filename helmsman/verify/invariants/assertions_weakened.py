"""A test that stayed says less than it said."""

from collections.abc import Iterable, Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.cases.comparison import Comparison, compared
from helmsman.verify.cases.model import Kind
from helmsman.verify.cases.reshaped import is_reshaped
from helmsman.verify.cases.sides import Pair, source_changed
from helmsman.verify.cases.weaker import Loss, Weakening, weakenings
from helmsman.verify.diff import shown
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_KEEP = "Keep the assertion as it was and make the code pass it."
_REPORTER = Reporter("assertions.weakened", _KEEP)
_TELLING = {
    Loss.GONE: ("{} lost an assertion with nothing in its place", _KEEP),
    Loss.REPLACED: ("{} asserts something else instead", _KEEP),
    Loss.TRIVIAL: ("{} asserts something that always holds", _KEEP),
    Loss.WEAKER: ("{} compares less strictly", _KEEP),
    Loss.LOOSER: ("{} tolerates a larger difference", "Keep the tolerance and make the code precise enough."),
    Loss.GUARDED: ("{} asserts in a branch that may not run", "Assert on every way through the test."),
    Loss.SWALLOWED: ("{} catches the failure of its own assertion", "Let the failed assertion end the test."),
    Loss.UNREACHABLE: ("{} never reaches an assertion", "Let the test run to its assertion."),
    Loss.CHANGED: (
        "{} expects something else",
        "Change what is expected only where the goal asks for it, otherwise change the code.",
    ),
    Loss.DETAIL: ("{} no longer looks at the details", _KEEP),
}
_DOUBTFUL = frozenset({Loss.GUARDED, Loss.DETAIL, Loss.REPLACED})
"""A branch may run always and a message may have been reworded: told, never blocking."""
_CERTAIN = frozenset({Loss.TRIVIAL, Loss.SWALLOWED, Loss.UNREACHABLE})
"""No honest change needs an assertion that cannot fail."""
_IN_ANOTHER_FORM = frozenset({Loss.GONE, Loss.WEAKER})
"""What a comparison that was rebuilt along with the code looks like where it is read by its lines."""


def assertions_weakened(scene: Scene) -> Iterable[Finding]:
    """BLOCK where an assertion surely lost strength; WARN where two assertions may not be versions of one.

    Another expected value is a WARN as long as program text changed too: then the goal may ask for it. Where nothing but
    tests changed, the test was fitted to the code. A WARN too where a test in a language that is read by its lines was rebuilt
    along with the code and still names every value that it named.
    """
    comparison = compared(scene.diff, scene.tests, scene.commands)
    return most_important(_findings(comparison, scene))


def _findings(comparison: Comparison, scene: Scene) -> Iterator[Finding]:
    changed: bool | None = None
    for pair in (*comparison.pairs, *comparison.helpers):
        found = list(weakenings(pair, comparison))
        if found and changed is None:
            changed = source_changed(scene.diff)
        for weakening, more in _grouped(found):
            yield _finding(pair, weakening, more, _weight(weakening, pair, source=bool(changed)))
    yield from _snapshots(scene)


def _grouped(found: list[Weakening]) -> Iterator[tuple[Weakening, int]]:
    """The first of each kind of loss, and how many more there are."""
    for loss in Loss:
        same = [item for item in found if item.loss is loss]
        if same:
            yield max(same, key=lambda item: item.sure), len(same) - 1


def _weight(weakening: Weakening, pair: Pair, *, source: bool) -> Weight:
    if weakening.loss in _CERTAIN:
        return Weight.BLOCK
    if source and weakening.loss in _IN_ANOTHER_FORM and is_reshaped(weakening.old, weakening.new, pair):
        return Weight.HINT
    is_data = weakening.old.kind is Kind.ROW and (pair.old.is_table or not pair.old.path.endswith(".py"))
    fitted = weakening.loss is Loss.CHANGED or (is_data and bool(pair.new.assertions))
    if weakening.loss in _DOUBTFUL or not weakening.sure or (fitted and source):
        return Weight.HINT
    return Weight.BLOCK


_SNAPSHOTS = (".snap", ".ambr", ".approved.txt", ".snap.new")


def _snapshots(scene: Scene) -> Iterator[Finding]:
    """A snapshot is an expected value that the runner wrote: rewriting it fits the test to the code."""
    for file in scene.diff:
        if file.path.endswith(_SNAPSHOTS) and file.before is not None and file.after is not None and file.removed:
            yield _REPORTER.tell(
                Weight.HINT if source_changed(scene.diff) else Weight.BLOCK,
                Spot(file.path, file.removed[0].number, file.added[0].text if file.added else "", file.removed[0].text),
                "a snapshot was rewritten",
                "Restore the snapshot and make the code give what it says.",
            )


def _finding(pair: Pair, weakening: Weakening, more: int, weight: Weight) -> Finding:
    message, honest = _TELLING[weakening.loss]
    now = weakening.new
    spot = Spot(pair.new.path, now.line if now else pair.new.line, now.text if now else "", weakening.old.text)
    many = f" ({more} more like it)" if more else ""
    return _REPORTER.tell(weight, spot, shown(message.format(pair.new.name), 180) + many, honest)
