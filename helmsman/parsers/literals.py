"""What the readers of literals in trees have in common."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node


class NoLiteral(ValueError):  # noqa: N818 - what was found, as in Late
    """What stands there is not known before it runs."""


def text_of(node: "Node | None") -> str:
    return node.text.decode(errors="replace") if node and node.text else ""


def unknown(node: "Node") -> Any:
    raise NoLiteral(text_of(node))
