"""Hats and presets: the files that come with Helmsman, and how those of a repository are found."""
