"""Asking a model: the judge, and whatever else a model writes for the loop."""
