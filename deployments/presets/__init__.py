"""`helmsman presets`."""
