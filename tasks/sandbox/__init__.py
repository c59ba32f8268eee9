"""The sandbox that the agent and the checks run in."""
