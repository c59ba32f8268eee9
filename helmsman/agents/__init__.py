"""Agents other than Claude Code: their files, their command lines, and their missing capabilities."""
