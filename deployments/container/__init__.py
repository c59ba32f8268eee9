"""Files for an image, and what its build runs."""
