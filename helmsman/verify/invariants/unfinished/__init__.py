"""Bodies that are not written yet."""
