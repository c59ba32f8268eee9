"""Goal and proof: plan, checks, completion, judge, invariants; limits and prompt."""

from collections.abc import Mapping
from posixpath import isabs, normpath
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import LONGEST_HOURS, Count, Dollars, Hours, OperatorKey, Section, Share, Words, satisfies

Kind = Literal["json", "markdown", "toml"]
ENDINGS: Mapping[str, Kind] = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".toml": "toml"}
"""Kind of plan by file name suffix."""
_OURS = (".git", ".helmsman")


class PlanConfig(Section):
    """The plan that the loop works from, if any."""

    file: str = Field(default="", max_length=500)
    """Path of a committed file: `prd.json`, checkboxes in Markdown, or `plan.toml` (docs/plans.md). The loop works on one item at
    a time, ticks it by evidence, and completes when all are ticked. Empty: no plan."""
    item: str = Field(default="", max_length=60)
    """Id of the only item for this loop. Empty: all items."""
    tries: int = Field(default=5, ge=1, le=100)
    """Iterations for one item before a person is asked."""

    @field_validator("file")
    @classmethod
    def _check_file(cls, file: str) -> str:
        parts = file.split("/")
        if file and (file != normpath(file) or file.startswith("/") or ".." in parts or not file.isprintable()):
            raise PydanticCustomError("outside", "a path relative to the repository's root, without . and ..")
        if parts[0] in _OURS:
            raise PydanticCustomError("ours", "a committed file outside of .git and .helmsman")
        if file and not file.lower().endswith(tuple(ENDINGS)):
            raise PydanticCustomError("no_plan", "a file that ends with .json, .md or .toml")
        return file


class CheckConfig(Section):
    """A command that verifies something; exit status 0 passes."""

    command: Words
    """Shell command, run by `sh` at the top of the worktree."""
    name: str = ""
    """Display name. Empty: the command itself."""
    timeout_seconds: float = Field(default=600, gt=0, le=86_400)
    """Seconds until the command is killed and counts as failed."""
    parallel: bool = False
    """Run in parallel with other checks that set this."""
    report: str = ""
    """Path of a JUnit XML file that the command writes, relative to the worktree. Empty: read its output."""
    network: Literal["host", "own"] = "host"
    """`own`: the check runs with only its own loopback interface, so only its own servers answer. Linux only; if the kernel
    refuses, the check does not run. `host` is the default because many checks use a database on this machine or download
    packages. A sandbox has its own setting, `sandbox.checks_network`."""
    environment: OperatorKey[tuple[str, ...]] = ()
    """Names of additional environment variables that the command may see."""
    tolerate_flaky: bool = False
    """Count a check that fails and then passes on the same tree as passed."""

    @property
    def title(self) -> str:
        return self.name or self.command


def _parse_tables(key: str, named: str = "", prefix: str = "") -> BeforeValidator:
    """Accept a plain text for an item, as its `key`, and number items without `named`."""

    def read(value: Any) -> Any:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            return items
        tables: list[Any] = [{key: item} if isinstance(item, str) else item for item in cast("list[Any]", items)]
        return tuple(_with_name(item, named, f"{prefix}{number}") if named else item for number, item in enumerate(tables, 1))

    return BeforeValidator(read)


def _with_name(item: Any, key: str, name: str) -> Any:
    table = cast("dict[str, Any]", item)
    return table | {key: table.get(key) or name} if isinstance(item, dict) else item


Checks = Annotated[tuple[CheckConfig, ...], _parse_tables("command")]


KEPT_OUTSIDE = "kept outside of the repository"
"""Replaces the command of a hidden check wherever an agent could read it."""


def _is_absolute(folder: str) -> bool:
    return not folder or folder.startswith("~/") or isabs(folder)


