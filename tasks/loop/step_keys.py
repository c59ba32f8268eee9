"""The keys under which the results of steps are kept, by value: see `tasks.engine.step`."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from prefect.context import TaskRunContext

from helmsman.config import CheckConfig, LoopConfig
from helmsman.records.state import LoopState
from helmsman.verify.completion import required_tests
from tasks.engine.results import step_key

Inputs = dict[str, Any]
"""A step's arguments by name."""


def by_step(run: TaskRunContext, inputs: Inputs) -> str:
    """The key of a step's result, by value. Its fields, argued.

    uid          two repositories may have loops of one name
    iteration    the loop does the same steps again and again
    attempt      an attempt whose agent call died is done anew, with another prompt
    step         two steps of one iteration may have equal arguments
    """
    return step_key(inputs["state"], run.task.name)


def by_commit(run: TaskRunContext, inputs: Inputs) -> str:
    """The key of what is found out of one commit in one attempt: files of the operator's may be others by the next."""
    return f"{step_key(inputs['state'], run.task.name)}-{inputs['commit']}"


def by_item(_run: TaskRunContext, inputs: Inputs) -> str | None:
    """The key of what a plan item's own check said: by the tree, as with the loop's checks, by the command and where it ran."""
    workspace = inputs["state"].config.workspace
    command = _hashed(repr((inputs["item"].check, workspace.clean, workspace.setup)))
    return _by_tree(inputs, f"item-{command}")


def by_tree(_run: TaskRunContext, inputs: Inputs) -> str | None:
    """The key of a check report: a tree that was checked already is not checked again, in whichever iteration."""
    return _by_tree(inputs, checks_fingerprint(inputs["state"].config))


def by_trusted(_run: TaskRunContext, inputs: Inputs) -> str | None:
    """The key of what the checks said of a tree with the tests that the loop began with: by the tree, the checks, the patterns.

    checks       those of the configuration and, in their report, the own check of the plan's item in hand
    """
    return _by_tree(inputs, f"tests-{trusted_fingerprint(inputs['state'], inputs['checks'])}")


def by_start(_run: TaskRunContext, inputs: Inputs) -> str | None:
    """The key of what the work's tests say on the source of the start, and of calls and mutants of the work.

    By both trees, by the checks, by whether they ran, and by what else is looked at.
    """
    state, ran = inputs["state"], "run" if inputs["run"] else "look"
    proof = state.config.proof
    ran += f"-{proof.mutants}" if proof.mutants else "" if proof.neighbours else "-alone"
    return _by_tree(inputs, f"start-{ran}-{state.base_commit}-{checks_fingerprint(state.config)}")


def _by_tree(inputs: Inputs, what: str) -> str | None:
    """None where processes of the agent ran beside the checks: what those say then holds for no other iteration."""
    if "execution" in inputs and inputs["execution"].call.survivors:
        return None
    tree = inputs["tree"] if "tree" in inputs else inputs["execution"].change.tree
    return f"helmsman-{inputs['state'].uid}-{what}-{tree}"


def checks_fingerprint(config: LoopConfig) -> str:
    """Changes when any check does, or what is looked for in it: a report speaks only for what made it."""
    asked = [[check.model_dump(mode="json") for check in config.checks], required_tests(config), config.flaky.model_dump()]
    return _hashed(json.dumps([*asked, [config.workspace.clean, config.workspace.setup]], sort_keys=True))


def trusted_fingerprint(state: LoopState, checks: Sequence[CheckConfig]) -> str:
    """Changes when any of these checks does, or what is kept as it was, or since when."""
    kept = state.config.invariants.model_dump(mode="json", include={"protect", "trusted", "allow"})
    where = [state.config.workspace.clean, state.config.workspace.setup]
    asked = [[check.model_dump(mode="json") for check in checks], kept, state.base_commit, state.config.flaky.model_dump(), where]
    return _hashed(json.dumps(asked, sort_keys=True))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
