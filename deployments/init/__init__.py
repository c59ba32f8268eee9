"""`helmsman init`."""
