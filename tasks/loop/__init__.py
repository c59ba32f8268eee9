"""One loop from start to finish: configuration, start, steps, merge and end."""
