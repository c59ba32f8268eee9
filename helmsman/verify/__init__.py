"""Verification of the work. Reads outputs, reports and events; never trusts prose."""
