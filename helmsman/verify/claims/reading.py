"""What the agent asks for and what it says of its work. A request to be done is read here; whether it is granted is decided by
the checks, and what it says is compared with the evidence by `contradictions`.
"""

import re
from collections.abc import Iterator

from helmsman.records.claims import Claim, ClaimKind, Claims, StatusReport
from helmsman.records.memory import WorkingMemory
from helmsman.verify.claims.changes import Told, read_changes
from helmsman.verify.claims.results import read_results
from helmsman.verify.claims.sentences import CODE_FENCE, sentences
from helmsman.verify.claims.status_report import read_status
from helmsman.verify.claims.way_out import way_out
from helmsman.verify.claims.words import ADMITS, ELSEWHEN, HARMLESS
from helmsman.verify.diff import shown

MOST_CLAIMS = 50
LAST_LINES = 10
"""Of a program that prints more than its agent's last message, the lines with words that may ask: a block and a promise fit."""

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^`\n]*\1(?!`)")
_EXIT_SIGNAL = re.compile(
    r"(?:^[ \t\"'*>-]*|[{,]\s*\")EXIT_SIGNAL[\"'*]*\s*[:=]\s*[\"'*]*true\b",
    re.MULTILINE | re.IGNORECASE,
)
_DECORATION = "`*_ \t"


def read_claims(
    final_text: str,
    promise: str,
    *,
    before: WorkingMemory | None = None,
    after: WorkingMemory | None = None,
    only_at_end: bool = False,
) -> Claims:
    """Find a request to be done in the last message, and what it, its status report and progress.md say was done.

    Quoted code does not ask, unless all of the message is quoted. A promise that fills a line asks, however it is decorated.
    EXIT_SIGNAL asks in a block or in JSON, fenced or not. `before` and `after` are progress.md around the iteration: entries
    that were completed in it count, and without `before` none does. `only_at_end`: only the last lines ask.
    """
    how = _request(_end(final_text) if only_at_end else final_text, promise)
    status = read_status(final_text)
    found = {
        (claim.kind, claim.subject): claim for claim in reversed([*_said(final_text), *_reported(status), *_noted(before, after)])
    }
    blocked, goes_on = ("", False) if how else way_out(final_text, status)
    return Claims(
        wants_to_finish=bool(how),
        how=how,
        blocked=blocked,
        goes_on=goes_on,
        status=status,
        claims=tuple(reversed(found.values()))[:MOST_CLAIMS],
    )


def _request(final_text: str, promise: str) -> str:
    """The words that ask to be done; empty where there are none."""
    if _EXIT_SIGNAL.search(final_text):
        return "EXIT_SIGNAL"
    unfenced = CODE_FENCE.sub("", final_text)
    spoken = unfenced if unfenced.strip() else final_text
    alone = any(line.strip(_DECORATION) == promise for line in spoken.splitlines())
    return promise if alone or promise in _CODE_SPAN.sub("", spoken) else ""


def _end(text: str) -> str:
    return "\n".join([line for line in text.splitlines() if line.strip()][-LAST_LINES:])


def _said(final_text: str) -> Iterator[Claim]:
    """Claims of the last message. One that admits a failure anywhere does not claim that tests pass."""
    spoken = list(sentences(final_text))
    honest = any(ADMITS.search(HARMLESS.sub("", sentence.text)) for sentence in spoken)
    for sentence in spoken:
        told: list[Told] = [*read_changes(sentence), *read_results(sentence)]
        for kind, subject in told:
            if kind is not ClaimKind.TESTS_PASS or not honest:
                yield Claim(kind=kind, subject=subject, said=shown(sentence.text), source="last message")


def _reported(status: StatusReport | None) -> Iterator[Claim]:
    if status is None:
        return
    if status.tests_status == "passing":
        yield Claim(kind=ClaimKind.TESTS_PASS, said="TESTS_STATUS: passing", source="RALPH_STATUS")
    if status.files_modified:
        number = str(status.files_modified)
        yield Claim(kind=ClaimKind.FILES_MODIFIED, subject=number, said=f"FILES_MODIFIED: {number}", source="RALPH_STATUS")
    if status.tasks_completed:
        number = str(status.tasks_completed)
        said = f"TASKS_COMPLETED_THIS_LOOP: {number}"
        yield Claim(kind=ClaimKind.ITEM_DONE, subject=f"{number} tasks", said=said, source="RALPH_STATUS")


def _noted(before: WorkingMemory | None, after: WorkingMemory | None) -> Iterator[Claim]:
    """Entries that became completed in this iteration; one that was only worded anew is none."""
    if before is None or after is None:
        return
    known = [_words(item.text) for item in before.completed]
    for item in after.completed:
        words = _words(item.text)
        if words and not ELSEWHEN.search(item.text) and not any(_alike(words, one) for one in known):
            yield Claim(kind=ClaimKind.ITEM_DONE, subject=shown(item.text), said=shown(item.text), source="progress.md")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether they share half of their words."""
    return 2 * len(one & other) >= len(one | other)
