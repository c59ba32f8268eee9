"""Aligning: what nobody has said yet is found out, asked for and written down before a loop begins."""
