"""The agent's own tools that deal with files, by the names that its CLI gives them."""

WRITERS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""Tools that write a file, and the argument that names it."""
READERS = {"Read": "file_path"}
"""Tools that read one, likewise."""