class HiddenCheckConfig(CheckConfig):
    """A check that the agent never sees; it learns only the name of a failing one."""

    folder: Annotated[str, satisfies(_is_absolute, "relative", "an absolute path, or one that begins with ~/")] = ""
    """Folder outside the repository whose files are copied over the clean checkout for this run. Empty: none."""

    @property
    def is_available(self) -> bool:
        """Whether this machine has the command; a transferred state has only the name."""
        return self.command != KEPT_OUTSIDE

    @property
    def without_content(self) -> "HiddenCheckConfig":
        """The part that may be stored where an agent can read it."""
        return HiddenCheckConfig(command=KEPT_OUTSIDE, name=self.name)


HiddenChecks = Annotated[tuple[HiddenCheckConfig, ...], _parse_tables("command", "name", "hidden ")]
"""Numbered, because the command is secret."""


class CompletionConfig(Section):
    """What counts as a claim of completion. A claim is never enough: the checks decide."""

    promise: str = Field(default="<promise>COMPLETE</promise>", min_length=4)
    """Text in the agent's last message that claims completion; `EXIT_SIGNAL: true` does the same."""
    indicators: int = Field(default=0, ge=0, le=5)
    """Dual gate: how many of the last five iterations must look complete before a claim counts. 0: a claim is enough."""
    test_only_limit: Count = 3
    """Iterations in a row that change only tests while every gate is green, after which the work counts as done."""
    required_tests: tuple[str, ...] = ()
    """Names of tests that must exist and must have run, not skipped, before the loop completes."""
    force_max: bool = False
    """Continue to improve proven work until the iterations are used up."""


