"""The tables as queries name them. What makes them is in schema.py: steps that were taken once are never written anew."""

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, Table, Text

metadata = MetaData()

versions = Table("helmsman_memory", metadata, Column("name", Text, primary_key=True), Column("value", Text))
"""Facts about the store itself."""
lessons = Table(
    "helmsman_lessons",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("id", Text),
    Column("kind", Text),
    Column("tier", Text),
    Column("project", Text),
    Column("task_type", Text),
    Column("retired", Boolean),
    Column("updated_at", BigInteger),
    Column("words", Text),  # what the index holds of it
    Column("body", Text),
)
words = Table(
    "helmsman_words",
    metadata,
    Column("word", Text, primary_key=True),
    Column("tier", Text, primary_key=True),
    Column("lessons", Integer),
)
"""How many lessons of a tier hold a word: rare ones tell most. The empty word counts all lessons that can be found."""
guardrails = Table(
    "helmsman_guardrails",
    metadata,
    Column("id", Text, primary_key=True),
    Column("project", Text),
    Column("retired", Boolean),
    Column("created_at", BigInteger),
    Column("body", Text),
)
episodes = Table(
    "helmsman_episodes",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("uid", Text),
    Column("iteration", Integer),
    Column("attempt", Integer),
    Column("project", Text),
    Column("checked", Boolean),
    Column("body", Text),
)
failures = Table(
    "helmsman_failures",
    metadata,
    Column("project", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("episode", BigInteger, primary_key=True),
)
"""Which checked iterations saw a class of failure."""
summaries = Table(
    "helmsman_summaries",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("uid", Text),
    Column("project", Text),
    Column("task_type", Text),
    Column("ended_at", BigInteger),
    Column("body", Text),
)
