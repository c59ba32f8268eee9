"""Several loops: one after the other, or side by side."""
