"""Generate the state diagrams of docs/control.md from the tables in the code: `python tools/diagrams.py [--check]`.

--check writes nothing, and exits with 1 if the document is stale.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by path, like every tool

from helmsman.config import LadderConfig
from helmsman.oversee import ladder
from helmsman.records.control import EscalationLevel
from tools.generated_parts import ROOT, update_document

DOCUMENT = ROOT / "docs" / "control.md"


def diagrams() -> Mapping[str, str]:
    return {"ladder": _fenced(ladder_diagram())}


def _fenced(diagram: str) -> str:
    return f"```mermaid\n{diagram}\n```"


def ladder_diagram(config: LadderConfig | None = None) -> str:
    """Every step between two levels, with its conditions."""
    settings = config or LadderConfig()
    transitions = [
        (_state_id(before), _state_id(step.after), _transition_label(event, step, settings))
        for (before, event), step in ladder.STEPS.items()
    ]
    return _diagram({_state_id(level): level.title for level in EscalationLevel}, transitions)


def _diagram(states: Mapping[str, str], transitions: list[tuple[str, str, str]]) -> str:
    return "\n".join(_lines(states, transitions))


def _lines(states: Mapping[str, str], transitions: list[tuple[str, str, str]]) -> Iterator[str]:
    yield "stateDiagram-v2"
    yield from (f'    state "{name}" as {state}' for state, name in states.items())
    yield f"    [*] --> {next(iter(states))}"
    yield from (f"    {before} --> {after} : {label}" for before, after, label in transitions)


def _state_id(level: EscalationLevel) -> str:
    return level.name.lower()


_EVENTS: Mapping[ladder.Event, str] = {
    "pain": "critical event",
    "person": "a person is needed",
    "trouble": "trouble",
    "clean": "clean",
    "nothing": "nothing",
    "resumed": "a person continues",
}
_COUNTERS: Mapping[str, str] = {
    "spent": "{event}, after {needs} iterations here",
    "clean": "{needs} {event} here",
    "": "{event}",
}


def _transition_label(event: ladder.Event, step: ladder.Step, config: LadderConfig) -> str:
    return _COUNTERS[step.counter].format(event=_EVENTS[event], needs=step.needs or config.patience)


if __name__ == "__main__":
    sys.exit(update_document(DOCUMENT, diagrams(), __file__, sys.argv[1:]))
