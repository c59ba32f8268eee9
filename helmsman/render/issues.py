"""Issues at a tracker as a person reads them, and the hidden marks by which they are found again.

Whatever comes from the repository, the agent or the tracker is shown and never obeyed: it notifies nobody, refers to no issue,
closes none, brings no HTML, and cannot stand where a mark is read.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from helmsman.oversee.commands_said import COMMAND, sets_limits
from helmsman.oversee.escalations import OVER
from helmsman.plain import clean
from helmsman.records.gates import GATE, GATES, Answer, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.records.tracking import Change, Comment, Escalation, Found, TrackedIssue
from helmsman.records.verdict import Outcome
from helmsman.render.cells import code, prose

LONGEST_BODY = 60_000
"""Characters; GitHub takes 65,536."""
LONGEST_TITLE = 120

_BREAK = "\u200b"
"""Shows nothing, and parts what would be read as one word."""
_LOADED = re.compile(r"@(?=[\w\\-])|#(?=\d)|(?<!\w)[Gg][Hh]\\?-(?=\d)|!(?=\d)|<(?=[!@#])")
"""What trackers and chats read in a text: mentions, references to issues and to pull requests, tags.

A backslash in front of them does not help: trackers look at what a text renders to.
"""
_MARK = re.compile(r"<!-- helmsman:((?: [a-z]+=[\w.+-]+)+) -->", re.ASCII)
_TITLES: Mapping[str, str] = {
    "limits": "a limit is reached",
    "judge.rejections": "the judge keeps rejecting the work",
    **{f"{GATE}{kind}": GATES[kind].title for kind in GateKind},
}


def title(one: Escalation) -> str:
    """The same for as long as the issue is about the same."""
    about = _TITLES.get(one.detection, one.detection)
    return harmless(clean(f"Helmsman, loop {one.loop[:60]}: {about}"))[:LONGEST_TITLE]


def issue_body(one: Escalation, evidence: str, *, answers: bool) -> str:
    """A new issue, or a comment that says how it stands now. `answers`: whether comments may answer."""
    lines = [f"The loop {code(one.loop)} {one.heading}.", prose(one.why, 1500), *_ways(one, answers=answers), "---", evidence]
    return under(mark(uid=one.uid, detection=one.detection, stage=one.stage), "\n\n".join(lines))


def closing_comment(issue: TrackedIssue, stage: str, state: LoopState) -> str:
    """Why an issue is closed."""
    return under(mark(uid=state.uid, detection=issue.detection, stage=stage), f"This is over. {_why_over(issue, state)}")


def reply(comment: Comment, uid: str, text: str) -> str:
    """An answer to a comment, marked so that it is given once."""
    return under(mark(uid=uid, reply=str(comment.identity)), text)


def understood(answer: Answer, gate: Gate) -> str:
    """What a comment was taken for."""
    told = [f"Understood as **{answer.choice}**: {gate.choices[answer.choice]}"]
    told += [f"Changed: {code(', '.join(_assignments(answer.settings)))}"] if answer.settings else []
    told += ["The words go to the next iteration."] if answer.guidance.strip() else []
    return "\n\n".join(told)


def refused(problem: str, gate: Gate) -> str:
    """Why a comment was not taken, and what may be said."""
    said = "; ".join(line.strip() for line in problem.splitlines())
    return "\n\n".join([f"Not understood: {prose(said, 1000)}", "\n".join(command_lines(gate))])


def command_lines(gate: Gate) -> Iterator[str]:
    """What may be said in a comment, one line each."""
    yield "A comment answers. It begins with one of:"
    yield ""
    for choice, effect in gate.choices.items():
        yield f"- `{COMMAND} {choice}`: {effect}"
    if sets_limits(gate):
        yield f"- `{COMMAND} set limits.iterations=40`: the same as `approve`, under other limits; several are parted by spaces."
    yield ""
    yield "Words behind it and lines below it are told to the next iteration."


def notification(change: Change, state: LoopState) -> tuple[str, str]:
    """Subject and body for chat and mail, which read no Markdown of ours."""
    one = change.escalation
    if change.over:
        return title(one), harmless(f"Over: the loop {clean(one.loop)} {_now(state)}.")
    ways = "helmsman answer" if one.gate else "helmsman status"
    said = f"The loop {clean(one.loop)} {one.heading}. {clean(one.why)[:1000]}\n\n{ways} {clean(one.loop)}"
    return title(one), harmless(said)


def _now(state: LoopState) -> str:
    return f"has ended as {state.ending.outcome}" if state.ending and state.gate is None else "goes on"


def tracked(found: Found, comments: Sequence[Comment], uid: str) -> TrackedIssue | None:
    """One of this loop's issues with what was told there; None where it is another's."""
    own = read_mark(found.body)
    if own.get("uid") != uid or "detection" not in own:
        return None
    marks = (own, *(read_mark(comment.body) for comment in comments if is_ours(comment, found)))
    stages = tuple(one["stage"] for one in marks if one.get("uid") == uid and "stage" in one)
    return TrackedIssue(
        number=found.number, is_open=found.is_open, detection=own["detection"], stages=stages, labels=found.labels
    )


def is_ours(comment: Comment, issue: Found) -> bool:
    """Whether we wrote a comment: by the account that opened the issue, and under a mark. A person may use the same account."""
    return comment.author == issue.author and bool(read_mark(comment.body))


def read_mark(body: str) -> dict[str, str]:
    """What the first line hides; nothing where it hides nothing of ours."""
    first = body.lstrip("\ufeff").partition("\n")[0].strip()
    found = _MARK.fullmatch(first)
    return dict(part.split("=", 1) for part in found[1].split()) if found else {}


def harmless(text: str) -> str:
    """The same to the eye, and nothing in it notifies, refers or commands."""
    return _LOADED.sub(lambda found: f"{found[0]}{_BREAK}", text)


def mark(**fields: str) -> str:
    """What is hidden in a first line, for `read_mark`."""
    return f"<!-- helmsman: {' '.join(f'{name}={value}' for name, value in fields.items())} -->"


def under(hidden: str, text: str) -> str:
    """The mark stands alone in the first line, where nothing foreign can come."""
    return f"{hidden}\n{harmless(text)[: LONGEST_BODY - len(hidden)]}"


def _ways(one: Escalation, *, answers: bool) -> Iterator[str]:
    """What a person can do."""
    if one.gate is None and one.stage.startswith("E-"):
        look, stop = (code(f"helmsman {verb} {one.loop}") for verb in ("status", "cancel"))
        yield f"It goes on by itself. Look with {look}, stop it with {stop}."
        return
    if one.gate is None:
        look, resume = (code(f"helmsman {verb} {one.loop}") for verb in ("status", "resume"))
        yield f"Look with {look}, go on with {resume}."
        return
    asked_of = f"Asked of: {prose(one.gate.asked_of)}. " if one.gate.asked_of else ""
    yield f"{asked_of}The choices, with their commands, are shown by {code(f'helmsman answer {one.loop}')}."
    if answers:
        yield "\n".join(command_lines(one.gate))
    if one.gate.deadline is not None:
        yield f"Without an answer by {one.gate.deadline:%Y-%m-%d %H:%M} UTC: **{one.gate.at_timeout}**."


def _why_over(issue: TrackedIssue, state: LoopState) -> str:
    told = [stage for stage in issue.stages if not stage.startswith(OVER)]
    answer = next((one for one in reversed(state.answers) if one.gate in told[-1:]), None)
    if answer is not None:
        return f"It was answered: **{answer.choice}** by {_who(answer)} at {answer.at:%Y-%m-%d %H:%M} UTC."
    if state.ending is not None and state.ending.outcome in {Outcome.COMPLETED, Outcome.CANCELLED}:
        return f"The loop is {state.ending.outcome}: {prose(state.ending.reason)}"
    climbs = state.oversight.ladder.climbs
    if climbs and climbs[-1].after < climbs[-1].before:
        return f"The loop is back on {climbs[-1].after.title}: {prose(climbs[-1].reason)}"
    return "The loop goes on."


def _who(answer: Answer) -> str:
    return "lapse of time" if answer.via == "timeout" else f"{prose(answer.by, 60) or 'a person'} ({answer.via})"


def _assignments(settings: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _assignments(value, f"{prefix}{key}.")  # pyright: ignore[reportUnknownArgumentType] - JSON's keys
        else:
            yield f"{prefix}{key}={value}"
