"""What the issue that a loop was started for is told of it, each thing once; and the pull request that is its result."""

import shlex
from collections.abc import Iterator

from helmsman.oversee.commands_said import COMMAND
from helmsman.oversee.escalations import concerns
from helmsman.oversee.gates import BY_A_WORD
from helmsman.records.issue import IssueLink
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.render.cells import code, prose
from helmsman.render.issues import LONGEST_BODY, harmless, issue_body, mark, under
from helmsman.render.tables import checks_table, gates_table, iterations_table, verdicts_table
from helmsman.texts import counted, dollars_told, duration, tokens_told

TELL, CANCEL, RESUME = "tell", "cancel", "resume"
VERBS = {
    TELL: "the words behind it, and the lines below, are told to the next iteration.",
    CANCEL: "the loop stops. Its work and its state are kept.",
    RESUME: "the loop goes on after an end, with those words.",
}
"""What may be said at any time, beside the answers to a question."""
LONGEST_TITLE = 200


def due(state: LoopState, evidence: str) -> Iterator[tuple[str, str]]:
    """Stages and comments of all that the issue should have been told by now, oldest first."""
    yield "begun", under(mark(uid=state.uid, stage="begun"), _begun(state))
    for one in concerns(state):
        seen = one.gate.evidence if one.gate else ""
        told = issue_body(one, seen or evidence, answers=True)
        yield one.stage, f"{told}\n\n{_ways(state)}" if state.ending and not state.gate else told
    if state.ending and not state.gate and (words := _over(state)):
        stage = f"ended-{state.ending.at:%Y%m%dT%H%M%S}{_suffix(state)}"
        yield stage, under(mark(uid=state.uid, stage=stage), words)


def _suffix(state: LoopState) -> str:
    """A pull request that could not be opened at first is told when it is there."""
    return "-with-a-pull-request" if state.issue and state.issue.pull_request else ""


def _begun(state: LoopState) -> str:
    checks = ", ".join(code(check.command, 120) for check in state.config.checks) or "nothing"
    begun = f"The loop {code(state.loop)} works on this, from {code(state.base_branch)} at {code(state.base_commit[:12])}"
    until = f"until its work is proven by {checks}. Then it opens a pull request."
    kept = "The text of the issue counts as it was when the label was set."
    stop = "Taking the label away, or closing the issue, stops it."
    return "\n\n".join([f"{begun}, {until} {kept}", "\n".join(commands()), stop])


def commands() -> Iterator[str]:
    """What a comment may say at any time, one line each."""
    yield "A comment of somebody who may steer it begins with one of:"
    yield ""
    for verb, effect in VERBS.items():
        yield f"- `{COMMAND} {verb}`: {effect}"


def _ways(state: LoopState) -> str:
    resume = code(f"{COMMAND} {RESUME}")
    return f"Or go on here: {resume} in a comment, with words to the next iteration. Its branch: {code(state.branch)}."


def _over(state: LoopState) -> str:
    ending, link = state.ending, state.issue
    if ending is None or link is None:
        return ""
    if ending.outcome is Outcome.COMPLETED:  # its result comes after its end, or the reason why it does not
        done = f"The work counts as done {BY_A_WORD[ending.rule]}." if ending.rule in BY_A_WORD else "The work is proven."
        return f"{done} {_result(state, link)}" if link.pull_request or link.problem else ""
    if ending.outcome is Outcome.CANCELLED:
        return f"The loop was stopped; its work is kept on {code(state.branch)}. {_ways(state)}"
    return ""


def _result(state: LoopState, link: IssueLink) -> str:
    if link.pull_request:
        return f"Pull request: {link.pull_request}"
    return f"No pull request could be opened: {prose(link.problem, 1000)}\n\n{by_hand(state)}"


def by_hand(state: LoopState) -> str:
    """How a person opens it."""
    push = code(shlex.join(["git", "push", state.config.remote.name, state.branch]))  # whoever reads it may copy it
    resume = code(f"helmsman resume {state.loop}")
    return (
        f"By hand: {push} in the repository on the machine of the loop, then open a pull request from {code(state.branch)}"
        f" into {code(state.base_branch)}. Or mend what is in the way and run {resume}, which opens it."
    )


# --- the pull request -----------------------------------------------------------------------------------------------


def pull_request_title(link: IssueLink) -> str:
    """Our words, and the issue's title."""
    return harmless(f"Resolve issue {link.number}: {link.title or 'no title'}")[:LONGEST_TITLE]


def pull_request_body(state: LoopState, link: IssueLink) -> str:
    """The report, under the one line that a forge shall obey."""
    spent = state.spending
    used = f"{dollars_told(spent.cost_usd, state.untold)}, {tokens_told(spent.tokens, state.untold)}, {duration(spent.seconds)}"
    judged = verdicts_table(state) if state.config.judge.criteria else ""
    answers = gates_table(state) if state.answers else ""
    begun = f"from {code(state.base_branch)} at {code(state.base_commit[:12])} to {code(state.head[:12])}"
    parts = [
        f"Made by the loop {code(state.loop)} in {counted(state.iteration, 'iteration')} ({used}), {begun}.",
        f"Ended by {code(state.ending.rule if state.ending else '')}: {prose(state.ending.reason if state.ending else '', 1000)}",
        *(_lower(page) for page in (checks_table(state), judged, iterations_table(state), answers) if page),
        f"All of it: {code(f'helmsman report {state.loop}')} on the machine of the loop.",
    ]
    head = f"{mark(uid=state.uid, stage='pull-request')}\nCloses #{link.number}\n\n"
    return head + harmless("\n\n".join(parts))[: LONGEST_BODY - len(head)]


def _lower(page: str) -> str:
    """Its heading under the report's."""
    return f"#{page.rstrip()}" if page.startswith("# ") else page.rstrip()
