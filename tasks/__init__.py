"""Everything that touches the outside: one package for each outside thing."""
