"""Proven work on its way into another branch."""
