"""The architecture page, generated from the source: imports, the order of steps, the decision table."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from helmsman.oversee.decide import QUESTIONS, Question
from helmsman.records.decision import Outcome
from tools.reference.markdown import ROOT, cell, module_docstring, page, parse, table
from tools.reference.markup import Markup, element
from tools.reference.results import CONTINUATIONS, possible_results
from tools.reference.states import Transition, state_diagram
from tools.reference.svg import ACCENT, FAINT, GROUND, arrow, box, svg_picture, text

LAYERS = ("deployments", "flows", "tasks", "blocks", "helmsman")
CORE = "helmsman"
STEP_NAMES = {"checking": "checks"}
"""Functions that the flow calls, and their step."""
BAND, GAP, WIDTH, LANE = 58, 26, 520, 30


def architecture_page() -> str:
    packages = sorted(path.name for path in (ROOT / CORE).iterdir() if (path / "__init__.py").exists())
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
        packages_picture(packages, imports_between(packages, ROOT / CORE, f"{CORE}.")),
        table(
            ("package", "content"),
            [(f"`{package}`", cell(module_docstring(ROOT / CORE / package / "__init__.py"))) for package in packages],
        ),
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
    counts = Counter[tuple[str, str]]()
    for name in names:
        for path in sorted((folder / name).rglob("*.py")):
            counts.update({(name, other) for other in _imported(path, names, prefix) if other != name})
    return counts


def _imported(path: Path, names: Sequence[str], prefix: str) -> set[str]:
    modules = [node.module for node in ast.walk(parse(path)) if isinstance(node, ast.ImportFrom) and node.module]
    modules += [alias.name for node in ast.walk(parse(path)) if isinstance(node, ast.Import) for alias in node.names]
    heads = {module.removeprefix(prefix).split(".")[0] for module in modules if module.startswith(prefix)}
    return heads & set(names)


def layers_picture(imports: Mapping[tuple[str, str], int]) -> str:
    row_of = {name: index for index, name in enumerate(LAYERS)}
    edges = [(row_of[upper], row_of[lower], files) for (upper, lower), files in imports.items()]
    parts = [part for name in LAYERS for part in _layer_box(name, row_of[name])]
    long_arrows = sorted((edge for edge in edges if edge[1] - edge[0] > 1), key=lambda edge: (edge[1] - edge[0], edge[0]))
    parts += [part for index, edge in enumerate(long_arrows, 1) for part in _arrow_around(*edge, index)]
    parts += [part for first, last, files in edges if last - first == 1 for part in _arrow_down(first, files)]
    return svg_picture(
        "Layers and their imports", WIDTH + LANE * (len(long_arrows) + 1), len(LAYERS) * (BAND + GAP) - GAP + 4, parts
    )


def _layer_box(name: str, index: int) -> tuple[Markup, ...]:
    top = index * (BAND + GAP) + 2
    files = len(list((ROOT / name).rglob("*.py")))
    summary = module_docstring(ROOT / name / "__init__.py").split(". ")[0].rstrip(".")
    return (
        box(2, top, WIDTH - 4, BAND, ACCENT if name == CORE else GROUND),
        text(16, top + 24, f"{name}/", font_weight=600),
        text(WIDTH - 16, top + 24, f"{files} files", css_class=FAINT, size=12, anchor="end"),
        text(16, top + 44, summary, css_class=FAINT, size=12),
    )


def _arrow_down(at: int, files: int) -> tuple[Markup, Markup]:
    """Arrow to the layer right below."""
    top, x = at * (BAND + GAP) + 2 + BAND, 40
    return arrow(f"M{x},{top} L{x},{top + GAP}"), text(x + 10, top + GAP / 2 + 4, str(files), css_class=FAINT, size=11)


def _arrow_around(first: int, last: int, files: int, lane: int) -> tuple[Markup, Markup]:
    """Arrow around the layers in between."""
    start, end = (at * (BAND + GAP) + 2 + BAND / 2 + shift for at, shift in ((first, 3 * lane), (last, -3 * lane)))
    side, x = WIDTH - 2, WIDTH - 2 + LANE * lane
    curve = f"M{side},{start:.0f} C{x},{start:.0f} {x},{start:.0f} {x},{(start + end) / 2:.0f} S{x},{end:.0f} {side},{end:.0f}"
    return arrow(curve), text(x + 4, (start + end) / 2 + 4, str(files), css_class=FAINT, size=11)


def packages_picture(packages: Sequence[str], imports: Mapping[tuple[str, str], int]) -> str:
    side, left, top = 46, 96, 84
    parts = [text(left - 8, top + index * side + 28, package, anchor="end") for index, package in enumerate(packages)]
    for index, package in enumerate(packages):
        x, y = left + index * side + 26, top - 10
        parts.append(text(x, y, package, transform=f"rotate(-45 {x} {y})"))
    max_files = max(imports.values(), default=1)
    for row, upper in enumerate(packages):
        for column, lower in enumerate(packages):
            parts += _cell(
                left + column * side, top + row * side, side, imports.get((upper, lower), 0), max_files, is_diagonal=row == column
            )
    return svg_picture(
        "Imports between the packages of the core", left + side * len(packages) + 60, top + side * len(packages) + 4, parts
    )


def _cell(x: float, y: float, side: float, files: int, max_files: int, *, is_diagonal: bool) -> Iterator[Markup]:
    css_class = "itself" if is_diagonal else "square"
    yield element("rect", x=x, y=y, width=side - 2, height=side - 2, rx=3, class_=css_class)
    if files:
        strength = f"{0.25 + 0.65 * files / max_files:.2f}"
        yield element("rect", x=x, y=y, width=side - 2, height=side - 2, rx=3, class_="strength", opacity=strength)
        yield text(x + side / 2 - 1, y + 28, str(files), anchor="middle", size=12)


# --- steps --------------------------------------------------------------------------------------------------------


def steps_in_order() -> list[tuple[str, str, bool]]:
    """Steps as flows/iteration.py calls them: name, description, and whether it always runs."""
    functions = {
        node.name: node for node in parse(ROOT / "tasks" / "loop" / "steps.py").body if isinstance(node, ast.FunctionDef)
    }
    (flow,) = (node for node in parse(ROOT / "flows" / "iteration.py").body if isinstance(node, ast.FunctionDef))
    steps: list[tuple[str, str, bool]] = []
    for statement in flow.body:
        is_conditional = any(isinstance(node, ast.IfExp) for node in ast.walk(statement))
        for name in (STEP_NAMES.get(name, name) for name in _steps_of(statement)):
            returned = ast.unparse(functions[name].returns or ast.Constant(""))
            steps.append((name, returned.removesuffix(" | None"), not (is_conditional or returned.endswith(" | None"))))
    return steps


def _steps_of(statement: ast.stmt) -> Iterator[str]:
    attributes = [node for node in ast.walk(statement) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    for node in sorted(attributes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node.value, ast.Name) and node.value.id == "steps":
            yield node.attr


def iteration_picture(steps: Sequence[tuple[str, str, bool]]) -> str:
    row, left, width = 44, 20, 150
    parts: list[Markup] = []
    for index, (name, result, is_required) in enumerate(steps):
        top = 4 + index * row
        parts += (
            box(left, top, width, 30, GROUND if is_required else "due"),
            text(left + width / 2, top + 20, name, anchor="middle"),
        )
        parts.append(text(left + width + 26, top + 20, result, css_class=FAINT, size=12))
        parts.append(arrow(f"M{left + width},{top + 15} L{left + width + 20},{top + 15}"))
        if index + 1 < len(steps):
            parts.append(arrow(f"M{left + width / 2},{top + 30} L{left + width / 2},{top + row}"))
    return svg_picture("The steps of one iteration and what comes of each", 460, len(steps) * row, parts)


# --- outcomes -----------------------------------------------------------------------------------------------------


def loop_states(questions: Sequence[Question]) -> tuple[dict[str, str], list[Transition]]:
    """States, and the transitions between them with the rules of the decision table."""
    waiting, running = CONTINUATIONS["wait"], "works"
    states = {waiting: "timed wait", running: "running", **{outcome.value: outcome.value for outcome in Outcome}}
    pairs = [(target, question.rule) for question in questions for target in possible_results(question) if target in states]
    ordered = sorted(pairs, key=lambda pair: list(states).index(pair[0]))
    transitions = [
        (running, target, ", ".join(f"`{rule}`" for _, rule in rules))
        for target, rules in groupby(ordered, key=lambda pair: pair[0])
    ]
    cancelled = (running, Outcome.CANCELLED.value, "`helmsman cancel`, the Prefect UI or a signal")
    resumed = (waiting, running, "the wait is over")
    return states, [*transitions, cancelled, resumed]
