"""What agents other than Claude Code print, folded into the same record: one reader for each format."""
