"""One shape for everything that watches a loop: a rule, how grave it is, what is looked for, and what is to be done about it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, ParamSpec

from helmsman.records.verdict import Severity, Signal

P = ParamSpec("P")


class Found(NamedTuple):
    """Something that a detector saw, in a sentence with its numbers."""

    message: str
    value: float | None = None
    threshold: float | None = None
    severity: Severity | None = None
    """Where it is another one than the detector's."""
    rule: str = ""
    """What is added to the detector's rule."""


@dataclass(frozen=True)
class Detector(Generic[P]):
    """One row of a table of detectors."""

    rule: str
    severity: Severity
    evaluate: Callable[P, Iterable[Found]]
    instruction: str = ""
    """What the next iteration is told to do about it."""

    def alerts(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Signal]:
        """An alert for each thing found."""
        for found in self.evaluate(*args, **kwargs):
            yield Signal(
                rule=self.rule + found.rule,
                severity=found.severity or self.severity,
                message=found.message,
                value=found.value,
                threshold=found.threshold,
                instruction=self.instruction,
            )
