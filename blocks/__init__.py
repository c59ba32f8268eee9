"""Prefect blocks: what an operator configures once."""
