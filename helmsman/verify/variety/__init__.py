"""How many ways the code leaves open for later work, counted from its texts."""

from helmsman.verify.variety.counting import variety_of
from helmsman.verify.variety.facts import facts_of, worth_reading

__all__ = ["facts_of", "variety_of", "worth_reading"]
