"""Control inside a session of the agent: what it asks before a tool call and at its end."""
