"""How a loop gets started: the command line, the demo, deployments."""
