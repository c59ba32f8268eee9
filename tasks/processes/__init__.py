"""What a command of ours is run with: bounded in time and memory, and nothing of it survives."""
