"""Whether a failure was seen before, and how often."""

from collections.abc import Sequence

from helmsman.records.session import ErrorVector
from helmsman.verify.failures.normal import normal, place

KEPT = 20


def same_error(a: ErrorVector, b: ErrorVector) -> bool:
    """Whether two failures are one: their class, their place and their message are the same."""
    return a.kind is b.kind and _words(a) == _words(b)


def merge(errors: Sequence[ErrorVector], new: ErrorVector) -> tuple[ErrorVector, ...]:
    """Count a failure that is known and put it last; the newest are kept."""
    times = new.times + sum(error.times for error in errors if same_error(error, new))
    others = [error for error in errors if not same_error(error, new)]
    return (*others, new.model_copy(update={"times": times}))[-KEPT:]


def _words(error: ErrorVector) -> tuple[str, str]:
    return place(error.where), normal(error.message)
