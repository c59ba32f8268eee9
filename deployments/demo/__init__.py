"""A loop to watch without an account: a scripted model that the real agent talks to."""
