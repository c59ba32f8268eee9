"""Orders that cannot both be followed: found in texts, and held against what the loop does."""
