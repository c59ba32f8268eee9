"""What the agent says of its work, and what of that the evidence contradicts."""
