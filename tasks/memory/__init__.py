"""What outlives a loop: a SQLite file of this user's, or a PostgreSQL server of a team's.

`from tasks.memory import opening` costs nothing: the database library is brought in when a store is opened.
"""

from helmsman.memory.recall import Found
from tasks.memory.port import Change, Imported, Merged, Reads, Stats, Store, looking, opening

__all__ = ["Change", "Found", "Imported", "Merged", "Reads", "Stats", "Store", "looking", "opening"]
