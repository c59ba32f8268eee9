"""What a person should know before any work: which part of the goal nothing could prove as it is configured."""

from collections.abc import Iterator, Sequence

from helmsman.config import LoopConfig
from helmsman.records.checks import CheckReport
from helmsman.records.plan import PlanItem
from helmsman.verify.objections import some

GREEN = "every check passes before any work: they do not show whether the goal is reached"
NOTHING_ELSE = (
    "every check is already green and nothing else can prove the goal: add a test that fails, or criteria for a judge ([judge]);"
    " otherwise a new test that fails without the work has to show it"
)
NO_CHECK = "no check and no criterion touches the goal: nothing will be verified"


def start_warnings(config: LoopConfig, report: CheckReport | None, items: Sequence[PlanItem]) -> Iterator[str]:
    """`report`: of the checks before any work, where they were tried. `items`: what of a plan the loop is for."""
    judged = bool(config.judge.criteria)
    if not config.checks and not judged and not items:
        yield NO_CHECK
    if report is not None and report.passed:
        yield GREEN if judged or items else NOTHING_ELSE
    left = [item for item in items if not item.done]
    without = [item.id for item in left if not item.check]
    if without:
        who = "they will be judged" if judged else "a person will be asked"
        have = "has" if len(without) == 1 else "have"
        yield f"{len(without)} of {len(left)} items {have} no check: {who}, unless a test names the item ({some(without)})"
