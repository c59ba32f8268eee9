"""Stand-ins for the project's own code."""

from helmsman.verify.invariants.reading.reporter import Reporter

REPORTER = Reporter("patched", "Test the project's own code as it is; replace only outside services, and only in a new test.")
