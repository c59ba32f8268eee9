"""`helmsman doctor`."""
