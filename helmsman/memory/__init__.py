"""Memory across loops: extraction, merging, promotion, recall, guardrails, estimates and handoffs."""
