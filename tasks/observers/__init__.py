"""Progress shown to people and collectors. An observer never stops a loop."""
