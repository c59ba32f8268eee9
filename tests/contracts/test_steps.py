"""The steps of an iteration. Each takes where it works and the state of its loop: key and run name are made from that."""

import ast

from tests.contracts.source import ROOT, tree

KEYS = {"by_step", "by_tree"}


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
