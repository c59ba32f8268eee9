"""`helmsman memory`."""
