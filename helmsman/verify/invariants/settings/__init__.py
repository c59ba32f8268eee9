"""Configuration of tools and checks, read as text: nothing of it is ever run."""
