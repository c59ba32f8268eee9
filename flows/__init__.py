"""Prefect flows: orchestration only, no parsing and no I/O of their own."""
