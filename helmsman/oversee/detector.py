"""One shape for all that watches a loop: a rule, how grave it is, what is looked for. `advice.toml` says what to do then."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Generic, NamedTuple, ParamSpec

from helmsman.records.decision import Alert, Severity

P = ParamSpec("P")
ADVICE: Mapping[str, Any] = tomllib.loads(files("helmsman.oversee").joinpath("advice.toml").read_text("utf-8"))
INSTRUCTIONS: Mapping[str, str] = ADVICE["signals"]  # what the next iteration is told to do about a signal, by its rule


class Found(NamedTuple):
    """Something that a detector saw, in a sentence with its numbers."""

    message: str
    value: float | None = None
    threshold: float | None = None
    severity: Severity | None = None  # where it is another one than the detector's
    rule: str = ""  # what is added to the detector's rule


@dataclass(frozen=True)
class Detector(Generic[P]):
    """One row of a table of detectors."""

    rule: str
    severity: Severity
    evaluate: Callable[P, Iterable[Found]]

    def alerts(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Alert]:
        """An alert for each thing found."""
        for found in self.evaluate(*args, **kwargs):
            told = {"rule": self.rule + found.rule, "severity": found.severity or self.severity}
            yield Alert.model_validate({**found._asdict(), **told, "instruction": INSTRUCTIONS.get(self.rule, "")})
