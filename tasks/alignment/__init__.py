"""Alignment: what nobody has said yet is found, asked for and written down before a loop starts."""
