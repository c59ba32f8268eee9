"""What people see of a loop: one set of facts, shown in a terminal, in the engine's UI, on a page, in an issue and as spans."""
