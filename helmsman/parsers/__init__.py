"""Text from outside, read once: packages above receive records."""
