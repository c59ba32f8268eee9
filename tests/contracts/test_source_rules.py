"""Rules for the source that no linter knows: pure core, short files, names that hide no library, uniform steps and commands."""

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions
from inspect import signature

import pytest

from deployments.cli import COMMANDS, Command
from deployments.options import OPTIONS
from tests.contracts.source import PACKAGES, ROOT, modules, named, tree

ACTS = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}
"""Built-in functions that do I/O or run code."""
CLOCKS = {"now", "utcnow", "today"}
DATES = {"datetime", "date"}


def impurities(module: ast.Module) -> list[str]:
    return [found for node in ast.walk(module) for found in _impurities_of(node)]


def _impurities_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in ACTS:
        yield f"line {node.lineno}: {node.id}"
    if isinstance(node, ast.Attribute) and node.attr in CLOCKS and _last_name(node.value) in DATES:
        yield f"line {node.lineno}: {ast.unparse(node)}, where a clock is read; take `now` as an argument"


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def test_the_core_reads_no_clock_and_touches_no_disk_or_screen() -> None:
    assert [f"{named(path)}, {found}" for path in modules("helmsman") for found in impurities(tree(path))] == []


@pytest.mark.parametrize(
    "line",
    [
        "now = datetime.datetime.utcnow()",
        "day = date.today()",
        "at: datetime = Field(default_factory=datetime.now)",
        "show = print",
    ],
)
def test_an_impure_line_is_found(line: str) -> None:
    assert impurities(ast.parse(line))


@pytest.mark.parametrize("line", ["late = now > state.now", "situation.now.isoformat()", "when = datetime(2026, 1, 1)"])
def test_a_time_passed_as_an_argument_is_pure(line: str) -> None:
    assert impurities(ast.parse(line)) == []


# --- What fits on a few screens is read; what does not is scrolled past ---

LONGEST_FILE = 400
LONGEST_FUNCTION = 50
ARGUED: dict[str, str] = {}
"""`folder/file.py` or `folder/file.py:function`, and why it may be longer."""


def long_functions(module: ast.Module) -> list[str]:
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node.name for node in functions if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION]


def test_files_and_functions_are_short() -> None:
    every = modules(*PACKAGES, "tests", "tools", "bench")
    files = [named(path) for path in every if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE]
    functions = [f"{named(path)}:{name}" for path in every for name in long_functions(tree(path))]
    assert [name for name in files + functions if name not in ARGUED] == []


def test_a_long_function_is_found_wherever_it_hides() -> None:
    fits = "".join(f"        step({n})\n" for n in range(LONGEST_FUNCTION - 1))
    assert long_functions(ast.parse(f"class Room:\n    def fits(self):\n{fits}")) == []
    assert long_functions(ast.parse(f"class Room:\n    async def long(self):\n{fits}        step()\n")) == ["long"]


# --- No file is named like a library that it could hide ---

NAMES_ALLOWED = {
    "tasks/repository/git.py": "GitPython is `git` too; nothing in tasks/ is ever loaded by path, and no other name says it",
    "helmsman/guardrails/git.py": "what the rules are about; nothing in helmsman/ is ever loaded by path",
    "tasks/system/secrets.py": "what it is about; nothing in tasks/ is ever loaded by path",
}


def test_no_module_hides_a_library() -> None:
    libraries = sys.stdlib_module_names | packages_distributions().keys()
    hiding = {named(path) for path in modules(*PACKAGES) if path.stem in libraries and path.stem != "__init__"}
    assert hiding <= NAMES_ALLOWED.keys()


def test_no_flow_is_an_exception_because_flows_are_loaded_by_path() -> None:
    assert not [name for name in NAMES_ALLOWED if name.startswith("flows/")]


def test_our_packages_are_named_like_no_library() -> None:
    ours = {"deployments", "flows", "tasks", "blocks"}
    assert not ours & (sys.stdlib_module_names | packages_distributions().keys())


def test_every_folder_is_a_regular_package() -> None:
    """A folder without `__init__.py` is overtaken by any other of that name that has one."""
    folders = {path.parent for path in modules(*PACKAGES)}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


# --- The steps of an iteration. Each takes where it works and the state of its loop: key and run name are made from that ---

KEYS = {"by_step", "by_tree", "by_verification"}


def steps() -> dict[str, ast.FunctionDef]:
    """Functions of tasks/loop/steps.py that are made into tasks, by name."""
    return {name: function for name, function in _functions().items() if _key(function)}


def _functions() -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree(ROOT / "tasks" / "loop" / "steps.py").body if isinstance(node, ast.FunctionDef)}


def _key(function: ast.FunctionDef) -> str:
    """`by_step` of `@step(by_step)`; nothing for a function that is no step."""
    calls = [decorator for decorator in function.decorator_list if isinstance(decorator, ast.Call)]
    return next((ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "step"), "")


def test_a_step_takes_context_and_state_first() -> None:
    first_two = {name: [argument.arg for argument in step.args.args][:2] for name, step in steps().items()}
    assert {name: two for name, two in first_two.items() if two != ["context", "state"]} == {}


def test_every_step_has_a_key_by_value() -> None:
    assert {_key(step) for step in steps().values()} == KEYS


def test_a_task_is_made_in_one_way_only() -> None:
    decorated = {name for name, function in _functions().items() if function.decorator_list}
    assert decorated == steps().keys()


# --- The table of commands names functions; that each is there, and takes what its command gives it, no type checker sees ---


def mistakes(row: Command) -> list[str]:
    """What would go wrong when the command is called."""
    module, _, name = row.does.partition(":")
    unknown = [option for option in row.parameters.values() if option not in OPTIONS]
    try:
        signature(getattr(import_module(f"deployments.{module}"), name)).bind(**dict.fromkeys(row.parameters))
    except TypeError as error:
        return [*unknown, str(error)]
    return unknown


def test_the_function_of_each_command_takes_what_its_options_give() -> None:
    assert {words: found for words, row in COMMANDS.items() if (found := mistakes(row))} == {}


def test_an_option_that_is_unknown_or_that_no_function_takes_would_be_noticed() -> None:
    assert mistakes(Command("trust:trust", "repo yes forget=revoke as_json", "")) == []
    found = mistakes(Command("trust:trust", "repo yes forget=nonesuch", ""))
    assert found == ["nonesuch", "missing a required argument: 'as_json'"]
