"""Data types: frozen, versioned, JSON. Only these cross task boundaries or are stored."""
