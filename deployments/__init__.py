"""Entry points: the command line, the demo, deployments."""
