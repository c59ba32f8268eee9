"""Test files that only gain tests: whether nothing else differs, and the same file with nothing in its new tests.

Where the goal asks for tests, a check that counts them or measures what they cover may fail without the new ones.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from helmsman.parsers.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_IMPORT = re.compile(r"(?:from\s+[\w.]+\s+)?import\s+[\w.,*\s]+;?")
_AFTER = re.compile(rb"[\s;,)]*")  # what may follow a test on its last line
_CLASS = re.compile(r"\s*class \w+(?:\([\w., ]*\))?:")


def only_adds_tests(start: Source, head: Source) -> bool:
    """Whether a file has all lines of the start in their order, and besides them only tests, classes of tests and imports."""
    new = {row for node, _ in _new_nodes(start, head) for row in _rows(node)}
    before = [line for line in start.text.split("\n") if line.strip()]
    kept = (line for row, line in enumerate(head.text.split("\n")) if row not in new and line.strip())
    return bool(new) and [line for line in kept if line in before or not _IMPORT.fullmatch(line.strip())] == before


def with_empty_tests(start: Source, head: Source) -> str:
    """Return the start's text with the new tests of such a file, and nothing in them; empty if not known how. Python only."""
    nodes = [*_new_nodes(start, head)]
    new, names = {row for node, _ in nodes for row in _rows(node)}, {node.start_point.row: name for node, name in nodes}
    before, written = set(start.text.split("\n")), list[str]()
    for row, line in enumerate(head.text.split("\n")):
        if names.get(row):
            written.append(f"{line[: len(line) - len(line.lstrip())]}def {names[row]}(*_): pass")
        elif row in names and not _CLASS.fullmatch(line):
            return ""
        elif row in names or (row not in new and line in before):
            written.append(line)
    return "\n".join(written) if nodes and head.language == "python" else ""


def _rows(node: "Node") -> range:
    return range(node.start_point.row, node.end_point.row + 1)


def _new_nodes(start: Source, head: Source) -> Iterator[tuple["Node", str]]:
    """Yield the nodes of tests with their own names, and of suites without tests of the start.

    Only if they have their lines for themselves.
    """
    known, lines = {test.name for test in start.tests}, head.text.encode(errors="replace").split(b"\n")
    old, new = dict[int, str](), dict[int, str]()
    for test in head.tests:
        (old if test.name in known else new)[test.line - 1] = test.bare_name
    suites = head.nodes("suite")
    for node in (*suites, *head.nodes("test")):
        outer = node.parent if node.parent and node.parent.type == "decorated_definition" else node
        first, last, rows = outer.start_point, outer.end_point, _rows(outer)
        is_alone = not lines[first.row][: first.column].strip() and _AFTER.fullmatch(lines[last.row][last.column :])
        if is_alone and not any(row in rows for row in old) and any(row in rows for row in new):
            yield outer, "" if node in suites else new[node.start_point.row]
