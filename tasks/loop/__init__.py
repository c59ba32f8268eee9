"""One loop from start to merge: configured, opened, run step by step, merged and finished."""
