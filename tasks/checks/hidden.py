"""Hidden checks: run on the work with the tests of the start, and told by name alone."""

from dataclasses import replace
from pathlib import Path

from helmsman.config import HiddenCheckConfig
from helmsman.records.checks import CheckResult
from tasks.checks.run import CheckContext
from tasks.checks.targets import Target, run_target, with_checks
from tasks.checks.trusted_run import Range, changed_since_start, tests_as_they_were
from tasks.repository.clean_checkout import CleanCheckout


def run_hidden(room: CheckContext, work: Range) -> tuple[CheckResult, ...]:
    """What each hidden check says of the work, with all that it printed. `room` is in a clean checkout."""
    assert isinstance(room.checkout, CleanCheckout)  # noqa: S101 - for the type checker; see require_outside
    checkout, overlay = room.checkout, tuple(tests_as_they_were(work, changed_since_start(work)).values())
    apart = replace(room, tag=f"{room.tag}/hidden", before=None, required=(), hidden=True)
    target = Target(work.commit, work.commit, work.config, overlay)
    try:
        return tuple(_run(apart, checkout, target, check) for check in work.config.hidden)
    finally:
        checkout.prepare(work.commit)  # nothing of them is there for what runs next


def _run(room: CheckContext, checkout: CleanCheckout, target: Target, check: HiddenCheckConfig) -> CheckResult:
    laid = Path(check.folder).expanduser() if check.folder else None
    alone = replace(target, config=with_checks(target.config, (check,)))
    return run_target(replace(room, checkout=replace(checkout, laid=laid)), alone).results[0]
