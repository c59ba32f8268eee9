"""Names of the detectors, as `detect.off` takes them. The overseer has one for each; a contract test holds the two together."""

import difflib
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

DETECTOR_NAMES = (
    "denied",
    "limit_cycle",
    "recurring_trees",
    "oscillating",
    "regressing",
    "same_error",
    "same_words",
    "stuck",
    "plateau",
    "empty_sessions",
    "off_objective",
    "resource_burn",
    "output_decline",
    "reverted",
    "growing_diff",
    "test_only",
)
_LONGEST = 80  # characters of a wrong name that are compared
_NEAR = 0.6


def _known(name: str) -> str:
    if name in DETECTOR_NAMES:
        return name
    near = difflib.get_close_matches(name[:_LONGEST].lower(), DETECTOR_NAMES, n=1, cutoff=_NEAR)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise PydanticCustomError("unknown_detector", "one of {names}{hint}", {"names": ", ".join(DETECTOR_NAMES), "hint": hint})


DetectorName = Annotated[str, AfterValidator(_known)]
