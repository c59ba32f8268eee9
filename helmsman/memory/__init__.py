"""What is worth keeping? Extraction, merging, promotion, recall, guardrails, estimates, and what one loop hands to the next."""
