"""What is to be done and what proves it: plan, checks, completion, judge, invariants; what it may cost and what is told."""

from collections.abc import Mapping
from posixpath import isabs, normpath
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import LONGEST_HOURS, Count, Dollars, Hours, OperatorKey, Section, Share, Words, that

Kind = Literal["json", "markdown", "toml"]
ENDINGS: Mapping[str, Kind] = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".toml": "toml"}
"""What kind of plan a file is, by the end of its name."""
_OURS = (".git", ".helmsman")


class PlanConfig(Section):
    """Whether the loop works from a plan, and from which."""

    file: str = Field(default="", max_length=500)
    """A committed file, by its path from the top: `prd.json`, checkboxes in Markdown, or `plan.toml` (docs/plans.md). The loop
    takes its items one by one, ticks each by evidence, and completes only when all are ticked. Empty: there is no plan."""
    item: str = Field(default="", max_length=60)
    """Id of the one item that this loop is for. Empty: all of them."""
    tries: int = Field(default=5, ge=1, le=100)
    """Iterations that one item may take before a person is asked."""

    @field_validator("file")
    @classmethod
    def _lies_in_the_repository(cls, file: str) -> str:
        parts = file.split("/")
        if file and (file != normpath(file) or file.startswith("/") or ".." in parts or not file.isprintable()):
            raise PydanticCustomError("outside", "a path from the top of the repository, without . and ..")
        if parts[0] in _OURS:
            raise PydanticCustomError("ours", "a committed file; .git and .helmsman are no place for one")
        if file and not file.lower().endswith(tuple(ENDINGS)):
            raise PydanticCustomError("no_plan", "a file that ends with .json, .md or .toml")
        return file


class CheckConfig(Section):
    """One command that proves something; exit code 0 passes."""

    command: Words
    """A shell command, run by `sh` in the root of the worktree."""
    name: str = ""
    """What people call it. Empty: the command itself."""
    timeout_seconds: float = Field(default=600, gt=0, le=86_400)
    """Seconds until the command is ended and counts as failed."""
    parallel: bool = False
    """Whether it may run beside other checks that say the same."""
    report: str = ""
    """Path of a JUnit XML file that the command writes, relative to the worktree. Empty: its output is read."""
    network: Literal["host", "own"] = "host"
    """`own`: it runs with nothing but a loopback of its own, so that no server but its own answers on its ports. Linux only;
    where the kernel refuses that, the check does not run. `host` is the default because many checks use a database on this
    machine or download packages. A sandbox has its own setting: `sandbox.checks_network`."""
    environment: OperatorKey[tuple[str, ...]] = ()
    """Names of further environment variables that the command may see."""
    tolerate_flaky: bool = False
    """Whether a check that fails and then passes on the same tree counts as passed."""

    @property
    def title(self) -> str:
        return self.name or self.command


def _tables(key: str, named: str = "", prefix: str = "") -> BeforeValidator:
    """Let an item be written as a bare text, which is its `key`, and number those that are not `named`."""

    def read(value: Any) -> Any:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            return items
        tables: list[Any] = [{key: item} if isinstance(item, str) else item for item in cast("list[Any]", items)]
        return tuple(_named(item, named, f"{prefix}{number}") if named else item for number, item in enumerate(tables, 1))

    return BeforeValidator(read)


def _named(item: Any, key: str, name: str) -> Any:
    given = cast("dict[str, Any]", item)
    return given | {key: given.get(key) or name} if isinstance(item, dict) else item


Checks = Annotated[tuple[CheckConfig, ...], _tables("command")]


KEPT_OUTSIDE = "kept outside of the repository"
"""Stands for the command of a hidden check wherever an agent could read it."""


def _is_absolute(folder: str) -> bool:
    return not folder or folder.startswith("~/") or isabs(folder)


