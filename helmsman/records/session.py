"""What was seen of one session of the agent while it ran: its failures, its context, its attempts to stop."""

from datetime import datetime
from enum import StrEnum

from helmsman.records.base import Record
from helmsman.records.usage import Usage


class FailureClass(StrEnum):
    """What kind of thing failed, read from the output of a tool. The class tells a recurring failure, the text does not."""

    TEST = "test"
    """A test ran and failed."""
    BUILD = "build"
    """A compiler, linker or build tool stopped, or test files could not be imported."""
    TYPES = "types"
    """A type checker objects."""
    LINT = "lint"
    """A linter or formatter objects."""
    SYNTAX = "syntax"
    """The code cannot be parsed."""
    MISSING_MODULE = "missing_module"
    """An import or a package is not there."""
    MISSING_FILE = "missing_file"
    MISSING_COMMAND = "missing_command"
    USAGE = "usage"
    """A program was called with options or arguments that it does not know."""
    EDIT = "edit"
    """A file tool could not apply a change: text not found, file not read before."""
    PERMISSION = "permission"
    NETWORK = "network"
    TIMEOUT = "timeout"
    RESOURCES = "resources"
    """Memory, disk space or file handles ran out, or a process was killed."""
    GIT = "git"
    """git refused: conflict, nothing to commit, unknown revision."""
    EXCEPTION = "exception"
    """A program died of an error of its own."""
    OTHER = "other"
    """Nothing that is known."""


class ErrorVector(Record):
    """One failure: what, where, and in which words, so that the same one is known again."""

    kind: FailureClass
    where: str = ""
    """Test, file with line, program or host: the first thing that the output points at, 200 characters at most."""
    message: str = ""
    """Its first telling line without what differs from run to run (numbers, addresses, times), 300 characters at most."""
    extent: int = 0
    """How many things failed, as the output counts them; 0 where nothing tells."""
    times: int = 1
    """How often it was seen in the call."""


class Compaction(Record):
    """The CLI summarised its own context."""

    trigger: str
    """auto or manual."""
    before: int
    """Tokens in the context before it."""
    after: int = 0


class ContextUse(Record):
    """What filled the context window of the main thread."""

    tokens: int = 0
    """At the last message."""
    peak: int = 0
    """At the fullest message."""
    window: int = 0
    """Tokens that the model's window holds by the CLI's account; 0 where it did not tell."""
    heard: int = 0
    """Tokens of tool results."""
    noise: int = 0
    """Of those: error output, output that was there before, files that were read again unchanged."""
    compactions: tuple[Compaction, ...] = ()
    """The last 20."""

    @property
    def noise_share(self) -> float:
        return self.noise / self.heard if self.heard else 0.0


class StopAttempt(Record):
    """The agent wanted to end its turn, and what the checks said of that."""

    blocked: bool
    """It was sent back to work."""
    why: str
    """Why it was sent back, or why not."""
    failing: tuple[str, ...] = ()
    """Checks that failed, by name."""
    failing_tests: int = 0
    seconds: float = 0.0


class KeptSession(Record):
    """A session of the CLI that the next iteration may go on with."""

    id: str
    used_at: datetime
    """When it was used last."""
    total: Usage = Usage()
    """The CLI's account, which goes on over all calls of one session."""
    calls: int = 1


class Drift(Record):
    """What the agent did, compared with what it was asked: the purpose of a system is what it does."""

    deeds: int = 0
    """Files that were read or changed and could be judged."""
    related: int = 0
    """Of those the ones that have to do with the task by path or word."""
    strangers: tuple[str, ...] = ()
    """Changed files that have nothing to do with it, 10 at most."""
    documents: tuple[str, ...] = ()
    """Changed files, 10 at most, where they are all documents and the task asks for none."""

    @property
    def relevance(self) -> float:
        """0 to 1; 1 where there was nothing to judge."""
        return self.related / self.deeds if self.deeds else 1.0


class LastCall(Record):
    """What the next iteration should know of the last one's session."""

    errors: tuple[ErrorVector, ...] = ()
    rotated: str = ""
    drift: Drift = Drift()
    context: ContextUse = ContextUse()
    unguarded: str = ""
    """That guard rails did not act throughout it, in words; empty where they did."""
    words: str = ""
    """What the agent said last, 600 characters at most: for people, never for another agent."""
    blocked: bool = False
    """Whether it said that it is blocked."""
