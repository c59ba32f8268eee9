"""Content of the prompt: facts in, a briefing out."""
