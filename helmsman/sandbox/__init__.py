"""The sandbox of the agent and the checks: its pure part, without access to the system."""
