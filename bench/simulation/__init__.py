"""Simulated agents, the small repositories that they work in, and the baselines that control is compared with."""
