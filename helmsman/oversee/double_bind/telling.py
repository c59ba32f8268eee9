"""A contradiction in words, for the person who has to choose."""

from helmsman.records.oversight import Conflict


def sentence(conflict: Conflict) -> str:
    """Who says so, what about, and both orders with their places."""
    reader = "as a model reads it, " if conflict.by == "model" else ""
    first, second = (f"{order.place} says {order.text!r}" for order in (conflict.first, conflict.second))
    return f"{reader}about {conflict.about}, {first} and {second}"
