"""What starts loops from outside: pushes, issues, and the pull request that answers one."""