class HiddenCheckConfig(CheckConfig):
    """A check that the agent never sees: it is told the name, where it fails."""

    folder: Annotated[str, that(_is_absolute, "relative", "an absolute path, or one that begins with ~/")] = ""
    """Folder outside of the repository whose files are laid over the clean checkout for this run. Empty: the command alone."""

    @property
    def known(self) -> bool:
        """Whether this machine has the command; the state of a loop, which travels, has only the name."""
        return self.command != KEPT_OUTSIDE

    @property
    def without_content(self) -> "HiddenCheckConfig":
        """What may lie where an agent can read it."""
        return HiddenCheckConfig(command=KEPT_OUTSIDE, name=self.name)


HiddenChecks = Annotated[tuple[HiddenCheckConfig, ...], _tables("command", "name", "hidden ")]
"""Numbered, because the command is not told."""


class CompletionConfig(Section):
    """When the agent counts as asking to be done. Asking is never enough: the checks decide."""

    promise: str = Field(default="<promise>COMPLETE</promise>", min_length=4)
    """Text in the agent's last message that claims completion; EXIT_SIGNAL: true does the same."""
    indicators: int = Field(default=0, ge=0, le=5)
    """Dual gate: of the last five iterations this many must look complete before asking counts. 0: asking is enough."""
    test_only_limit: Count = 3
    """Iterations in a row that change nothing but tests while every gate is green; then the work counts as done."""
    required_tests: tuple[str, ...] = ()
    """Names of tests that must be in the tree and must have run, unskipped, before the loop completes."""
    force_max: bool = False
    """Go on improving after the work is proven, until the iterations are used up."""


class CriterionConfig(Section):
    """One thing that the judge has to see."""

    id: str = Field(default="", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$|^$", max_length=60)
    """What people and the judge call it. Empty: c1, c2 and so on, in order."""
    text: str = Field(min_length=1, max_length=4000)
    """What must be true, in a sentence that can be answered with yes or no."""
    weight: float = Field(default=1, gt=0)
    """What it counts in the score; every criterion must be met whatever its weight."""
    needed: int = Field(default=1, ge=1, le=9)
    """Votes that must say that it is met."""
    votes: int = Field(default=1, ge=1, le=9)
    """Votes that are asked for."""
    tests: tuple[str, ...] = ()
    """Names of tests that prove it; they become required tests."""
    checks: tuple[str, ...] = ()
    """Names or commands of checks that prove it as well; for people and for the audit."""

    @model_validator(mode="after")
    def _not_more_needed_than_asked(self) -> Self:
        if self.needed > self.votes:
            raise ValueError(f"needs {self.needed} of {self.votes} votes")
        return self


Criteria = Annotated[tuple[CriterionConfig, ...], _tables("text", "id", "c")]


JUDGE_MODEL = "claude-opus-5-5"
"""The only place that names the judge's default model."""


class JudgeConfig(Section):
    """An independent model that has to agree before a loop completes. It is asked where there are criteria."""

    criteria: Criteria = ()
    """What it has to see, each answered by itself. None: there is no judge."""
    envisioning: str = Field(default="", max_length=20_000)
    """The picture of the finished work, in prose; from `## Envisioning` of RUBRIC.md."""
    way: OperatorKey[Literal["auto", "api", "claude"]] = "auto"
    """`api`: the Messages API with a key. `claude`: the CLI, on its subscription. `auto`: the API where a key is known."""
    block: OperatorKey[str] = ""
    """Name of a Judge block in Prefect that holds credentials for the judge alone. Empty: those of the agent."""
    model: str = Field(default=JUDGE_MODEL, min_length=1)
    """Model that judges."""
    rejections: int = Field(default=5, ge=1)
    """Rejections in a row before the loop waits for a person."""
    timeout_seconds: float = Field(default=300, gt=0, le=3600)
    """Seconds that one vote may take."""

    @field_validator("criteria")
    @classmethod
    def _each_id_once(cls, criteria: tuple[CriterionConfig, ...]) -> tuple[CriterionConfig, ...]:
        names = [criterion.id for criterion in criteria]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"ids must differ, found twice: {', '.join(twice)}")
        return criteria


