"""What tests expect, and where source gives it without working it out."""

from helmsman.verify.invariants.reading.reporter import Reporter

REPORTER = Reporter("hard_coded", "Compute the result from the inputs, for every input that the goal speaks of.")
