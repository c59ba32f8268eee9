"""The checks on the work with one small mistake at a time: how many of these they notice."""

from contextlib import suppress

from helmsman.parsers.test_files import is_test_file
from helmsman.records.checks import CheckReport
from helmsman.records.proof import Mutants
from helmsman.verify.called_languages import is_python_source
from helmsman.verify.new_tests import chosen, mutants_of, wilson
from tasks.checks.run import CheckContext, laid, run_check
from tasks.checks.trusted_run import Range
from tasks.repository.diffs import read_diff
from tasks.repository.setup import SetupFailed

SLOWEST = 3
"""A check that takes so many times as long as on the work itself has noticed the mistake: it hangs."""
SPARE_SECONDS = 10


def mutants_in(check_context: CheckContext, work: Range, own: CheckReport) -> Mutants | None:
    """Run the checks on up to `proof.mutants` mutants of changed lines. None where there is no line to change."""
    diff = read_diff(work.repository.common, work.base, work.commit)
    sources = [file for file in diff if file.after and is_python_source(file.path) and not is_test_file(file.path)]
    every = [one for file in sources for one in mutants_of(file.path, file.after or "", [line.number for line in file.added])]
    made = chosen(every, work.config.proof.mutants)
    pairs = zip(work.config.checks, own.results, strict=True)
    limited = [(check, SLOWEST * result.seconds + SPARE_SECONDS) for check, result in pairs]
    survived: list[str] = []
    for mutant in made:
        with suppress(SetupFailed), laid(check_context, work.commit, work.config, mutant.path, mutant.text):
            if all(run_check(check_context, place, *of).passed for place, of in enumerate(limited)):
                survived.append(mutant.told)
    if not made:
        return None
    low, high = wilson(len(made) - len(survived), len(made))
    return Mutants(made=len(made), survived=tuple(survived), low=round(low, 3), high=round(high, 3))
