"""A model's reading of orders: when it is asked for contradictions, what it is asked, and what of its answer counts.

Rules come first. A model is asked only where they found nothing and the loop is in trouble, and once until the orders change.
What it says is held by the orders that it cites: a pair of them, by number, and one of the four kinds.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helmsman.budget import fence, fit
from helmsman.oversee.conflicts import MOST_CONFLICTS, conflicts, distinct
from helmsman.parsers.answers import NUMBER, TEXT, closed, many, one_of, printable, read_answer
from helmsman.plain import clean
from helmsman.prompts import render, render_pieces
from helmsman.records.control import Conflict, ConflictKind, ConflictSearch, EscalationLevel, Imperative
from helmsman.records.iteration import Question
from helmsman.records.state import LoopState
from helmsman.tokens import tokens

ORDERS_TOKENS = 8000
"""Of orders that a model is shown; those of AGENTS.md and a few specifications have a tenth of it."""
TROUBLE_TOKENS = 500
ABOUT = 200
_PLACE = 120
_NAMES = 20

FORM = closed(conflicts=many(closed(first=NUMBER, second=NUMBER, kind=one_of(get_args(ConflictKind)), about=TEXT)))


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    conflicts: list[Any] = Field(max_length=1000)
    """Each is read by itself: one that cites nothing takes no other with it."""


class _Found(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    first: int
    second: int
    kind: ConflictKind
    about: str = Field(min_length=1, max_length=ABOUT)


def in_trouble(state: LoopState) -> bool:
    """Whether a model may be asked at all, as far as the state tells: nothing has to be read to know that it need not."""
    oversight = state.oversight
    ruled = any(conflict.by == "rules" for conflict in oversight.conflicts)
    return state.config.prompt.contradictions and oversight.ladder.rung >= EscalationLevel.REFACTOR and not ruled


def shown(orders: Sequence[Imperative]) -> tuple[Imperative, ...]:
    """Of these orders, those that a model is shown: each once, the first ones, as many as fit."""
    fitting: list[Imperative] = []
    room = ORDERS_TOKENS
    for order in dict.fromkeys(orders):
        room -= tokens(_line(len(fitting) + 1, order) + "\n")
        if room < 0:
            break
        fitting.append(order)
    return tuple(fitting)


def fingerprint(orders: Sequence[Imperative]) -> str:
    """Of what is ordered, wherever in its document it stands: a line that moves is no new order."""
    said = "\0".join("\0".join(_identity(order)) for order in shown(orders))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


def unasked(state: LoopState, orders: Sequence[Imperative]) -> bool:
    """Whether these orders could hide a contradiction that nobody has looked for yet."""
    known = state.oversight.sought
    return len(shown(orders)) > 1 and not conflicts(orders) and (known is None or known.orders != fingerprint(orders))


def conflict_request(state: LoopState, orders: Sequence[Imperative]) -> Question:
    """What a model is asked about these orders."""
    lines = "\n".join(_line(number, order) for number, order in enumerate(shown(orders), 1))
    # what the loop does not get past: a contradiction that nobody meets does no harm
    failing = "\n".join(clean(name) for summary in state.history[-1:] for name in summary.failing[:_NAMES])
    reason = clean(state.oversight.ladder.reason) or "no reason is recorded"
    return Question(
        rules=render("conflicts_system"),
        task=render("conflicts_task", orders=fence(lines)),
        facts=fit(render_pieces("conflicts_facts", reason=reason, failing=failing), TROUBLE_TOKENS),
        closing=render("conflicts_form", most=MOST_CONFLICTS, about=ABOUT),
        form=FORM,
    )


def read_conflicts(text: str, orders: Sequence[Imperative]) -> ConflictSearch | str:
    """The contradictions in a model's answer that cite two of these orders; or why it is no answer. Never raises."""
    answer = read_answer(text, "conflicts", _Answer)
    if isinstance(answer, str):
        return answer
    found = distinct(_read(answer.conflicts, shown(orders)))
    return ConflictSearch(orders=fingerprint(orders), conflicts=tuple(found)[:MOST_CONFLICTS])


def held(search: ConflictSearch | None, orders: Sequence[Imperative]) -> tuple[Conflict, ...]:
    """The contradictions of which both orders still stand, with the places where they stand now."""
    now = {_identity(order): order for order in reversed(orders)}
    known = [(one, now.get(_identity(one.first)), now.get(_identity(one.second))) for one in (search.conflicts if search else ())]
    return tuple(one.model_copy(update={"first": first, "second": second}) for one, first, second in known if first and second)


def _read(items: Sequence[object], orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """Those that can be read, and are between two orders of which one at least is no mere wish."""
    for item in items:
        try:
            found = _Found.model_validate(item)
        except ValidationError:
            continue
        about = " ".join(printable(found.about).split())
        cites = {found.first, found.second} <= set(range(1, len(orders) + 1))
        if not about or not cites:
            continue
        one, other = orders[found.first - 1], orders[found.second - 1]
        if {one.modality, other.modality} & {"must", "must_not"}:
            yield Conflict(kind=found.kind, first=one, second=other, about=about, by="model")


def _identity(order: Imperative) -> tuple[str, str, str]:
    return order.source, order.modality, order.text


def _line(number: int, order: Imperative) -> str:
    return clean(f"{number}. {order.place[:_PLACE]} ({order.modality}): {order.text}")
