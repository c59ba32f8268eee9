"""Which store is meant."""

from tasks.processes.environment import ours

URL = "HELMSMAN_MEMORY_URL"
"""Wins over memory.url, and may hold a password."""


def chosen_url(configured: str) -> str:
    """Where the memory is, given what the configuration says; empty: in this user's own file."""
    return ours().get(URL) or configured
