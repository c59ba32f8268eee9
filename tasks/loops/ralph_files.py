"""Read what users of other loops bring along: `.ralphrc`, PROMPT.md with its promise, fix_plan.md, gulf-loop's alignment."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.layers import Layer, pairs
from helmsman.ralph import promises, read_rc
from helmsman.records.alignment import ALIGNMENT
from tasks.loops.config_files import flawed, read_text
from tasks.system.files import resolve_inside

RC = ".ralphrc"
GULF = ".claude/gulf-align.md"
PROMPTS = ".ralph/PROMPT.md", "PROMPT.md"
PLANS = "fix_plan.md", "@fix_plan.md"
"""Beside the prompt."""


def brought_layers(repository: Path) -> Iterator[Layer]:
    """What holds whoever gives the goal: each line of `.ralphrc`, and the alignment where there is none of ours."""
    rc = resolve_inside(repository, RC, RC)
    if rc.is_file():
        lines, flaws = read_rc(read_text(rc, "lines of KEY=value"))
        if flaws:
            raise flawed(rc, flaws, "change these lines, or move the file away")
        yield from (Layer(f"{RC} line {one.line} ({one.name})", one.values) for one in lines)
    if _is_there(repository, GULF) and not _is_there(repository, ALIGNMENT):
        yield Layer(GULF, {"alignment": GULF})


def prompt_layer(repository: Path, layers: Sequence[Layer]) -> list[Layer]:
    """Goal, promise and plan of a loop to which nobody else gives a goal."""
    said = {key for layer in layers for key, _ in pairs(layer.values)}
    name = "" if "goal" in said else next((name for name in PROMPTS if _is_there(repository, name)), "")
    if not name:
        return []
    path = resolve_inside(repository, name, name)
    text = read_text(path, "a prompt").strip()
    if not text:
        raise OperatorError(f"{path} is empty", remedy="write down what shall be true at the end, or give a goal")
    promise = {} if "completion.promise" in said else _promise(path, text)
    folder = name.removesuffix("PROMPT.md")
    plan = next((folder + plan for plan in PLANS if _is_there(repository, folder + plan)), "")
    return [Layer(name, {"goal": text, "completion": promise, "plan": {"file": plan} if plan else {}})]


def _promise(path: Path, text: str) -> dict[str, str]:
    found = promises(text)
    if len(found) > 1:
        said = ", ".join(f"{promise} in line {line}" for line, promise in found)
        remedy = "keep one, or say which: --completion-promise TEXT"
        raise OperatorError(f"{path} names several promises", expected="one", found=said, remedy=remedy)
    return {"promise": found[0][1]} if found else {}


def _is_there(repository: Path, name: str) -> bool:
    return resolve_inside(repository, name, name).is_file()
