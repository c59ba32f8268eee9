"""The pages of what steers a loop and what it ends with: detectors, hints, decisions, exit statuses, errors."""

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
from tools.reference.chances import ways_of
from tools.reference.markdown import cell, code, page, table

EXITS = {
    "completed": "The agent asked to be done and everything that was to be proven is.",
    "failed": "The agent or the world is to blame, or something unforeseen.",
    "stopped": "A limit or a rule ended it.",
    "waiting": "A person has to look.",
    "ejected": "Pain: a secret in the diff, wrecked tests, destruction. The loop ended at once.",
    "unproven": "The agent asked twice to be done, every check was green before its work, and nothing shows the work.",
    "nothing_changed": "The agent asked twice to be done, and nothing differs from the start.",
    "blocked": "The agent said that it cannot go on and why, and the judge or a fresh session confirmed it; the work is kept.",
    "cancelled": "Somebody asked it to stop; work and state are kept.",
}
VERDICTS = {
    "verified": "Something that failed without the change passes with it, or a judge agrees; nothing stands against it.",
    "not_verified": "Something broke, a red test was changed to pass, a hidden check fails, or the judge rejects it.",
    "inconclusive": "It cannot be told. Never a pass.",
}
RETRIED = {"TransientError": "yes, with growing delays"}


def errors_page() -> str:
    rows = [(code(str(number)), outcome.value, EXITS[outcome.value]) for outcome, number in EXIT_CODES.items()]
    rows.append((code(str(OPERATOR_EXIT_CODE)), "failed", "The operator can fix it: configuration, repository, credentials."))
    shape = failure("error.operator", "limits.iteration (command line): unknown key")
    return page(
        "# Exit statuses and errors",
        "## Exit statuses",
        table(("status", "outcome", "meaning"), sorted(rows, key=lambda row: int(row[0].removeprefix("<code>")[:-7]))),
        "`helmsman verify` ends with",
        table(("status", "verdict", "meaning"), [(code(str(at)), one, VERDICTS[one]) for one, at in EXIT_STATUS.items()]),
        "## Errors",
        "An error names the problem, what was expected, what was found and what to do; `fault` says who can fix it.",
        table(("class", "fault", "meaning", "tried again"), _errors()),
        "With `--json` a command that cannot begin prints the same object as a loop that ended:",
        "```json\n" + json.dumps(shape, indent=2) + "\n```",
    )


def _errors() -> Iterator[tuple[str, str, str, str]]:
    for kind in errors.HelmsmanError.__subclasses__():
        yield code(kind.__name__), kind.fault, cell(inspect.getdoc(kind) or ""), RETRIED.get(kind.__name__, "no")


def rules_page() -> str:
    return page(
        "# Rules",
        "What the overseer notices, what a diff may hint at, and how it is decided what follows. How they work together is "
        "described in [How loops are kept from getting stuck](../control.md).",
        "## Detectors",
        "Each looks at the last iterations. `detect.off` takes these names. `detect.sensitivity` changes how many. "
        "S4, S5 and the like are rows of [what it does](../features.md).",
        table(("detector", "what sets it off"), [(code(d.rule), cell(inspect.getdoc(d.evaluate) or "")) for d in DETECTORS]),
        "## Hints",
        "Each reads the diff since the loop began. People and the judge see them; they block nothing. A change of what "
        "`invariants.protect` names is found by the rule `protected` and blocks.",
        table(("rule", "what would be honest"), [(code(hint.rule), cell(hint.honest)) for hint in HINTS]),
        "## Decisions",
        "Asked after every iteration, in this order. The first that is answered with yes decides; `helmsman explain LOOP` shows "
        "the way.",
        table(("rule", "question", "yes means"), [(code(q.rule), cell(q.asks), ", ".join(ways_of(q))) for q in QUESTIONS]),
    )
