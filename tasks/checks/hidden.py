"""Hidden checks: run on the work with the tests of the start, and told by name alone."""

from dataclasses import replace
from pathlib import Path

from helmsman.records.checks import CheckResult
from tasks.checks.run import CheckContext
from tasks.checks.targets import Target, run_target, with_checks
from tasks.checks.trusted_run import Range, changed_since_start, tests_as_they_were
from tasks.repository.clean_checkout import CleanCheckout


def run_hidden(check_context: CheckContext, work: Range) -> tuple[CheckResult, ...]:
    """What each hidden check says of the work, with all that it printed. `check_context` is in a clean checkout."""
    assert isinstance(check_context.checkout, CleanCheckout)  # noqa: S101 - for the type checker; see require_outside
    checkout, overlay = check_context.checkout, tuple(tests_as_they_were(work, changed_since_start(work)).values())
    results: list[CheckResult] = []
    try:
        for check in work.config.hidden:
            there = replace(checkout, laid=Path(check.folder).expanduser() if check.folder else None)
            tag = f"{check_context.tag}/hidden"
            apart = replace(check_context, checkout=there, tag=tag, before=None, required=(), hidden=True)
            alone = Target(work.commit, work.commit, with_checks(work.config, (check,)), overlay)
            results += run_target(apart, alone).results
    finally:
        checkout.prepare(work.commit)  # nothing of them is there for what runs next
    return tuple(results)
