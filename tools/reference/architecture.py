"""The architecture page, generated from the source: imports, the order of steps, the decision table."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from helmsman.oversee.decide import QUESTIONS, Question
from helmsman.records.decision import Outcome
from tools.reference.chances import WAYS, ways_of
from tools.reference.drawing import ACCENT, FAINT, GROUND, box, picture, text, way
from tools.reference.markdown import ROOT, about, cell, page, table, tree
from tools.reference.markup import Markup, element
from tools.reference.states import Way, state_diagram

LAYERS = ("deployments", "flows", "tasks", "blocks", "helmsman")
CORE = "helmsman"
WRAPPED = {"checking": "checks"}
"""Functions that the flow calls, and their step."""
BAND, GAP, WIDE, LANE = 58, 26, 520, 30


def architecture_page() -> str:
    rooms = sorted(path.name for path in (ROOT / CORE).iterdir() if (path / "__init__.py").exists())
    return page(
        "# Architecture",
        "The agent acts, the environment judges, the engine remembers, and a person decides what a machine cannot. "
        "Every picture and table on this page is generated from the source.",
        "## Layers",
        "Imports point down, never up. The number at an arrow is the number of importing files.",
        layers_picture(imports_between(LAYERS, ROOT)),
        "## The core",
        "`helmsman/` contains the pure code: values in, values out, no clock, disk, network, process, randomness or "
        "engine. A number is the number of files of a row that import from a column.",
        rooms_picture(rooms, imports_between(rooms, ROOT / CORE, f"{CORE}.")),
        table(("package", "content"), [(f"`{room}`", cell(about(ROOT / CORE / room / "__init__.py"))) for room in rooms]),
        "## One iteration",
        "A flow run of tasks, in this order. Each result is kept under (loop, iteration, attempt, step): after a crash a "
        "finished step is read, not repeated. Dashed steps run only if needed.",
        iteration_picture(steps_in_order()),
        "## States of a loop",
        "After an iteration the [table of decisions](reference/rules.md#decisions) sets what follows. State and records are in "
        "git, on `refs/helmsman/LOOP/state`, so a loop continues from where it stopped, on any machine that has fetched "
        "them: `helmsman resume` continues every loop except a completed one.",
        state_diagram(*loop_states(QUESTIONS)),
    )


# --- imports ------------------------------------------------------------------------------------------------------


def imports_between(names: Sequence[str], folder: Path, prefix: str = "") -> Counter[tuple[str, str]]:
    """Number of files of one folder that import from another."""
    found = Counter[tuple[str, str]]()
    for name in names:
        for path in sorted((folder / name).rglob("*.py")):
            found.update({(name, other) for other in _imported(path, names, prefix) if other != name})
    return found


def _imported(path: Path, names: Sequence[str], prefix: str) -> set[str]:
    modules = [node.module for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom) and node.module]
    modules += [alias.name for node in ast.walk(tree(path)) if isinstance(node, ast.Import) for alias in node.names]
    heads = {module.removeprefix(prefix).split(".")[0] for module in modules if module.startswith(prefix)}
    return heads & set(names)


def layers_picture(found: Mapping[tuple[str, str], int]) -> str:
    place = {name: at for at, name in enumerate(LAYERS)}
    ends = [(place[upper], place[lower], files) for (upper, lower), files in found.items()]
    parts = [part for name in LAYERS for part in _band(name, place[name])]
    far = sorted((end for end in ends if end[1] - end[0] > 1), key=lambda end: (end[1] - end[0], end[0]))
    parts += [part for at, end in enumerate(far, 1) for part in _past(*end, at)]
    parts += [part for first, last, files in ends if last - first == 1 for part in _next(first, files)]
    return picture("Layers and their imports", WIDE + LANE * (len(far) + 1), len(LAYERS) * (BAND + GAP) - GAP + 4, parts)


def _band(name: str, at: int) -> tuple[Markup, ...]:
    top = at * (BAND + GAP) + 2
    files = len(list((ROOT / name).rglob("*.py")))
    words = about(ROOT / name / "__init__.py").split(". ")[0].rstrip(".")
    return (
        box(2, top, WIDE - 4, BAND, ACCENT if name == CORE else GROUND),
        text(16, top + 24, f"{name}/", font_weight=600),
        text(WIDE - 16, top + 24, f"{files} files", look=FAINT, size=12, anchor="end"),
        text(16, top + 44, words, look=FAINT, size=12),
    )


def _next(at: int, files: int) -> tuple[Markup, Markup]:
    """Arrow to the layer right below."""
    top, x = at * (BAND + GAP) + 2 + BAND, 40
    return way(f"M{x},{top} L{x},{top + GAP}"), text(x + 10, top + GAP / 2 + 4, str(files), look=FAINT, size=11)


def _past(first: int, last: int, files: int, lane: int) -> tuple[Markup, Markup]:
    """Arrow around the layers in between."""
    start, end = (at * (BAND + GAP) + 2 + BAND / 2 + shift for at, shift in ((first, 3 * lane), (last, -3 * lane)))
    side, x = WIDE - 2, WIDE - 2 + LANE * lane
    curve = f"M{side},{start:.0f} C{x},{start:.0f} {x},{start:.0f} {x},{(start + end) / 2:.0f} S{x},{end:.0f} {side},{end:.0f}"
    return way(curve), text(x + 4, (start + end) / 2 + 4, str(files), look=FAINT, size=11)


def rooms_picture(rooms: Sequence[str], found: Mapping[tuple[str, str], int]) -> str:
    side, left, top = 46, 96, 84
    parts = [text(left - 8, top + at * side + 28, room, anchor="end") for at, room in enumerate(rooms)]
    for at, room in enumerate(rooms):
        x, y = left + at * side + 26, top - 10
        parts.append(text(x, y, room, transform=f"rotate(-45 {x} {y})"))
    most = max(found.values(), default=1)
    for row, upper in enumerate(rooms):
        for column, lower in enumerate(rooms):
            parts += _square(
                left + column * side, top + row * side, side, found.get((upper, lower), 0), most, itself=row == column
            )
    return picture("Imports between the packages of the core", left + side * len(rooms) + 60, top + side * len(rooms) + 4, parts)


def _square(x: float, y: float, side: float, files: int, most: int, *, itself: bool) -> Iterator[Markup]:
    look = "itself" if itself else "square"
    yield element("rect", x=x, y=y, width=side - 2, height=side - 2, rx=3, class_=look)
    if files:
        strength = f"{0.25 + 0.65 * files / most:.2f}"
        yield element("rect", x=x, y=y, width=side - 2, height=side - 2, rx=3, class_="strength", opacity=strength)
        yield text(x + side / 2 - 1, y + 28, str(files), anchor="middle", size=12)


# --- steps --------------------------------------------------------------------------------------------------------


def steps_in_order() -> list[tuple[str, str, bool]]:
    """Steps as flows/iteration.py calls them: name, description, and whether it always runs."""
    kinds = {node.name: node for node in tree(ROOT / "tasks" / "loop" / "steps.py").body if isinstance(node, ast.FunctionDef)}
    (flow,) = (node for node in tree(ROOT / "flows" / "iteration.py").body if isinstance(node, ast.FunctionDef))
    found: list[tuple[str, str, bool]] = []
    for statement in flow.body:
        chosen = any(isinstance(node, ast.IfExp) for node in ast.walk(statement))
        for name in (WRAPPED.get(name, name) for name in _steps_of(statement)):
            returned = ast.unparse(kinds[name].returns or ast.Constant(""))
            found.append((name, returned.removesuffix(" | None"), not (chosen or returned.endswith(" | None"))))
    return found


def _steps_of(statement: ast.stmt) -> Iterator[str]:
    found = [node for node in ast.walk(statement) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node.value, ast.Name) and node.value.id == "steps":
            yield node.attr


def iteration_picture(steps: Sequence[tuple[str, str, bool]]) -> str:
    row, left, wide = 44, 20, 150
    parts: list[Markup] = []
    for at, (name, result, always) in enumerate(steps):
        top = 4 + at * row
        parts += (box(left, top, wide, 30, GROUND if always else "due"), text(left + wide / 2, top + 20, name, anchor="middle"))
        parts.append(text(left + wide + 26, top + 20, result, look=FAINT, size=12))
        parts.append(way(f"M{left + wide},{top + 15} L{left + wide + 20},{top + 15}"))
        if at + 1 < len(steps):
            parts.append(way(f"M{left + wide / 2},{top + 30} L{left + wide / 2},{top + row}"))
    return picture("The steps of one iteration and what comes of each", 460, len(steps) * row, parts)


# --- outcomes -----------------------------------------------------------------------------------------------------


def loop_states(questions: Sequence[Question]) -> tuple[dict[str, str], list[Way]]:
    """States, and the transitions between them with the rules of the decision table."""
    pauses, works = WAYS["wait"], "works"
    states = {pauses: "timed wait", works: "running", **{outcome.value: outcome.value for outcome in Outcome}}
    pairs = [(goal, question.rule) for question in questions for goal in ways_of(question) if goal in states]
    ordered = sorted(pairs, key=lambda pair: list(states).index(pair[0]))
    ways = [
        (works, goal, ", ".join(f"`{rule}`" for _, rule in rules)) for goal, rules in groupby(ordered, key=lambda pair: pair[0])
    ]
    by_hand = (works, Outcome.CANCELLED.value, "`helmsman cancel`, the Prefect UI or a signal")
    back = (pauses, works, "the wait is over")
    return states, [*ways, by_hand, back]
