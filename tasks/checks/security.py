"""Running the security scan that the operator names, like a check: its own process, bounded, nothing left behind."""

from helmsman.errors import OperatorError
from helmsman.parsers.security_scan import read_scan
from helmsman.records.checks import Scan
from tasks.checks.run import CheckContext, boxed_check
from tasks.system.process import Ended, run

SECONDS = 600
LARGEST = 16 * 1024 * 1024
"""Bytes of a report that are read; some scanners quote a lot."""


def security_findings(command: str, check_context: CheckContext, commit: str) -> Scan:
    """What `pain.scan` finds on this commit. Its exit code says nothing: scanners exit with 1 where they find something.

    A scan that cannot be read has an `error` and no findings: it is no pain, and nothing may be compared with it.
    """
    check_context.checkout.prepare(commit)
    try:
        with boxed_check(check_context, command, ()) as boxed:
            ended = run(
                boxed.arguments,
                cwd=check_context.root,
                env=boxed.environment,
                tag=f"{check_context.tag}/scan",
                deadline=SECONDS,
                stop=check_context.stop,
                keep=LARGEST,
            )
    except OperatorError as error:
        return Scan(commit=commit, error=str(error))
    finally:
        check_context.checkout.reset()
    check_context.heed()
    return _read(ended, str(check_context.root), commit)


def _read(ended: Ended, worktree: str, commit: str) -> Scan:
    if ended.by != "itself":
        return Scan(commit=commit, error=f"the scan did not end within {SECONDS} s")
    if ended.output_bytes > 2 * LARGEST:
        return Scan(commit=commit, error=f"the scan printed {ended.output_bytes} bytes, of which {2 * LARGEST} would be read")
    scan = read_scan(ended.head + ended.tail, worktree, commit)
    return scan.model_copy(update={"error": f"{scan.error}; it ended with {ended.exit_code}"}) if scan.error else scan
