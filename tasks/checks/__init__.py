"""Checks and tests on a commit: run, compared with the start, and judged."""
