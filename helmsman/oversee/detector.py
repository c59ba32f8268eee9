"""Common interface of everything that watches a loop: rule, severity, function. `advice.toml` holds the instructions."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Generic, NamedTuple, ParamSpec

from helmsman.records.decision import Alert, Severity

P = ParamSpec("P")
ADVICE: Mapping[str, Any] = tomllib.loads(files("helmsman.oversee").joinpath("advice.toml").read_text("utf-8"))
INSTRUCTIONS: Mapping[str, str] = ADVICE["signals"]  # instruction for the next iteration, by the alert's rule


class Detection(NamedTuple):
    """What a detector found, in a sentence with its numbers."""

    message: str
    value: float | None = None
    threshold: float | None = None
    severity: Severity | None = None  # overrides the detector's
    rule: str = ""  # suffix of the detector's rule


@dataclass(frozen=True)
class Detector(Generic[P]):
    """One row of a table of detectors."""

    rule: str
    severity: Severity
    evaluate: Callable[P, Iterable[Detection]]

    def alerts(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Alert]:
        """An alert for each thing found."""
        for detection in self.evaluate(*args, **kwargs):
            fields = {"rule": self.rule + detection.rule, "severity": detection.severity or self.severity}
            yield Alert.model_validate({**detection._asdict(), **fields, "instruction": INSTRUCTIONS.get(self.rule, "")})
