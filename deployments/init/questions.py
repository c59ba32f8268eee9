"""What `helmsman init` asks in a terminal: whether to try, the goal, which checks, others that it did not find, the criteria."""

import re
from collections.abc import Iterator, Sequence

from deployments.dialogue import YES, say, typed
from deployments.init.pages import Plan, outcome
from helmsman.errors import OperatorError
from helmsman.first_files import criteria_of, criterion_problems
from helmsman.orient.commands import worth_keeping
from helmsman.orient.projects.kinds import Candidate, Kind
from helmsman.plain import clean, one_line
from helmsman.verify.redundancy import kinds
from tasks.checking.detecting import Scratch, Tried, try_one

NO = frozenset({"n", "no"})


def may_try(candidates: Sequence[Candidate]) -> bool:
    """Whether the commands may be run: they are the repository's own, and whoever cloned it may not have read them yet."""
    say("Found in the project's files:", *(f"  {clean(one.command)}   ({clean(one.where)})" for one in candidates))
    return _agrees(
        "Do you trust this repository, and may these commands run as you, now once in a scratch checkout and later in loops?",
        usually=True,
    )


def without_asking(tried: Sequence[Tried], goal: str | None) -> Plan:
    """What is recommended is kept; the criteria are those that the goal lists."""
    kept = recommended(tried)
    return Plan(goal or "", kept, tuple(one for one in tried if one not in kept), criteria_of(goal or ""))


def recommended(tried: Sequence[Tried]) -> tuple[Tried, ...]:
    """What works. Where no tests do, the first that fail now come before it: they are what a loop is for."""
    by_candidate = {one.candidate: one for one in tried}
    working = tuple(by_candidate[one] for one in worth_keeping({one.candidate: one.proves for one in tried}))
    red = [] if any(one.candidate.kind is Kind.TESTS for one in working) else [one for one in tried if one.is_red]
    return (*red[:1], *working)


def plan_with(place: Scratch, tried: Sequence[Tried], goal: str | None) -> Plan:
    """Ask for all that the files could not tell."""
    said = goal if goal is not None else _line("Goal: what shall be true at the end? (empty: later)")
    kept = _chosen(tried) if tried else ()
    kept = (*kept, *_others(place, none_yet=not kept))
    left = tuple(one for one in tried if one not in kept)
    return Plan(said, kept, left, criteria_of(said) or tuple(_criteria()))


# --- single questions ---------------------------------------------------------------------------------------------


def _chosen(tried: Sequence[Tried]) -> tuple[Tried, ...]:
    """By their numbers in the table. A red check may be chosen: it may be the goal itself."""
    usual = [number for number, one in enumerate(tried, 1) if one in recommended(tried)]
    default = " ".join(map(str, usual)) or "none"
    while True:
        said = _line(f"Checks, by their numbers, `all` or `none` [{default}]") or default
        numbers = _numbers(said, len(tried))
        if numbers is not None:
            return tuple(tried[number - 1] for number in numbers)
        say(f"  expected numbers from 1 to {len(tried)}, such as: {default}")


def _numbers(said: str, most: int) -> list[int] | None:
    """Each once, in the order of the table; None where something else was said."""
    if said.lower() in {"all", "none"}:
        return [*range(1, most + 1)] if said.lower() == "all" else []
    words = re.split(r"[\s,]+", said.strip(", "))
    if not all(re.fullmatch(r"[0-9]{1,3}", word, re.ASCII) and 1 <= int(word) <= most for word in words):
        return None
    return sorted({int(word) for word in words})


def _others(place: Scratch, *, none_yet: bool) -> Iterator[Tried]:
    """Commands that the files do not name, each tried at once."""
    question = "A command that proves the goal" if none_yet else "Another command that proves it"
    while command := _line(f"{question} (empty: none)"):
        one = try_one(place, Candidate(command, _kind(command), "given at `helmsman init`"))
        say(f"  {outcome(one)}", *(f"    {clean(line)}" for line in one.tail.splitlines()[-3:] if not one.proves))
        if one.proves or _agrees("  Keep it all the same? A red check may be the goal itself.", usually=False):
            yield one
            question = "Another command that proves it"


def _kind(command: str) -> Kind:
    """What its words say; what they do not say is taken for a test."""
    return next((kind for kind in Kind if kind in kinds(command)), Kind.TESTS)


def _criteria() -> Iterator[str]:
    say("Acceptance criteria, which an independent model has to see met: one a line, an empty line ends.")
    while text := one_line(_line("-")):
        flaws = criterion_problems(text)
        if not flaws:
            yield text
        for flaw in flaws:
            say(f"  {flaw.cause}; {flaw.remedy}")


# --- the terminal -------------------------------------------------------------------------------------------------


def _agrees(question: str, *, usually: bool) -> bool:
    while True:
        said = _line(f"{question} [{'Y/n' if usually else 'y/N'}]").lower()
        if not said or said in YES | NO:
            return said in YES if said else usually


def _line(question: str) -> str:
    """What is typed. Raises OperatorError where nobody types any more."""
    said = typed(question)
    if said is None:
        raise OperatorError("the questions were not answered, so nothing was written", remedy="--yes takes what works unasked")
    return said
