"""What shall the agent be told? Facts in, a briefing out."""
