"""When things happen: only flows, no parsing, no I/O of their own."""
