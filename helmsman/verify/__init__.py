"""Is what came back true, and is it good? Reads outputs, reports and events; never believes prose."""
