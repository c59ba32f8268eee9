"""Triggers from outside that start loops: pushes and issues."""
