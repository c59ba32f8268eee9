"""A model's reading of instructions that rules found no contradiction in."""
