"""Progress reports for people and collectors. An observer never stops a loop."""
