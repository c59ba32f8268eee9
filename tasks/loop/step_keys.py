"""The keys under which the results of steps are kept, by value: see `steps`."""

import hashlib
from dataclasses import dataclass
from typing import Any

from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext

from helmsman.records.state import LoopState
from tasks.engine.results import step_key
from tasks.loop import working


@dataclass
class StepKey(CachePolicy):
    """The key of a step's result, by value. Its fields, argued.

    uid          two repositories may have loops of one name
    iteration    the loop does the same steps again and again
    attempt      an attempt whose agent call died is done anew, with another prompt
    step         two steps of one iteration may have equal arguments
    """

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any
    ) -> str | None:
        state: LoopState = inputs["state"]
        return step_key(state, task_ctx.task.name)


@dataclass
class CommitKey(CachePolicy):
    """The key of what is found out of one commit in one attempt: files of the operator's may be others by the next."""

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any
    ) -> str | None:
        return f"{step_key(inputs['state'], task_ctx.task.name)}-{inputs['commit']}"


@dataclass
class ItemKey(CachePolicy):
    """The key of what a plan item's own check said: by the tree, as with the loop's checks, by the command and where it ran."""

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any
    ) -> str | None:
        state: LoopState = inputs["state"]
        if _spoilt(inputs):
            return None
        workspace = state.config.workspace
        asked = repr((inputs["item"].check, workspace.clean, workspace.setup))
        command = hashlib.sha256(asked.encode()).hexdigest()[:16]
        return f"helmsman-{state.uid}-item-{command}-{inputs['execution'].change.tree}"


@dataclass
class TreeKey(CachePolicy):
    """The key of a check report: a tree that was checked already is not checked again, in whichever iteration."""

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any
    ) -> str | None:
        if _spoilt(inputs):
            return None
        state = inputs["state"]
        tree = inputs["tree"] if "tree" in inputs else inputs["execution"].change.tree
        return f"helmsman-{state.uid}-{working.checks_fingerprint(state.config)}-{tree}"


@dataclass
class TrustedKey(CachePolicy):
    """The key of what the checks said of a tree with the tests that the loop began with: by the tree, the checks, the patterns.

    checks       those of the configuration and, in their report, the own check of the plan's item in hand
    """

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any
    ) -> str | None:
        if _spoilt(inputs):
            return None
        state, checks = inputs["state"], working.trusted_fingerprint(inputs["state"], inputs["checks"])
        what = "tests" if inputs["tests"] else "trusted"
        return f"helmsman-{state.uid}-{what}-{checks}-{inputs['execution'].change.tree}"


@dataclass
class StartKey(CachePolicy):
    """The key of what the work's tests say on the source of the start, and of calls and mutants of the work.

    By both trees, by the checks, by whether they ran, and by what else is looked at.
    """

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **_: Any
    ) -> str | None:
        if _spoilt(inputs):
            return None
        state, tree, ran = inputs["state"], inputs["execution"].change.tree, "run" if inputs["run"] else "look"
        proof = state.config.proof
        ran += f"-{proof.mutants}" if proof.mutants else "" if proof.neighbours else "-alone"
        start = f"{state.base_commit}-{working.checks_fingerprint(state.config)}"
        return f"helmsman-{state.uid}-start-{ran}-{start}-{tree}"


def _spoilt(inputs: dict[str, Any]) -> bool:
    """Whether processes of the agent ran beside the checks: what those say then holds for no other iteration."""
    return "execution" in inputs and bool(inputs["execution"].call.survivors)
