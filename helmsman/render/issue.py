"""Issues at a tracker, the thread of the issue that a loop was started for, and its pull request.

Text from the repository, the agent or the tracker is untrusted: it notifies nobody, refers to no issue, closes none,
contains no HTML, and cannot be read as a mark.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from helmsman.config.layers import dotted_pairs
from helmsman.oversee.comment_commands import may_set_limits
from helmsman.oversee.escalation import OVER, open_concerns
from helmsman.oversee.gates import ACCEPTED_BY_PERSON
from helmsman.parsers.issues import COMMAND, format_mark, read_mark
from helmsman.plain import clean, one_line
from helmsman.records.decision import Outcome
from helmsman.records.gates import GATE, GATES, Answer, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.records.tracking import Comment, Escalation, IssueLink, TrackedIssue, TrackerItem
from helmsman.render.artifacts import checks_page, gates_page, iterations_page, verdicts_page
from helmsman.render.markdown_page import code, prose
from helmsman.render.templating import render_markdown
from helmsman.texts import format_dollars, format_duration, format_tokens, plural

LONGEST_BODY = 60_000  # characters; GitHub takes 65,536
LONGEST_TITLE = 120

_ZERO_WIDTH = "\u200b"  # zero-width space, which splits a reference
_REFERENCES = re.compile(r"@(?=[\w\\-])|#(?=\d)|(?<!\w)[Gg][Hh]\\?-(?=\d)|!(?=\d|\w+[>|^])|<(?=[!@#])")
"""Active text in trackers and chats: mentions, references to issues and to pull requests, tags.

