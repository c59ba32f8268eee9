"""What a guardrail says: for each class of failure standing advice, in positive words, for a loop that begins anew."""

from collections.abc import Mapping
from typing import NamedTuple

from helmsman.memory.guardrails.failed import Place
from helmsman.records.session import FailureClass


class Advice(NamedTuple):
    """What to do about a class of failure, and when to think of it."""

    when: str
    """Where the failures have no place in common."""
    there: str
    """Where they have one: `{}` stands for it."""
    do: str


class Words(NamedTuple):
    """A guardrail's own words."""

    trigger: str
    instruction: str


WORLD = frozenset({FailureClass.NETWORK, FailureClass.TIMEOUT, FailureClass.RESOURCES})
"""The world fails so, and no instruction helps, unless the code itself is where it happens."""
VAGUE = frozenset({FailureClass.OTHER})
"""What has nothing in common but that nobody knows it: advice needs a place at least."""

ADVICE: Mapping[FailureClass, Advice] = {
    FailureClass.TEST: Advice(
        "When a test fails",
        "When tests in {} are touched or fail",
        "Read the failing test and its fixtures in full before the first edit, state in a sentence what it demands and what the "
        "code does instead, and change the code where the two part. Run that one test until it passes, then all of them.",
    ),
    FailureClass.BUILD: Advice(
        "When code is built",
        "When {} is changed or its build fails",
        "Build after each small change and commit each state that builds. At an error work on the first one alone, and go back "
        "to the last commit that builds when its cause is unclear.",
    ),
    FailureClass.TYPES: Advice(
        "When signatures or data types change",
        "When types in {} are changed or fail to check",
        "Write the signatures and data types first and let the type checker pass on them, then fill in the bodies, with the type "
        "checker after each.",
    ),
    FailureClass.LINT: Advice(
        "Before each commit",
        "When {} is changed or the linter objects to it",
        "Run the project's formatter and then the linter with its own fixes, read the explanation of each rule that is left, and "
        "change the code the way the rule asks for.",
    ),
    FailureClass.SYNTAX: Advice(
        "After each edit of a source file",
        "After each edit of {}",
        "Parse the file at once, with the interpreter or compiler alone, and go on from the state that parses. Make large edits "
        "in pieces that each parse.",
    ),
    FailureClass.MISSING_MODULE: Advice(
        "Before a new import",
        "When {} imports something or an import of it fails",
        "List what the project declares and has installed, and build on that. Where a package is truly needed, declare it the "
        "way the project does and prove the import with one command first.",
    ),
    FailureClass.MISSING_FILE: Advice(
        "Before a path is used",
        "When {} is read, run or referred to",
        "List the folder and copy the path from the listing. Create first what the goal asks for and the listing lacks.",
    ),
    FailureClass.MISSING_COMMAND: Advice(
        "Before a program is called for the first time",
        "When {} is called",
        "Find out with `command -v` which tools are there, and use the project's own scripts and targets with those.",
    ),
    FailureClass.USAGE: Advice(
        "Before an option or argument is used for the first time",
        "When {} is called",
        "Read the program's help or the function's signature, copy the form from there, and try the call alone.",
    ),
    FailureClass.EDIT: Advice(
        "Before each edit of a file",
        "Before each edit of {}",
        "Read the file right before the edit and take the text to replace from that reading; for many changes write the file as "
        "a whole.",
    ),
    FailureClass.PERMISSION: Advice(
        "When something is refused for lack of permission",
        "When {} is used or refused",
        "Stay inside the workspace and the tools that are allowed, choose a way that works with those, and note in progress.md "
        "which permission the goal needs, and what for, so that a person can grant it.",
    ),
    FailureClass.NETWORK: Advice(
        "When a service outside is called",
        "When {} is touched or fails to reach a service",
        "Put a local stand-in in the place of the service, so that the checks pass with the network off, and let the address of "
        "the real one come from configuration.",
    ),
    FailureClass.TIMEOUT: Advice(
        "When something takes too long",
        "When {} is touched or takes too long",
        "Run its parts alone to find the one that takes the time, give it less to do or a better algorithm, and bound every "
        "wait.",
    ),
    FailureClass.RESOURCES: Advice(
        "When memory, disk or handles run out",
        "When {} is touched or runs out of memory, disk or handles",
        "Measure its parts to find what fills up, work on the data in pieces, and close and delete what has served.",
    ),
    FailureClass.GIT: Advice(
        "Before each git command",
        "When {} is changed by git",
        "Look at `git status` first, leave branches and history to the loop, and change files in the worktree alone.",
    ),
    FailureClass.EXCEPTION: Advice(
        "When a program dies of an error of its own",
        "When {} is touched or raises an error",
        "Reproduce the error alone with the smallest input, follow the trace to the first line of the project's own code, write "
        "a test for that case, and fix the cause there.",
    ),
    FailureClass.OTHER: Advice(
        "When a check fails for an unclear reason",
        "When {} is touched or fails",
        "Cut what fails into its smallest part that can be run alone, write down what it should print and what it prints, and go "
        "on from the first difference.",
    ),
}


def helps(kind: FailureClass, place: Place) -> bool:
    """Whether an instruction can do anything about such failures."""
    if kind in WORLD:
        return place.in_code
    return bool(place.name) or kind not in VAGUE


def words(kind: FailureClass, place: Place) -> Words:
    """Of a guardrail for this class: the place is quoted, and nothing else in it comes from outside."""
    advice = ADVICE[kind]
    if not place.name:
        return Words(advice.when, advice.do)
    last = f" The checks named `{place.name}` last." if place.name != place.file else ""
    return Words(advice.there.format(f"`{place.file}`"), advice.do + last)


def same_advice(kind: FailureClass, instruction: str) -> bool:
    """Whether these words are ours for this class as we would say them today, whatever place they name."""
    return instruction.startswith(ADVICE[kind].do)
