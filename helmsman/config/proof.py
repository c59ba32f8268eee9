"""What proves the work: checks, completion, judge, invariants."""

from collections.abc import Iterator
from posixpath import isabs
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import Count, OperatorKey, Section, Words


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


def _checks_from_commands(value: Any) -> Any:
    """Let a check be written as a bare command."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return items
    return tuple({"command": item} if isinstance(item, str) else item for item in cast("list[Any]", items))


Checks = Annotated[tuple[CheckConfig, ...], BeforeValidator(_checks_from_commands)]


KEPT_OUTSIDE = "kept outside of the repository"
"""Stands for the command of a hidden check wherever an agent could read it."""


def _is_absolute(folder: str) -> str:
    if folder and not folder.startswith("~/") and not isabs(folder):
        raise PydanticCustomError("relative", "an absolute path, or one that begins with ~/")
    return folder


class HiddenCheckConfig(CheckConfig):
    """A check that the agent never sees: it is told the name, where it fails."""

    folder: Annotated[str, AfterValidator(_is_absolute)] = ""
    """Folder outside of the repository whose files are laid over the clean checkout for this run. Empty: the command alone."""

    @property
    def known(self) -> bool:
        """Whether this machine has the command; the state of a loop, which travels, has only the name."""
        return self.command != KEPT_OUTSIDE

    @property
    def without_content(self) -> "HiddenCheckConfig":
        """What may lie where an agent can read it."""
        return HiddenCheckConfig(command=KEPT_OUTSIDE, name=self.name)


def _numbered(value: Any) -> Any:
    """Let a hidden check be written as a bare command, and number those without a name: the command is not told."""
    items = _checks_from_commands(value)
    return tuple(_with_name(items)) if isinstance(items, list | tuple) else items


def _with_name(items: Any) -> Iterator[Any]:
    for number, item in enumerate(cast("list[Any]", items), 1):
        table = cast("dict[str, Any]", item)
        yield table | {"name": table.get("name") or f"hidden {number}"} if isinstance(item, dict) else item


HiddenChecks = Annotated[tuple[HiddenCheckConfig, ...], BeforeValidator(_numbered)]


class FlakyConfig(Section):
    """Which failing checks are run once more on the same tree: those with a test that did not fail before."""

    largest_failing_set: int = Field(default=5, ge=0)
    """Failing tests at most; more of them do not fail by chance. 0: nothing is run again."""


class CompletionConfig(Section):
    """When the agent counts as asking to be done. Asking is never enough: the checks decide."""

    promise: str = Field(default="<promise>COMPLETE</promise>", min_length=4)
    """Text in the agent's last message that asks to be done; EXIT_SIGNAL: true does the same."""
    indicators: int = Field(default=0, ge=0, le=5)
    """Dual gate: of the last five iterations this many must look complete before asking counts. 0: asking is enough."""
    test_only_limit: Count = 3
    """Iterations in a row that change nothing but tests while every gate is green; then the work counts as done."""
    ask_limit: Count = 5
    """Requests in a row under green checks that something else denies; then the loop stops for a person to look."""
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


def _criteria_from_texts(value: Any) -> Any:
    """Let a criterion be written as a bare sentence; number those that have no id."""
    if not isinstance(value, list | tuple):
        return value
    return tuple(_named(item, number) for number, item in enumerate(cast("list[Any]", value), 1))


def _named(item: Any, number: int) -> Any:
    if isinstance(item, str):
        return {"text": item, "id": f"c{number}"}
    if not isinstance(item, dict):
        return item
    given = cast("dict[str, Any]", item)
    return given | {"id": given.get("id") or f"c{number}"}


Criteria = Annotated[tuple[CriterionConfig, ...], BeforeValidator(_criteria_from_texts)]


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
    reset_strategy: bool = False
    """After that many rejections demand another approach instead of waiting for a person."""
    source_tokens: int = Field(default=24_000, ge=1000)
    """Tokens of the changed files and of the diff that it is shown, each."""
    output_tokens: int = Field(default=8_000, ge=500)
    """Tokens of check output that it is shown."""
    answer_tokens: int = Field(default=16_000, ge=500)
    """Tokens of its answer at most, its thinking included. One that is cut off there cannot be read."""
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
    """Glob patterns of further paths that must stay as they are. Checks run a second time with them as they were at the start."""
    trusted: tuple[str, ...] = ()
    """Glob patterns of tests and settings that may change. Checks run a second time with them as they were at the start."""
    changed_expectations: Literal["ask", "block", "allow"] = "ask"
    """Tests that passed at the start and fail on the new source as they were: ask the judge, else a person; block; or allow. What
    failed at the start and passes only as it was changed always blocks."""
    revert: bool = False
    """Put protected paths back at the end of every iteration, instead of only telling."""


class ProofConfig(Section):
    """What is looked at beside the checks when the agent asks to be done."""

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
