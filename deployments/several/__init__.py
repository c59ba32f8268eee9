"""Several loops from the command line: one after the other, or at the same time."""