A backslash in front of them does not help: trackers look at the rendered text. Prefect's Slack block makes a mention of
`!channel>` as well.
"""
_TITLES: Mapping[str, str] = {
    "limits": "a limit is reached",
    "ladder": "an escalation",
    "judge.rejections": "the judge keeps rejecting the work",
    "usage_limit.near": "a usage limit is near",
    **{f"{GATE}{kind}": GATES[kind].title for kind in GateKind},
}


def title(escalation: Escalation) -> str:
    """Title of an issue; stable for the same detection."""
    about = _TITLES.get(escalation.detection, f"it has ended ({escalation.detection})")
    return neutralise(clean(f"Helmsman, loop {escalation.loop[:60]}: {about}"))[:LONGEST_TITLE]


def issue_body(concern: Escalation, evidence: str, *, answers: bool) -> str:
    """Body of a new issue, or of a comment with the current state. `answers`: whether comments may answer."""
    commands = "\n".join(command_lines(concern.gate)) if concern.gate and answers else ""
    text = render_markdown("issue", concern=concern, commands=commands, evidence=evidence)
    return with_mark(format_mark(uid=concern.uid, detection=concern.detection, stage=concern.stage), text)


def closing_comment(issue: TrackedIssue, stage: str, state: LoopState) -> str:
    open_stages = [stage for stage in issue.stages if not stage.startswith(OVER)]
    answer = next((given for given in reversed(state.answers) if given.gate in open_stages[-1:]), None)
    ending, climbs, why = state.ending, state.oversight.ladder.climbs, "The loop continues."
    if answer is not None:
        author = "timeout" if answer.via == "timeout" else f"{prose(answer.by, 60) or 'a person'} ({answer.via})"
        why = f"It was answered: **{answer.choice}** by {author} at {answer.at:%Y-%m-%d %H:%M} UTC."
    elif ending is not None and ending.outcome in {Outcome.COMPLETED, Outcome.CANCELLED}:
        why = f"The loop is {ending.outcome}: {prose(ending.reason)}"
    elif climbs and climbs[-1].after < climbs[-1].before:
        why = f"The loop is back on {climbs[-1].after.title}: {prose(climbs[-1].reason)}"
    return with_mark(format_mark(uid=state.uid, detection=issue.detection, stage=stage), f"This is resolved. {why}")


def reply(comment: Comment, uid: str, text: str) -> str:
    """Reply to a comment, marked so that it is posted once."""
    return with_mark(format_mark(uid=uid, reply=str(comment.identity)), text)


def confirmation(answer: Answer, gate: Gate) -> str:
    """Confirmation of the answer read from a comment."""
    parts = [f"Understood as **{answer.choice}**: {gate.choices[answer.choice]}"]
    changed = ", ".join(f"{key}={value}" for key, value in dotted_pairs(answer.settings))
    parts += [f"Changed: {code(changed)}"] if changed else []
    parts += ["The text goes to the next iteration, if there is one."] if answer.guidance.strip() else []
    return "\n\n".join(parts)


def rejection(problem: str, gate: Gate) -> str:
    """Why a comment was not understood, and the valid commands."""
    message = "; ".join(line.strip() for line in problem.splitlines())
    return "\n\n".join([f"Not understood: {prose(message, 1000)}", "\n".join(command_lines(gate))])


def command_lines(gate: Gate) -> Iterator[str]:
    """Commands that a comment may contain, one line each."""
    yield "Answer in a comment that starts with one of:"
    yield ""
    for choice, effect in gate.choices.items():
        yield f"- `{COMMAND} {choice}`: {effect}"
    if may_set_limits(gate):
        yield f"- `{COMMAND} set limits.iterations=40`: the same as `approve`, with other limits; separate several with spaces."
    yield ""
    yield "Text after it and lines below it go to the next iteration."


def notification(concern: Escalation, state: LoopState, repository: str) -> tuple[str, str]:
    """Subject and plain-text body for chat and mail. `repository`: its path."""
    place = clean(repository)
    subject = neutralise(f"{title(concern)} ({place.rpartition('/')[2]})")
    if concern.over:
        status = f"has ended as {state.ending.outcome}" if state.ending else "continues"
        status = "waits for another answer" if state.gate else status
        return subject, neutralise(f"Resolved: the loop {clean(concern.loop)} in {place} {status}.")
    verb, purpose = ("answer", "The choices") if concern.gate else ("status", "Details")
    form = ". Or choose Resume in the menu of its run in the Prefect UI." if concern.gate and state.config.gates.ask else ""
    heading = concern.heading if concern.heading.endswith("?") else f"{concern.heading}."
    text = f"The loop {clean(concern.loop)} in {place} {heading} {one_line(concern.why)[:1000]}"
    command = shlex.join(["helmsman", verb, clean(concern.loop), "--repo", place])
    return subject, f"{neutralise(text)}\n\n{purpose}: {command}{form}"


def tracked_issue(issue: TrackerItem, comments: Sequence[Comment], uid: str) -> TrackedIssue | None:
    """The issue with the stages commented so far; None if it does not belong to this loop."""
    issue_mark = read_mark(issue.body)
    if issue_mark.get("uid") != uid or "detection" not in issue_mark:
        return None
    marks = (issue_mark, *(read_mark(comment.body) for comment in comments if is_ours(comment, issue)))
    stages = tuple(found_mark["stage"] for found_mark in marks if found_mark.get("uid") == uid and "stage" in found_mark)
    return TrackedIssue.model_validate(dict(issue) | {"detection": issue_mark["detection"], "stages": stages})


def is_ours(comment: Comment, issue: TrackerItem) -> bool:
    """Whether Helmsman wrote a comment: by the issue's author and under a mark, since a person may use the same account."""
    return comment.author == issue.author and bool(read_mark(comment.body))


def neutralise(text: str) -> str:
    """Neutralise mentions, references and tags without a visible change."""
    return _REFERENCES.sub(lambda match: f"{match[0]}{_ZERO_WIDTH}", text)


def with_mark(hidden: str, text: str) -> str:
    """Text under a mark, which is alone on the first line, out of reach of untrusted text."""
    return f"{hidden}\n{neutralise(text)[: LONGEST_BODY - len(hidden)]}"


TELL, CANCEL, RESUME = "tell", "cancel", "resume"
VERBS = {
    TELL: "the text after it, and the lines below, go to the next iteration.",
    CANCEL: "the loop stops. Its work and state are kept.",
    RESUME: "the loop continues after it has ended, with that text.",
}
"""Commands that are valid at any time, besides the answers to a question."""
COMMANDS = "A comment by somebody with access may start with one of:\n\n" + "\n".join(
    f"- `{COMMAND} {verb}`: {does}" for verb, does in VERBS.items()
)


