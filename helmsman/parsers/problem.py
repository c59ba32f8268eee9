"""What is wrong with a file that a person wrote."""

from dataclasses import dataclass

MOST_PROBLEMS = 50  # that are told of one file


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    line: int  # counted from 1, in the file
    cause: str
    remedy: str  # what to do, as an instruction
