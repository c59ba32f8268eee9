"""A drift in words: for the record, and for the agent."""

from typing import NamedTuple

from helmsman.oversee.drift.judging import LEAST_STRANGERS, STRANGERS_KEPT
from helmsman.plain import clean
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


class Guidance(NamedTuple):
    """A drift for the next prompt."""

    intro: str
    names: str
    """The files, one a line: foreign, to be fenced."""


def guidance(drift: Drift) -> Guidance:
    """For the next prompt: the strangers, or the documents that were all that changed."""
    if drift.documents:
        return Guidance(
            intro="The last iteration changed only documents, which the task does not ask for, while tests fail:",
            names="\n".join(clean(path) for path in drift.documents),
        )
    return Guidance(
        intro="Most files that the last iteration changed share no name or word with the task:",
        names="\n".join(clean(path) for path in drift.strangers),
    )
