"""No file is named like a library that it could hide.

Whoever loads a file by path (Prefect a flow, Python a script) puts its folder first on the import path, and leaves it there.
"""

import sys
from importlib.metadata import packages_distributions

from tests.contracts.source import PACKAGES, modules, named

ARGUED = {
    "tasks/repository/git.py": "GitPython is `git` too; nothing in tasks/ is ever loaded by path, and no other name says it",
    "helmsman/guardrails/git.py": "what the rules are about; nothing in helmsman/ is ever loaded by path",
    "tasks/system/secrets.py": "what it is about; nothing in tasks/ is ever loaded by path",
}


def test_no_module_hides_a_library() -> None:
    libraries = sys.stdlib_module_names | packages_distributions().keys()
    hiding = {named(path) for path in modules(*PACKAGES) if path.stem in libraries and path.stem != "__init__"}
    assert hiding <= ARGUED.keys()


def test_no_flow_is_excused_because_flows_are_what_is_loaded_by_path() -> None:
    assert not [name for name in ARGUED if name.startswith("flows/")]


def test_our_packages_are_named_like_no_library() -> None:
    ours = {"deployments", "flows", "tasks", "blocks"}
    assert not ours & (sys.stdlib_module_names | packages_distributions().keys())


def test_every_folder_is_a_regular_package() -> None:
    """A folder without `__init__.py` is overtaken by any other of that name that has one."""
    folders = {path.parent for path in modules(*PACKAGES)}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
