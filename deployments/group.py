"""`helmsman parallel` and `helmsman chain`: several loops, at the same time or in a row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from rich.console import Console

from deployments.live import watching_group
from deployments.output import print_result
from deployments.run import engine_here, refuse_agent, result_or_raise
from deployments.settings import Options, invalid_name, settings_of
from deployments.trust import require_consent
from helmsman.config import Section
from helmsman.config.layers import from_assignments, merge_tables, problem_of
from helmsman.errors import OperatorError
from helmsman.orient.decomposition import approaches, chain_file
from helmsman.plain import OWN_BRANCHES, clean, loop_id, short_line
from helmsman.records.decision import Outcome
from helmsman.records.request import (
    LONGEST_CHAIN_ID,
    MOST_LOOPS,
    MOST_WORKERS,
    Link,
    LoopRequest,
    ParallelRequest,
    ParallelResult,
    is_loop_id,
)
from helmsman.records.result import EXIT_CODES, OPERATOR_EXIT_CODE, exit_code
from helmsman.render.lines import group_lines
from helmsman.toml_text import parse_toml
from tasks.agents.catalogue import find_agent
from tasks.groups.parallel import open_group
from tasks.loop.configure import configure
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import known_state
from tasks.system.files import read_plain
from tasks.system.secrets import without_secrets
from tasks.system.trust import consent_of

PROBLEMS_SHOWN = 5
NEXT_SHOWN = 5
LARGEST_FILE = 1024 * 1024  # bytes; a longer file is cut in the middle of a line and fails to parse
EXIT_PRIORITY = (Outcome.CANCELLED, Outcome.WAITING, Outcome.EJECTED, Outcome.BLOCKED, Outcome.STOPPED)
"""Outcomes of loops that did not complete, by priority: a group exits with the code of the first one, else with 1."""


class GroupFile(Section):
    name: str = Field(default="", max_length=LONGEST_CHAIN_ID)
    loops: tuple[Link, ...] = Field(default=(), max_length=MOST_LOOPS)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    workers: int = Field(default=4, ge=1, le=MOST_WORKERS)
    best: bool = False
    in_a_row: bool = False


def chain(repo: Path, *, draft: bool = False, **options: Any) -> int:
    """Run a group of loops sequentially. With `draft`, print a loops file that splits the goal."""
    if not draft:
        return parallel(repo, in_a_row=True, **options)
    if file := options.get("file"):
        raise OperatorError("--draft needs a goal", found=str(file), remedy="helmsman chain --draft --goal GOAL")
    repository = open_repository(repo)
    goal, settings = "\n".join(options.get("goals") or ()), from_assignments(options.get("settings") or ())
    asked = LoopRequest(repository=str(repository.top), goal=goal, settings=settings)
    print(chain_file(configure(repository.top, asked, consent=consent_of(repository.consent_key)).config), end="")
    return 0


def parallel(repo: Path, *, yes: bool, as_json: bool, **options: Any) -> int:
    """Drive a group to its end. User errors are reported before anything starts."""
    repository = open_repository(repo)
    require_consent(repository, yes=yes, as_json=as_json, file=options.get("file"))
    group = open_group(parallel_request(repository, options), repository)
    for link in group.links:
        own = merge_tables(group.request.settings, link.settings)
        request = LoopRequest(repository=str(repository.top), goal=link.goal, checks=link.checks, settings=own)
        config = configure(repository.top, request, consent=consent_of(repository.consent_key)).config
        refuse_agent(config, find_agent(repository.top, config.agent), repository.top)
    with engine_here() as run, watching_group(repository, group.names, Console(stderr=as_json, highlight=False)):
        final = run("parallel", without_secrets(group.request))
    result = ParallelResult.model_validate(result_or_raise(final))
    in_a_row = group.request.in_a_row
    print_result(result, ("", *group_lines(result), *next_command_lines(result, in_a_row=in_a_row)), as_json=as_json)
    if result.done:
        return 0
    if in_a_row:  # the loop that ended it says why; a rejected one has no state
        broken = known_state(repository, next(loop.loop for loop in result.loops if loop.outcome is not Outcome.COMPLETED))
        return exit_code(broken) or 1 if broken else OPERATOR_EXIT_CODE  # completed and not merged is not success either
    outcomes = {loop.outcome for loop in ((result.kept,) if result.kept else result.loops)}
    return next((EXIT_CODES[outcome] for outcome in EXIT_PRIORITY if outcome in outcomes), 1)


def parallel_request(repository: Repository, options: Options) -> ParallelRequest:
    """Parameters of the flow. Raises OperatorError with every problem."""
    try:
        return _build_request(repository, options)
    except ValidationError as error:
        raise _validation_error("the group cannot be started", error) from error


def _build_request(repository: Repository, options: Options) -> ParallelRequest:
    checks, chained, file = options.get("checks") or (), options.get("in_a_row", False), options.get("file")
    if file and any(options.get(name) for name in ("goals", "approaches", "best_of")):  # they would be ignored silently
        raise OperatorError(
            "a file of loops already contains the goals",
            expected="a file, or goals",
            found=f"{file} and goals",
            remedy="write the goals into the file, or omit the file",
        )
    if file:
        remedy = "helmsman chain --draft prints such a file" if chained else "docs/parallel.md shows such a file"
        file_content = read_links(file, "group of loops", f"give a goal with --goal; {remedy}")
    else:
        file_content = GroupFile(loops=_group_links(options), best=options.get("best_of", 0) > 0)
    given = settings_of(repository, options)
    settings = merge_tables(file_content.settings, given)
    # a loop's own checks take precedence over common ones; settings of this command win over those of the file
    loops = (
        link.model_copy(
            update={
                "checks": link.checks or tuple(checks),
                "settings": merge_tables(link.settings, given) if link.settings else {},
            }
        )
        for link in file_content.loops
    )
    first = file_content.loops[0].goal if file_content.loops else f"plan {options.get('plan', '')}"
    name = options.get("name") or file_content.name or loop_id(first, f"{len(file_content.loops)}")[:LONGEST_CHAIN_ID].strip("-")
    if not is_loop_id(name) or len(name) > LONGEST_CHAIN_ID:
        in_file = [f"change `name` in {file}, or give --name"] if file_content.name == name else []
        raise invalid_name("a group", LONGEST_CHAIN_ID, name, *in_file)
    return ParallelRequest(
        repository=str(repository.top),
        group=name,
        loops=tuple(loops),
        workers=options.get("workers") or file_content.workers,
        best=file_content.best,
        in_a_row=file_content.in_a_row or chained,
        settings=settings if file_content.loops or not checks else merge_tables(settings, {"checks": list(checks)}),
        reopen=True,
    )


def _group_links(options: Options) -> tuple[Link, ...]:
    """One loop per goal, or one per approach to a single goal; none if a plan defines them."""
    goals, given, best_of = options.get("goals") or (), options.get("approaches") or (), options.get("best_of", 0)
    if options.get("plan"):
        if goals or best_of or given:
            remedy = "omit --goal, --best-of and --approach"
            raise OperatorError("a plan already contains the work", expected="--plan, or goals", remedy=remedy)
        return ()
    if not (goals and goals[0]):
        remedy = "give a FILE of loops, or --goal 'first' --goal 'second', or --goal 'one' --best-of 3"
        raise OperatorError("no goal is given", expected="a file of loops, or goals", remedy=remedy)
    count = max(best_of, len(given))
    if not count:
        return tuple(Link(goal=goal) for goal in goals)
    if len(goals) > 1:
        found = f"{len(goals)} goals"
        raise OperatorError("several approaches need a single goal", expected="one --goal", found=found, remedy="name one")
    variants = approaches(tuple(given), count)
    return tuple(Link(goal=goal, settings={"prompt": {"approach": approach}}) for goal in goals for approach in variants)


def next_command_lines(result: ParallelResult, *, in_a_row: bool) -> Iterator[str]:
    """Next steps to display after the group has ended."""
    relevant = result.loops[-1:] if in_a_row and result.done else result.loops  # the last branch of a sequence contains all work
    counted = (result.kept,) if result.kept else relevant  # the loops whose work is used
    left = [loop for loop in counted if loop.outcome is not Outcome.COMPLETED]
    completed = (loop for loop in counted if loop.outcome is Outcome.COMPLETED and not loop.merged)
    unmerged = [loop for loop in completed if loop.branch.startswith(OWN_BRANCHES)]  # others worked in place
    if not result.done and (left or unmerged):
        started = next((loop for loop in (*left, *unmerged) if loop.branch), None)  # without a branch there is nothing to show
        look = f"helmsman status {started.loop}; " if started else ""
        yield f"next       {look}repeat the command to continue"
        return
    yield from (f"next       git diff ...{clean(loop.branch)}; git merge {clean(loop.branch)}" for loop in unmerged[:NEXT_SHOWN])


def read_links(file: Path, what: str, remedy: str) -> GroupFile:
    """Read a TOML file with loops. Raises OperatorError with the location of every problem."""
    try:
        return GroupFile.model_validate(parse_toml(read_plain(file, LARGEST_FILE).decode("utf-8-sig")))
    except ValidationError as error:
        raise _validation_error(f"{file} is no {what}", error) from error
    except (OSError, ValueError, RecursionError) as error:
        expected = "a TOML file with [[loops]], each with a goal"
        found = f"{file}: {getattr(error, 'strerror', None) or error}"
        raise OperatorError(f"the {what} cannot be read", expected=expected, found=found, remedy=remedy) from error


def _validation_error(what: str, error: ValidationError) -> OperatorError:
    problems = (f"{'.'.join(map(str, problem['loc']))}: {problem_of(problem)}" for problem in error.errors()[:PROBLEMS_SHOWN])
    return OperatorError(
        what,
        expected="loops, each with a goal, and perhaps checks and settings",
        found=short_line("; ".join(problems)),
        remedy="correct it and start again; nothing was started",
    )
