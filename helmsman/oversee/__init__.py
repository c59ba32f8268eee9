"""How the loop behaves, and what follows from it."""
