"""Prefect's server and its runs, as they are used here."""
