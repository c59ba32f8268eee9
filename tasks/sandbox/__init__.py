"""The box that the agent and the checks run in: made, entered, and emptied afterwards."""
