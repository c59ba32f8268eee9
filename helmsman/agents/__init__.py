"""Agents other than Claude Code: their files, their command lines, and what a loop does without what they lack."""