class InvariantsConfig(Section):
    """What has to stay as it was, and what judges the work as it was when the loop began."""

    allow: tuple[str, ...] = ()
    """Glob patterns of paths that the goal permits to change freely; nothing that is found there blocks."""
    protect: tuple[str, ...] = ()
    """Glob patterns of further paths that must stay as they are. Any change of them blocks."""
    trusted: tuple[str, ...] = ()
    """Glob patterns of tests and settings that may change. At a claim the checks run once more with them, and with `protect`, as
    they were at the start; what fails then blocks, and nobody is asked."""
    changed_expectations: Literal["ask", "block", "allow"] = "ask"
    """Tests that passed at the start and fail on the new source as they were: ask the judge, else a person; block; or allow. What
    failed at the start and passes only as it was changed always blocks."""
    revert: bool = False
    """Put protected paths back at the end of every iteration, instead of only telling."""


class ProofConfig(Section):
    """What is looked at beside the checks when the agent claims completion."""

    neighbours: bool = True
    """Call changed Python, JavaScript and Go functions again with inputs beside those of their tests. Where all of these give
    nothing, an error or one constant, the judge is asked whether the answers were looked up, or else a person."""
    probes: OperatorKey[int] = Field(default=0, ge=0, le=20)
    """Cases that an independent model writes at a claim of completion, from the goal, the public interface and the start's tests,
    without the new source. One that fails is read once more by the judge's model; a right one blocks, and the agent is told of it
    in words without its values. Kept for the claims that follow. It costs money. Python (pytest) and JavaScript (node:test)."""
    mutants: int = Field(default=0, ge=0, le=1000)
    """Small mistakes that are made in changed lines of Python, one at a time, to see whether the checks notice. Each takes a run
    of all checks; the share that is noticed is reported, with its interval, and blocks nothing."""


class LimitsConfig(Section):
    """What a loop may spend. It warns at 70 % of a limit, alarms at 90 % and stops at the limit itself."""

    iterations: int = Field(default=30, ge=1)
    """Iterations that count; waiting for a usage limit does not."""
    wall_clock_hours: Hours = 12
    """Hours that a driver of the loop was at work or waiting: a night. "none": no limit."""
    cost_usd: Dollars = 50
    """US dollars by the CLI's own account. "none": no limit."""
    tokens: Count = None
    """Tokens in and out, cache reads included. "none": no limit."""
    calls_per_hour: int = Field(default=100, ge=1)
    """Agent calls in any 60 minutes; beyond it the loop waits, it does not stop."""
    agent_failures: int = Field(default=3, ge=1)
    """Agent calls in a row that came to nothing (crash, hang, refusal) before the loop stops. Outages and crashes bring a
    pause first (breaker.cool_down_minutes)."""
    nesting: int = Field(default=0, ge=0, le=9)
    """Loops that may be started inside of this one, one within the other. 0: the agent starts none."""


class UsageLimitConfig(Section):
    """How the loop waits when the provider's usage limit is reached."""

    margin_seconds: float = Field(default=60, ge=0, le=LONGEST_HOURS * 3600)
    """Seconds added to the announced reset, for clocks that differ."""
    pause_at: Share = None
    """Share of a window, of 5 hours or a week, at which the loop waits for its reset, which may be days away, and leaves the rest
    to people. "none": it uses it up."""


class RetryConfig(Section):
    """Retries of network and server errors (overload, 5xx). Nothing else is ever retried."""

    attempts: int = Field(default=8, ge=0, le=50)
    """Tries after the first; with the usual delays they bridge about twenty minutes of outage."""
    first_delay_seconds: float = Field(default=10, gt=0, le=LONGEST_HOURS * 3600)
    """Seconds before the first retry; doubled each time, up to five minutes."""


class PromptConfig(Section):
    """How much the agent is told."""

    template: str = Field(default="", max_length=500)
    """The repository's own template of the message, a committed file (docs/prompt.md). It is read as it was when the loop began.
    Empty: ours alone."""
    approach: str = Field(default="", max_length=2000)
    """How this loop shall go about it, where others with its goal go other ways (`helmsman parallel`). Empty: as it likes."""
    written: bool = False
    """Have the judge's model write the iteration's focus from objective, state, control and strategy, and history and working
    memory in short for a redesign and where they have grown long. Otherwise, and where that fails, our own advice and the
    commits stand there."""
