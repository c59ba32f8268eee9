"""Hidden checks: run on the work with the tests of the start, and told by name alone."""

from dataclasses import replace
from pathlib import Path

from helmsman.config import HiddenCheckConfig
from helmsman.records.checks import CheckResult
from tasks.checks.run import CheckContext
from tasks.checks.targets import Target, run_target, with_checks
from tasks.checks.trusted_run import Range, changed_since_start, tests_as_they_were
from tasks.repository.clean_checkout import CleanCheckout


def run_hidden(check_context: CheckContext, work: Range) -> tuple[CheckResult, ...]:
    """What each hidden check says of the work, with all that it printed. `check_context` is in a clean checkout."""
    assert isinstance(check_context.checkout, CleanCheckout)  # noqa: S101 - for the type checker; see require_outside
    checkout, overlay = check_context.checkout, tuple(tests_as_they_were(work, changed_since_start(work)).values())
    apart = replace(check_context, tag=f"{check_context.tag}/hidden", before=None, required=(), hidden=True)
    target = Target(work.commit, work.commit, work.config, overlay)
    try:
        return tuple(_run(apart, checkout, target, check) for check in work.config.hidden)
    finally:
        checkout.prepare(work.commit)  # nothing of them is there for what runs next


def _run(check_context: CheckContext, checkout: CleanCheckout, target: Target, check: HiddenCheckConfig) -> CheckResult:
    laid = Path(check.folder).expanduser() if check.folder else None
    alone = replace(target, config=with_checks(target.config, (check,)))
    return run_target(replace(check_context, checkout=replace(checkout, laid=laid)), alone).results[0]
