"""Hats and presets: the built-in files, and finding a repository's own."""
