"""What people see of a loop: one set of facts, shown in a terminal, in the engine's UI, on a page of HTML, in an issue."""
