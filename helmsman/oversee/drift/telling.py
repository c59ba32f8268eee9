"""A drift in words, for the record."""

from helmsman.oversee.drift.judging import LEAST_STRANGERS, STRANGERS_KEPT
from helmsman.records.session import Drift


def flagged(drift: Drift) -> bool:
    """Whether it is worth a word. That the strangers outweigh the rest is what makes them be named."""
    return bool(drift.documents) or len(drift.strangers) >= LEAST_STRANGERS


def sentence(drift: Drift) -> str:
    """One line for a signal."""
    if drift.documents:
        return f"only documents changed while tests fail: {', '.join(drift.documents)}"
    number = f"{STRANGERS_KEPT} or more" if len(drift.strangers) >= STRANGERS_KEPT else str(len(drift.strangers))
    verb = "file has" if len(drift.strangers) == 1 else "files have"
    return f"{number} changed {verb} nothing to do with the task by path or word: {', '.join(drift.strangers)}"
