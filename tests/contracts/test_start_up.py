"""Prefect takes seconds to import. Few files do it, and a command imports those only when a loop is to run."""

import subprocess
import sys
from collections.abc import Iterable

import pytest

from tests.contracts.source import PACKAGES, ROOT, dotted, imports, modules, tree

KNOW_PREFECT = (
    "blocks.claude",
    "blocks.judge",
    "blocks.tracker",
    "deployments.deploy",
    "flows.align",
    "flows.chain",
    "flows.iteration",
    "flows.loop",
    "flows.on_issue",
    "flows.on_push",
    "flows.parallel",
    "flows.sweep",
    "tasks.alignment.run",
    "tasks.approvals.pause",
    "tasks.credentials",
    "tasks.engine.runs",
    "tasks.engine.step",
    "tasks.groups.members",
    "tasks.loop.run",
    "tasks.loop.steps",
    "tasks.loop.sweep",
    "tasks.observers.artifacts",
    "tasks.trackers.notify",
    "tasks.triggers.push_runs",
)
"""The only modules that import Prefect."""
BRING_IT_IN = (
    "tasks.approvals.ask",
    "tasks.loop.finish",
)
"""Modules that import one of those."""
HEAVY = ("prefect", "pydantic", "git", "httpx", "sqlalchemy", "yaml", "psutil", "opentelemetry")

FIRST_CULPRIT = """
import importlib, sys
heavy, *modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
    if set(heavy.split(",")) & set(sys.modules):
        sys.exit(f"{module} imports one of {heavy}")
"""


def complaint(heavy: Iterable[str], *imported: str) -> str:
    """Which of these modules, imported one after the other, was the first to bring in something heavy."""
    command = [sys.executable, "-c", FIRST_CULPRIT, ",".join(heavy), *imported]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stderr


def test_only_the_files_that_speak_with_the_engine_import_prefect() -> None:
    found = [dotted(path) for path in modules(*PACKAGES) if any(name.split(".")[0] == "prefect" for name in imports(tree(path)))]
    assert sorted(found) == sorted(KNOW_PREFECT)


@pytest.mark.feature("H6")
def test_only_the_file_that_is_loaded_where_an_exporter_is_configured_imports_opentelemetry() -> None:
    """It is an extra: everybody else has to do without it."""
    known = ((dotted(path), imports(tree(path))) for path in modules(*PACKAGES))
    found = {
        name for name, used in known if any(one.startswith(("opentelemetry", "tasks.observers.telemetry_sdk")) for one in used)
    }
    assert found == {"tasks.observers.telemetry_sdk", "tasks.observers.telemetry"}
    assert complaint(["opentelemetry"], "tasks.observers.telemetry") == ""


def test_importing_any_other_file_does_not_bring_prefect_in() -> None:
    others = [name for path in modules(*PACKAGES) if (name := dotted(path)) not in (*KNOW_PREFECT, *BRING_IT_IN)]
    assert "deployments.cli" in others
    assert complaint(["prefect"], *others) == ""


def test_the_command_line_itself_imports_nothing_heavy() -> None:
    assert complaint(HEAVY, "deployments.cli") == ""


def test_a_file_that_brings_something_heavy_in_is_named() -> None:
    assert (
        complaint(["git", "psutil"], "helmsman.errors", "tasks.system.process")
        == "tasks.system.process imports one of git,psutil\n"
    )
