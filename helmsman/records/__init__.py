"""The nouns: frozen, versioned, JSON. The only things that cross a task boundary or are stored."""
