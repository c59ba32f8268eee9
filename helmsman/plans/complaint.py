"""What is wrong with a plan, and on which line. Whoever knows the file's name makes an error for people of it."""

from helmsman.errors import OperatorError
from helmsman.plain import clean


class Complaint(ValueError):  # noqa: N818 - what a reader says of a text; the error that people see is made of it
    """A plan that cannot be followed."""

    def __init__(self, line: int, why: str) -> None:
        """Line from 1; 0 where no single line is to blame."""
        self.line, self.why = line, why
        super().__init__(line, why)

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}" if self.line else self.why

    def about(self, path: str) -> OperatorError:
        where = f"{path}:{self.line}" if self.line else path
        return OperatorError(clean(f"{where}: {self.why}"), remedy="fix the plan and commit it; docs/plans.md shows its forms")
