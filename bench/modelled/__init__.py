"""Modelled agents, the small repositories that they work in, and the rules that watch them."""
