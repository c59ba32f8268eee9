"""The life of a loop: opened, driven step by step, taken up again, carried between machines."""
