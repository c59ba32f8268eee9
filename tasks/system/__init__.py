"""The operating system: processes, environment, files, secrets, keys."""
