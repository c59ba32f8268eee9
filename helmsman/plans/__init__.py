"""Plans: lists of work that a loop reads, follows item by item, and ticks by evidence."""
