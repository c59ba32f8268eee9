"""`helmsman align`."""
