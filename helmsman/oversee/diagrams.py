"""The tables of breaker and ladder as Mermaid state diagrams, so that what is drawn is what runs."""

from collections.abc import Iterator, Mapping

from helmsman.config import BreakerConfig, LadderConfig
from helmsman.oversee import breaker, ladder
from helmsman.records.modes import Position, Rung

POSITIONS: Mapping[Position, str] = {
    Position.CLOSED: "closed",
    Position.HALF_OPEN: "half-open",
    Position.OPEN: "open",
}
NO_PROGRESS = frozenset({breaker.Event.IDLE, breaker.Event.SAME_ERROR, breaker.Event.DENIED})
"""Kinds of it, which are drawn only where they lead elsewhere than it does."""


def breaker_diagram(config: BreakerConfig | None = None) -> str:
    """Every way between two positions; what stays is left out."""
    words = _breaker_words(config or BreakerConfig())
    ways: dict[tuple[Position, Position], list[str]] = {}
    for (before, event), after in breaker.TRANSITIONS.items():
        a_kind = event in NO_PROGRESS and breaker.TRANSITIONS[before, breaker.Event.NO_PROGRESS] is after
        if after is not before and not a_kind:
            ways.setdefault((before, after), []).append(words[event])
    return _diagram(
        {position.value: name for position, name in POSITIONS.items()},
        [(before.value, after.value, " or ".join(events)) for (before, after), events in ways.items()],
    )


def ladder_diagram(config: LadderConfig | None = None) -> str:
    """Every step between two rungs, with what it needs."""
    chosen = config or LadderConfig()
    ways = [(_id(before), _id(step.after), _step(event, step, chosen)) for (before, event), step in ladder.STEPS.items()]
    return _diagram({_id(rung): rung.title for rung in Rung}, ways)


def _diagram(states: Mapping[str, str], ways: list[tuple[str, str, str]]) -> str:
    return "\n".join(_lines(states, ways))


def _lines(states: Mapping[str, str], ways: list[tuple[str, str, str]]) -> Iterator[str]:
    yield "stateDiagram-v2"
    yield from (f'    state "{name}" as {state}' for state, name in states.items())
    yield f"    [*] --> {next(iter(states))}"
    yield from (f"    {before} --> {after} : {label}" for before, after, label in ways)


def _id(rung: Rung) -> str:
    return rung.name.lower()


def _breaker_words(config: BreakerConfig) -> Mapping[breaker.Event, str]:
    return {
        breaker.Event.PROGRESS: "progress",
        breaker.Event.NO_PROGRESS: "no progress",
        breaker.Event.IDLE: f"{config.half_open_after} in a row without progress",
        breaker.Event.SAME_ERROR: "the same error again and again",
        breaker.Event.DENIED: "permissions denied again",
        breaker.Event.COOLED: f"{config.cool_down_minutes:g} minutes are over",
        breaker.Event.MANUAL_RESET: "a person closes it",
    }


_EVENTS: Mapping[ladder.Event, str] = {
    ladder.Event.PAIN: "pain",
    ladder.Event.PERSON: "a question for a person",
    ladder.Event.TROUBLE: "trouble",
    ladder.Event.CLEAN: "clean",
    ladder.Event.NOTHING: "nothing",
    ladder.Event.RESUMED: "a person goes on",
}
_COUNTERS: Mapping[str, str] = {
    "spent": "{event}, after {needs} iterations here",
    "clean": "{needs} {event} here",
    "": "{event}",
}


def _step(event: ladder.Event, step: ladder.Step, config: LadderConfig) -> str:
    return _COUNTERS[step.counter].format(event=_EVENTS[event], needs=ladder.needed(step, config))
