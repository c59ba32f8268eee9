"""The pages of rules and endings: detectors, hints, decisions, exit statuses, errors."""

import inspect
import json
from collections.abc import Iterator

from deployments.errors import failure
from helmsman import errors
from helmsman.oversee.decide import QUESTIONS
from helmsman.oversee.detectors import DETECTORS
from helmsman.records.result import EXIT_CODES, OPERATOR_EXIT_CODE
from helmsman.records.verification import EXIT_STATUS
from helmsman.verify.hints import HINTS
from tools.reference.markdown import cell, code, page, table
from tools.reference.results import possible_results

OUTCOME_MEANINGS = {
    "completed": "The agent claimed completion, and everything required is proven.",
    "failed": "The agent, the environment or an unexpected error is the cause.",
    "stopped": "A limit or a rule ended the loop.",
    "waiting": "A person must decide.",
    "ejected": "A critical event: a secret in the diff, every test broken, a destructive command. The loop ended at once.",
    "unproven": "The agent claimed completion twice, every check was green before its work, and nothing proves the work.",
    "nothing_changed": "The agent claimed completion twice, and nothing differs from the start.",
    "blocked": "The agent said that it cannot continue, and why; the judge or a fresh session confirmed it. The work is kept.",
    "cancelled": "Somebody cancelled the loop; work and state are kept.",
}
VERDICTS = {
    "verified": "Something that failed without the change passes with it, or a judge agrees; nothing contradicts it.",
    "not_verified": "Something broke, a failing test was changed to pass, a hidden check fails, or the judge rejects it.",
    "inconclusive": "The evidence is not sufficient. Never a pass.",
}
RETRIED = {"TransientError": "yes, with growing delays"}


def errors_page() -> str:
    rows = [(code(str(number)), outcome.value, OUTCOME_MEANINGS[outcome.value]) for outcome, number in EXIT_CODES.items()]
    rows.append((code(str(OPERATOR_EXIT_CODE)), "failed", "The operator can fix it: configuration, repository, credentials."))
    example = failure("error.operator", "limits.iteration (command line): unknown key")
    return page(
        "# Exit statuses and errors",
        "## Exit statuses",
        table(("status", "outcome", "meaning"), sorted(rows, key=lambda row: int(row[0].removeprefix("<code>")[:-7]))),
        "Exit statuses of `helmsman verify`:",
        table(
            ("status", "verdict", "meaning"),
            [(code(str(status)), verdict, VERDICTS[verdict]) for verdict, status in EXIT_STATUS.items()],
        ),
        "## Errors",
        "An error names the problem, what was expected, what was found and what to do; `fault` says who can fix it.",
        table(("class", "fault", "meaning", "retried"), _errors()),
        "With `--json`, a command that cannot start prints the same object as an ended loop:",
        "```json\n" + json.dumps(example, indent=2) + "\n```",
    )


def _errors() -> Iterator[tuple[str, str, str, str]]:
    for kind in errors.HelmsmanError.__subclasses__():
        yield code(kind.__name__), kind.fault, cell(inspect.getdoc(kind) or ""), RETRIED.get(kind.__name__, "no")


def rules_page() -> str:
    return page(
        "# Rules",
        "What the overseer detects, the hints in a diff, and the decisions that follow. How they work together is "
        "described in [How loops are kept from getting stuck](../control.md).",
        "## Detectors",
        "Each detector examines the last iterations. `detect.off` takes these names; `detect.sensitivity` changes how many "
        "iterations. S4, S5 and similar ids are rows of [the features](../features.md).",
        table(
            ("detector", "what triggers it"),
            [(code(detector.rule), cell(inspect.getdoc(detector.evaluate) or "")) for detector in DETECTORS],
        ),
        "## Hints",
        "Each rule reads the diff since the start of the loop. People and the judge see the hints; they never block. A change of "
        "a path in `invariants.protect` is found by the rule `protected` and blocks.",
        table(("rule", "the honest alternative"), [(code(hint.rule), cell(hint.honest)) for hint in HINTS]),
        "## Decisions",
        "Asked after every iteration, in this order. The first question answered with yes decides; `helmsman explain LOOP` "
        "shows them.",
        table(
            ("rule", "question", "yes means"),
            [(code(question.rule), cell(question.asks), ", ".join(possible_results(question))) for question in QUESTIONS],
        ),
    )
