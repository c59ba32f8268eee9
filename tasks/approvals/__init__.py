"""Questions to people, and what they say."""
