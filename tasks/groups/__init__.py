"""Groups of loops, run in sequence or in parallel."""