def due_comments(state: LoopState, evidence: str) -> Iterator[tuple[str, str]]:
    """Stages and comments that the issue should have by now, oldest first."""
    checks = ", ".join(code(check.command, 120) for check in state.config.checks) or "nothing"
    started = f"The loop {code(state.loop)} works on this, from {code(state.base_branch)} at {code(state.base_commit[:12])}"
    until = f"until {checks} verifies its work. Then it opens a pull request."
    read_once = "The text of the issue is read when the label is set; later edits are ignored."
    stop = "Removing the label, or closing the issue, stops it."
    text = "\n\n".join([f"{started}, {until} {read_once}", COMMANDS, stop])
    yield "begun", with_mark(format_mark(uid=state.uid, stage="begun"), text)
    for one in open_concerns(state):
        evidence_then = one.gate.evidence if one.gate else ""
        text = issue_body(one, evidence_then or evidence, answers=True)
        yield one.stage, f"{text}\n\n{_resume_hint(state)}" if state.ending and not state.gate else text
    if state.ending and not state.gate and (text_at_end := _ending_text(state)):
        suffix = "-with-a-pull-request" if state.issue and state.issue.pull_request else ""  # once it is open
        stage = f"ended-{state.ending.at:%Y%m%dT%H%M%S}{suffix}"
        yield stage, with_mark(format_mark(uid=state.uid, stage=stage), text_at_end)


def _resume_hint(state: LoopState) -> str:
    resume = code(f"{COMMAND} {RESUME}")
    return f"Or continue here: {resume} in a comment, with guidance for the next iteration. Its branch: {code(state.branch)}."


def _ending_text(state: LoopState) -> str:
    ending, link = state.ending, state.issue
    if ending is None or link is None:
        return ""
    if ending.outcome is Outcome.COMPLETED:  # its pull request, or the reason for its absence, follows later
        done = (
            f"The work is accepted as done {ACCEPTED_BY_PERSON[ending.rule]}."
            if ending.rule in ACCEPTED_BY_PERSON
            else "The work is verified."
        )
        if link.pull_request:
            return f"{done} Pull request: {link.pull_request}"
        not_opened = f"No pull request could be opened: {prose(link.problem, 1000)}\n\n{manual_steps(state)}"
        return f"{done} {not_opened}" if link.problem else ""
    if ending.outcome is Outcome.CANCELLED:
        return f"The loop was stopped; its work is kept on {code(state.branch)}. {_resume_hint(state)}"
    return ""


def manual_steps(state: LoopState) -> str:
    """How a person opens the pull request."""
    push = code(shlex.join(["git", "push", state.config.remote.name, state.branch]))  # a reader may copy it
    resume = code(f"helmsman resume {state.loop}")
    return (
        f"By hand: {push} in the repository on the machine of the loop, then open a pull request from {code(state.branch)}"
        f" into {code(state.base_branch)}. Or fix what is in the way and run {resume}, which opens it."
    )


def pull_request_title(link: IssueLink) -> str:
    """Title of the pull request, with the title of the issue."""
    return neutralise(f"Resolve issue {link.number}: {link.title or 'no title'}")[:200]


def pull_request_body(state: LoopState, link: IssueLink) -> str:
    """The report, under the closing keyword for the forge."""
    spent, untold = state.spending, state.untold
    spent_text = (
        f"{format_dollars(spent.cost_usd, untold)}, {format_tokens(spent.tokens, untold)}, {format_duration(spent.seconds)}"
    )
    verdicts = verdicts_page(state) if state.config.judge.criteria else ""
    answers = gates_page(state) if state.answers else ""
    pages = (checks_page(state), verdicts, iterations_page(state), answers)
    begun = f"from {code(state.base_branch)} at {code(state.base_commit[:12])} to {code(state.head[:12])}"
    parts = [
        f"Created by the loop {code(state.loop)} in {plural(state.iteration, 'iteration')} ({spent_text}), {begun}.",
        f"Ended by {code(state.ending.rule if state.ending else '')}: {prose(state.ending.reason if state.ending else '', 1000)}",
        *(f"#{page}".rstrip() for page in pages if page),  # one heading level down
        f"Details: {code(f'helmsman report {state.loop}')} on the machine of the loop.",
    ]
    head = f"{format_mark(uid=state.uid, stage='pull-request')}\nCloses #{link.number}\n\n"
    return head + neutralise("\n\n".join(parts))[: LONGEST_BODY - len(head)]
