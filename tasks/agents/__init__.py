"""Agents: which there are, one call for an iteration, and how it is steered while it runs."""
