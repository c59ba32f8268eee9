"""The box that the agent and the checks run in, as far as it can be known without looking."""
