"""Output for people: one set of facts, rendered in a terminal, in the engine's UI, on a page, in an issue and as spans."""
