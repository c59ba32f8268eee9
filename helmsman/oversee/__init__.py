"""How does the loop behave, and what follows?"""
