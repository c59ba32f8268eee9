"""Comparisons that always hold, and runs that end before they began."""
