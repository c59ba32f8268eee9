"""Comparing what loops with one goal have made: their diffs read, a model asked where a judge is configured, one chosen."""

from collections.abc import Callable, Sequence

from helmsman.config import LoopConfig
from helmsman.oversee.best import Candidate, agreed, by_rule
from helmsman.records.focus import Writing
from helmsman.records.parallel import Choice
from helmsman.records.state import LoopState
from tasks.credentials import judge_credentials
from tasks.models.writing import compare
from tasks.observers.follow import newest_record
from tasks.repository.git import Repository, git
from tasks.system.secrets import redact

LONGEST_DIFF = 400_000
"""Characters of one candidate's diff that are kept; the question has room for fewer."""
COLUMNS = 3
"""Of a line of `git diff --numstat`: added, removed, path."""


def best_of(repository: Repository, states: Sequence[LoopState], tag: str, stop: Callable[[], bool]) -> Choice:
    """The best of loops that have completed. Raises Cancelled."""
    if len(states) == 1:
        return Choice(loop=states[0].loop, reason="no other loop completed")
    candidates = [_candidate(repository, state) for state in states]
    config = states[0].config
    if not config.judge.criteria:
        return by_rule(candidates)
    heard = [_asked(config, order, tag, stop) for order in (candidates, candidates[::-1])]
    (one, first), (other, second) = heard
    spent = first.usage.cost_usd + second.usage.cost_usd
    return agreed(one or first.reason, other or second.reason, candidates).model_copy(update={"cost_usd": spent})


def _asked(config: LoopConfig, order: Sequence[Candidate], tag: str, stop: Callable[[], bool]) -> tuple[Choice | None, Writing]:
    return compare(config, order, credentials=lambda: judge_credentials(config), tag=tag, stop=stop)


def _candidate(repository: Repository, state: LoopState) -> Candidate:
    between = (state.base_commit, state.head)
    numbers = git(repository.common, "diff", "--numstat", "--no-ext-diff", *between, "--").split("\n")  # a name may hold others
    counts = [_counts(line) for line in numbers if line]
    diff = git(repository.common, "diff", "--no-ext-diff", "--no-textconv", "--no-color", *between, "--")
    record = newest_record(repository, state.loop)
    return Candidate(
        loop=state.loop,
        diff=redact(diff[: 2 * LONGEST_DIFF])[:LONGEST_DIFF],
        files=len(counts),
        lines=sum(counts),
        findings=len(state.findings),
        score=record.judgement.score if record and record.judgement else None,
        cost_usd=state.spending.cost_usd,
    )


def _counts(line: str) -> int:
    """Lines that a file's row tells; a binary one has none."""
    added, removed, _ = line.split("\t", COLUMNS - 1)
    return sum(int(part) for part in (added, removed) if part.isdigit())
