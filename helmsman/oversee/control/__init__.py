"""The controller between iterations: how urgent it is, from how far the work is and how it moves."""

from helmsman.oversee.control.pid import steer

__all__ = ["steer"]
