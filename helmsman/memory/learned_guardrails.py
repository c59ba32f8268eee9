"""Guardrails that the system makes itself: an instruction for each class of failure that came back too often, and its effect.

Not to be confused with `helmsman.guardrails`, the rules for single tool calls.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from helmsman.memory.guardrail_effect import NO_GOOD, Verdict, failed, persons, retired, verdict
from helmsman.oversee.conflicts import MOST_ORDERS, conflicts
from helmsman.oversee.cycles import OF_THE_WORLD
from helmsman.oversee.imperatives import imperatives
from helmsman.oversee.learning import advice
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.base import Record
from helmsman.records.control import Conflict, Imperative, Movement
from helmsman.records.lessons import Episode, Guardrail
from helmsman.texts import plural

GUARDRAIL_AFTER = 3  # iterations of a project in which one class of failure has to be seen until it makes a guardrail (L5)
MOST_GUARDRAILS = 8  # that stand at a time in one project: more than a page of orders is read by nobody
AGAIN = 2  # iterations that have to name one place until it counts as named again and again
LONGEST_PLACE = 120
REMOVED, GAVE_WAY = "a person removed it", "gave way"  # how the reason begins for which one is retired
_NUMBERS = 8  # iterations that an origin names

_LINE = re.compile(r"(?::\d{1,9}){1,2}\Z|\(\d{1,9}(?:,\d{1,9})?\)\Z")
_NAME = re.compile(r"(?=[^\W\d])[\w.@+-]+(?:/[\w.@+-]+)*(?:::[\w.@+-]+){0,4}|\.[\w-][\w./@+-]*")
"""A test, file, module or command without a blank: of what else stands there nobody knows whose words they are."""
_CODE = re.compile(
    r".+\.(?:py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|scala|rb|php|c|h|cc|cpp|hpp|cs|swift|vue|ex|exs|lua|sh|sql|html|css)"
)
_WORTH = tuple(Verdict)  # the one that gives way first comes first


class Refused(Record):
    """A guardrail that was due and was not made."""

    guardrail: Guardrail
    why: str
    """For people; where it contradicts something, both sentences."""


class Created(Record):
    """What failures of a loop make of a project's guardrails."""

    guardrails: tuple[Guardrail, ...] = ()
    """To be written: new ones, ones that are active again, and those that are retired in their favour."""
    refused: tuple[Refused, ...] = ()


def _in_vain(episode: Episode) -> frozenset[FailureClass]:
    """How its checks failed, where the work did not get on: from one failing test to the next is progress."""
    return failed(episode) if episode.movement is not Movement.FORWARD else frozenset()


def _common(kind: FailureClass, episodes: Sequence[Episode]) -> str:
    """The test, else the file, that most of these iterations name as the place of such a failure, and two at least. Empty where
    they have nothing in common.
    """
    tests = [{_place(error.where, one.files) for error in one.errors if error.kind is kind} - {""} for one in episodes]
    for places in (tests, [{place.partition("::")[0] for place in named} for named in tests]):
        counts = Counter(place for named in places for place in named)
        name = min(counts, key=lambda one: (-counts[one], one), default="")  # so that the same failures name the same place
        if counts[name] >= AGAIN and 2 * counts[name] > len(tests):
            return name
    return ""


def _place(where: str, known: Sequence[str]) -> str:
    """A test, file, module or command, cleaned and bounded: without its line, which every edit moves, and without what stands
    above the project on this machine.
    """
    word = _LINE.sub("", next(iter(where.split()), "")).removeprefix("./")
    if word.startswith("/"):
        word = next((file for file in known if word.endswith(f"/{file}")), word.rpartition("/")[2])
    found = _NAME.match(word)
    name = found[0].rstrip(".:-+@") if found else ""
    return name if len(name) <= LONGEST_PLACE else ""


def words(kind: FailureClass, place: str) -> tuple[str, str]:
    """Trigger and instruction of a guardrail for this class: the place is quoted, and nothing else in it comes from outside."""
    said = advice()[kind]
    if not place:
        return said["when"], said["do"]
    file, _, test = place.partition("::")
    last = f" The checks named `{place}` last." if test else ""
    return said["there"].format(f"`{file}`"), said["do"] + last


def contradiction(instruction: str, orders: Sequence[Imperative], active: Sequence[Guardrail] = ()) -> Conflict | None:
    """The first order or active guardrail that cannot be followed together with an instruction, both sentences in it."""
    proposed = imperatives("a new guardrail", instruction)
    known = [order for one in active for order in imperatives("guardrails.md", one.instruction)] if proposed else []
    for order in dict.fromkeys((*orders[:MOST_ORDERS], *known)) if proposed else ():
        found = (one for one in conflicts((*proposed, order)) if (one.first in proposed) != (one.second in proposed))
        if conflict := next(found, None):
            return conflict
    return None


