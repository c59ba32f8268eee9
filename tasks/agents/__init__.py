"""Agents: their definitions, one call per iteration, and steering of a running call."""
