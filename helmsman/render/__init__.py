"""What people see of a loop: one set of facts, shown in a terminal, in the engine's UI, on a page of HTML, in an issue, as spans.

Here are the names that several packages use; what one place uses it takes from the module that is made for it. They are imported
when they are first asked for: a command that prints a line loads no templates.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helmsman.render.activity import Activity, LoggedEvent, after
    from helmsman.render.artifacts import pages_of
    from helmsman.render.gate import evidence, form_text, gate_lines
    from helmsman.render.issue import read_mark, understood
    from helmsman.render.lines import aligned_lines, explanation, iteration_lines, list_lines, next_lines
    from helmsman.render.report import html_report

__all__ = [
    "Activity",
    "LoggedEvent",
    "after",
    "aligned_lines",
    "evidence",
    "explanation",
    "form_text",
    "gate_lines",
    "html_report",
    "iteration_lines",
    "list_lines",
    "next_lines",
    "pages_of",
    "read_mark",
    "understood",
]
_MODULES = ("activity", "gate", "lines", "issue", "artifacts", "report")
"""Those that hold them, the light ones first."""

if not TYPE_CHECKING:  # or a checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name in __all__:
            for module in map(import_module, (f"{__name__}.{own}" for own in _MODULES)):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(name)
