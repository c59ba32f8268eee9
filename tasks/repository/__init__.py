"""What is read from git and written to it, without a folder to work in."""
