"""Data types: frozen, versioned, JSON. Only these cross a task boundary or are stored."""
