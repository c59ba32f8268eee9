"""What a person asks of a store and no loop does: questions across all projects."""

from sqlalchemy import select

from tasks.memory import tables
from tasks.memory.store import OpenStore


def guarded_projects(store: OpenStore) -> list[str]:
    """Projects that have guardrails, be they retired."""
    with store.reading() as connection:
        return list(connection.scalars(select(tables.guardrails.c.project).distinct().order_by(tables.guardrails.c.project)))


def learning_loops(store: OpenStore) -> list[str]:
    """Loops of which an iteration is kept that noted a level of learning, by their uids."""
    found = tables.episodes.c
    noted = found.body.not_like('%"learning":[]%')  # in a text of the record, the quotation marks have a backslash before them
    with store.reading() as connection:
        return list(connection.scalars(select(found.uid).where(noted).distinct().order_by(found.uid)))