def create(
    project: str,
    episodes: Sequence[Episode],
    known: Iterable[Guardrail],
    counts: Mapping[FailureClass, tuple[int, int]],
    orders: Sequence[Imperative],
    most: int,
    now: datetime,
) -> Created:
    """Guardrails that the iterations of a loop, oldest first, make. `known`: all of the project's, retired ones too.

    `counts`: checked iterations of the project with a class, of all. The same arguments make the same ids, however often it
    is asked.
    """
    by_id = {one.id: one for one in known}
    written, refused = dict[str, Guardrail](), list[Refused]()
    vain = {kind: [one for one in episodes if kind in _in_vain(one)] for kind in FailureClass}
    for kind in sorted(FailureClass, key=lambda kind: -len(vain[kind])):
        # iterations of this loop that got on speak for nothing; of other loops nobody knows
        forward, (seen, of) = sum(kind in failed(one) for one in episodes) - len(vain[kind]), counts.get(kind, (0, 0))
        due = vain[kind] and seen - forward >= GUARDRAIL_AFTER
        proposed = _proposed(project, kind, vain[kind], (seen, max(of, seen)), by_id, now) if due else None
        if proposed is None:
            continue
        active = [one for one in by_id.values() if not one.retired]
        conflict = contradiction(proposed.instruction, orders, active)
        giving_way = _giving_way(proposed.id, active, episodes, most, now)
        if conflict is not None:
            first, second = (f"“{clean(one.text)}” ({clean(one.place)})" for one in (conflict.first, conflict.second))
            why = f"{first} contradicts {second}: both speak of {clean(conflict.about)}"
            refused.append(Refused(guardrail=proposed, why=why))
            continue
        if giving_way is None:
            why = f"{most} guardrails stand at most, and those that do are a person's or needed now"
            refused.append(Refused(guardrail=proposed, why=f"{why}; delete one in guardrails.md"))
            continue
        made = {one.id: one for one in (*giving_way, proposed)}
        by_id |= made
        written |= made
    return Created(guardrails=tuple(written.values()), refused=tuple(refused))


def code(text: str) -> str:
    """Short enough for a heading that people edit."""
    return f"g{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _proposed(
    project: str,
    kind: FailureClass,
    vain: Sequence[Episode],
    count: tuple[int, int],
    known: Mapping[str, Guardrail],
    now: datetime,
) -> Guardrail | None:
    """The guardrail for a class that came back too often. `vain`: iterations of this loop in which it failed and the work did not
    get on; `count`: in how many it was seen, of how many.

    None where one of the class is active, or a person or its own failure has ended it: what has failed is not tried again
    elsewhere. And where an instruction can do nothing: the world fails so whatever is told, unless the code is where it happens,
    as a host or a program is no file that somebody can change; what has nothing in common but that nobody knows it needs a place.
    """
    place, advised = _common(kind, vain), advice()[kind]["do"]
    helps = "::" in place or _CODE.fullmatch(place) if kind in OF_THE_WORLD else place or kind is not FailureClass.OTHER
    for one in known.values():
        in_vain = one.retired.startswith(Verdict.INEFFECTIVE) and one.instruction.startswith(advised)
        if one.failure is kind and (not one.retired or one.retired.startswith(REMOVED) or in_vain):
            return None
    if not helps:
        return None
    (trigger, instruction), (seen, of) = words(kind, place), count
    numbers = ", ".join(str(episode.iteration) for episode in vain[-_NUMBERS:])
    last = "the last ones " if len(vain) > _NUMBERS else ""
    fresh = Guardrail(
        id=code(f"{project}\0{kind}\0"),  # one thing, whatever its words are
        project=project,
        failure=kind,
        trigger=trigger,
        instruction=instruction,
        origin=(
            f"loop {clean(vain[-1].loop)[:80]}: {kind} failures in {plural(len(vain), 'iteration')} that did not "
            f"get on ({last}{numbers}); in {seen} of {plural(of, 'checked iteration')} of the project"
        ),
        before_seen=seen,
        before_of=of,
        created_at=now,
    )
    before = known.get(fresh.id)
    if before is None or not before.instruction.startswith(advised):
        return fresh
    # it is active again, with its record; as before it counts every iteration that was not told of it
    seen = max(seen - before.after_seen, 0)
    kept = {name: getattr(before, name) for name in ("after_seen", "after_of", "loops", "loaded_at")}
    return fresh.model_copy(update={**kept, "before_seen": seen, "before_of": max(of - before.after_of, seen)})


def _giving_way(
    new: str, active: Sequence[Guardrail], episodes: Sequence[Episode], most: int, now: datetime
) -> list[Guardrail] | None:
    """Those that give way to a new one, retired: the least effective first, of equals the one that was told the longest ago. None
    where too few can: a person's stay, and so does what this loop needs, else two classes would push each other out by turns.
    """
    vain = frozenset[FailureClass]().union(*map(_in_vain, episodes))
    free = [one for one in active if not persons(one) and (one.failure not in vain or verdict(one) in NO_GOOD)]
    free.sort(key=lambda one: (_WORTH.index(verdict(one)), one.loaded_at or one.created_at))
    excess = max(len(active) + 1 - most, 0)
    if excess > len(free):
        return None
    told = {one.id: f"told last on {one.loaded_at:%Y-%m-%d}" if one.loaded_at else "never told" for one in free}
    return [retired(f"{GAVE_WAY} to {new}: {verdict(one)}, {told[one.id]}", one, now) for one in free[:excess]]
