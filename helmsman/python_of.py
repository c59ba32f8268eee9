"""Python that somebody else wrote, as a tree: never run, and what the parser thinks of its style is nobody's matter here."""

import ast
import warnings


def python_of(text: str) -> ast.Module | None:
    """None where it is no Python that can be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a hostile text makes the parser warn of would reach the operator's terminal
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
