"""The plan's file: read, put back, ticked, merged."""
