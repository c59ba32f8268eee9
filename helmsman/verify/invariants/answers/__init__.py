"""What tests expect, and where source gives it without working it out."""
