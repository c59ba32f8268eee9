"""Parsers of external text: other packages receive records."""
