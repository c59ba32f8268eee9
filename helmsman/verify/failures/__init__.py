"""What went wrong in a failed tool call, read from its output so that the same failure is known again."""

from helmsman.verify.failures.listed import listed
from helmsman.verify.failures.masked import failed_by_output
from helmsman.verify.failures.normal import extent, fingerprint, merge, same_error
from helmsman.verify.failures.vectors import error_vector

__all__ = ["error_vector", "extent", "failed_by_output", "fingerprint", "listed", "merge", "same_error"]