class CriterionConfig(Section):
    """One criterion of the judge."""

    id: str = Field(default="", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$|^$", max_length=60)
    """Id for people and the judge. Empty: c1, c2 and so on, in order."""
    text: str = Field(min_length=1, max_length=4000)
    """What must be true, in a sentence that can be answered with yes or no."""
    weight: float = Field(default=1, gt=0)
    """Weight in the score; every criterion must be met, whatever its weight."""
    needed: int = Field(default=1, ge=1, le=9)
    """Votes needed to meet it."""
    votes: int = Field(default=1, ge=1, le=9)
    """Votes to ask for."""
    tests: tuple[str, ...] = ()
    """Names of tests that prove it; they become required tests."""
    checks: tuple[str, ...] = ()
    """Names or commands of checks that also prove it; for people and the audit."""

    @model_validator(mode="after")
    def _check_votes(self) -> Self:
        if self.needed > self.votes:
            raise ValueError(f"needs {self.needed} of {self.votes} votes")
        return self


Criteria = Annotated[tuple[CriterionConfig, ...], _parse_tables("text", "id", "c")]


JUDGE_MODEL = "claude-opus-5-5"
"""The judge's default model, defined only here."""


class JudgeConfig(Section):
    """An independent model that must agree before a loop completes. It is asked if there are criteria."""

    criteria: Criteria = ()
    """Criteria, each answered on its own. None: no judge."""
    envisioning: str = Field(default="", max_length=20_000)
    """Description of the finished work, from `## Envisioning` of RUBRIC.md."""
    way: OperatorKey[Literal["auto", "api", "claude"]] = "auto"
    """`api`: the Messages API with a key. `claude`: the CLI, on its subscription. `auto`: the API if there is a key."""
    block: OperatorKey[str] = ""
    """Name of a Judge block in Prefect with credentials for the judge only. Empty: those of the agent."""
    model: str = Field(default=JUDGE_MODEL, min_length=1)
    """The judge's model."""
    rejections: int = Field(default=5, ge=1)
    """Rejections in a row before the loop waits for a person."""

    @field_validator("criteria")
    @classmethod
    def _check_ids(cls, criteria: tuple[CriterionConfig, ...]) -> tuple[CriterionConfig, ...]:
        names = [criterion.id for criterion in criteria]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise ValueError(f"ids must differ, found twice: {', '.join(duplicates)}")
        return criteria


class InvariantsConfig(Section):
    """What must not change, and what verifies the work in its state at the start of the loop."""

    allow: tuple[str, ...] = ()
    """Glob patterns of paths that may change freely; findings there never block."""
    protect: tuple[str, ...] = ()
    """Glob patterns of paths that must not change. Any change of them blocks."""
    trusted: tuple[str, ...] = ()
    """Glob patterns of tests and settings that may change. At a claim of completion the checks run again with these files, and
    those of `protect`, as they were at the start; a failure then blocks without a question."""
    changed_expectations: Literal["ask", "block", "allow"] = "ask"
    """What to do if a test of the start passed there and fails on the new source: ask the judge, else a person; block; or allow.
    A test that failed at the start and passes only in its changed form always blocks."""
    revert: bool = False
    """Restore protected paths at the end of every iteration, instead of only reporting changes."""


class ProofConfig(Section):
    """What is examined besides the checks when the agent claims completion."""

    neighbours: bool = True
    """Call changed Python, JavaScript, TypeScript and Go functions again with inputs other than those of their tests. If all of
    these return nothing, an error or one constant, the judge, else a person, is asked whether the answers are hard-coded."""
    probes: OperatorKey[int] = Field(default=0, ge=0, le=20)
    """Test cases that an independent model writes at a claim of completion, from the goal, the public interface and the start's
    tests, without the new source. The judge's model reviews a failing case; a correct one blocks, and the agent gets a
    description without its values. Cases are kept for later claims. Costs money. Python (pytest) and JavaScript (node:test)."""
    mutants: int = Field(default=0, ge=0, le=1000)
    """Mutants of changed Python lines, tried one at a time, to see whether the checks notice. Each takes a run of all checks. The
    share that is noticed is reported with its interval; it never blocks."""


class LimitsConfig(Section):
    """What a loop may spend. It warns at 70 % of a limit, alarms at 90 % and stops at the limit."""

    iterations: int = Field(default=30, ge=1)
    """Maximum number of iterations; waits for a usage limit do not count."""
    wall_clock_hours: Hours = 12
    """Hours of work and waiting, while a process drives the loop (12: a night). "none": no limit."""
    cost_usd: Dollars = 50
    """US dollars, as reported by the CLI. "none": no limit."""
    tokens: Count = None
    """Input and output tokens, cache reads included. "none": no limit."""
    calls_per_hour: int = Field(default=100, ge=1)
    """Agent calls in any 60 minutes; above it the loop waits and does not stop."""
    agent_failures: int = Field(default=3, ge=1)
    """Failed agent calls in a row (crash, hang, refusal) before the loop stops. Outages and crashes cause a pause of 30
    minutes first."""
    nesting: int = Field(default=0, ge=0, le=9)
    """Maximum depth of loops that are started inside this one. 0: the agent may start none."""


class UsageLimitConfig(Section):
    """How the loop waits when the provider's usage limit is reached."""

    margin_seconds: float = Field(default=60, ge=0, le=LONGEST_HOURS * 3600)
    """Seconds added to the announced reset, for clock differences."""
    pause_at: Share = None
    """Share of a usage window (5 hours or a week) at which the loop waits for its reset, which may be days away, to leave the
    rest to people. "none": use all of it."""


class RetryConfig(Section):
    """Retries of network and server errors (overload, 5xx). Nothing else is retried."""

    attempts: int = Field(default=8, ge=0, le=50)
    """Retries after the first try; with the default delays they cover an outage of about twenty minutes."""
    first_delay_seconds: float = Field(default=10, gt=0, le=LONGEST_HOURS * 3600)
    """Seconds before the first retry; doubled for each further one, up to five minutes."""


class PromptConfig(Section):
    """The content of the prompt."""

    template: str = Field(default="", max_length=500)
    """The repository's own template for the message, a committed file (docs/prompt.md). It is read from the commit at the start
    of the loop. Empty: the built-in template."""
    approach: str = Field(default="", max_length=2000)
    """Approach of this loop, if others with the same goal use other approaches (`helmsman parallel`). Empty: any."""
    written: bool = False
    """Let the judge's model write the iteration's focus from objective, state, control and strategy, and summarize history and
    working memory for a redesign or when they grow long. Otherwise, or if that fails, the prompt has the built-in advice and the
    commits."""
