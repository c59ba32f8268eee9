"""How many tokens a text is, near enough for an allowance: no model's own tokenizer is asked."""

CHARACTERS_PER_TOKEN = 4
"""The common rule of thumb for English and code."""


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
