"""Agents: which ones there are, and how one is called for an iteration."""
