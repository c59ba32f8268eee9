"""Prefect blocks: credentials that an operator configures once."""
