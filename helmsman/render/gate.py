"""A question to a person: above the fields of a form, in an issue, in a terminal with the exact command behind each choice."""

import html
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from helmsman.oversee.diagnosis import sentence
from helmsman.plain import LONGEST_LINE, clean, clean_lines, shortened
from helmsman.records.alignment import Alignment
from helmsman.records.gates import GATES, Answer, Choice, Gate, GateKind
from helmsman.records.modes import Rung, short_rung
from helmsman.records.request import KEYS, LoopRequest, title
from helmsman.records.state import LoopState
from helmsman.render.facts import coded, failing_names, green_text, some
from helmsman.render.markdown_page import cell, code, fence, prose, table
from helmsman.texts import counted, duration, money_text

EVIDENCE_LINES, EVIDENCE_WIDTH = 8, 160
"""Lines of evidence that a terminal shows, and characters of each."""
FAILURES_SHOWN, OUTPUT_SHOWN, MOMENTS_SHOWN, ANSWERS_SHOWN = 3, 1200, 10, 3
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_INDENT = " " * 11
_NEEDED = {GateKind.BUDGET: "--set limits.KEY=VALUE"}
"""Without it, an approval of that kind would say nothing."""
_ADVISES = re.compile(r"\bhelmsman \w|^a person has to ")


# --- in a form ----------------------------------------------------------------------------------------------------


def form_text(gate: Gate, seen: str) -> str:
    """What stands above the fields of a form, as Markdown; all of it has to fit on a screen.

    `seen`: what the person has to know, as Markdown. Why the last answer was not taken comes first.
    """
    asked_of = f" Asked of: {prose(gate.asked_of)}." if gate.asked_of else ""
    return _parts(
        f"> {not_taken(gate)}" if gate.refused else "",
        f"**{_quoted(gate.question)}**{asked_of}",
        _list(f"**{choice}**: {effect}" for choice, effect in gate.choices.items()),
        f"Without an answer by {_deadline(gate)}: **{gate.at_timeout}**." if gate.deadline else "",
        seen,
    )


def not_taken(gate: Gate) -> str:
    """Why the last answer was not taken, as Markdown."""
    return f"**Your answer was not taken:** {prose(gate.refused, 1000)}"


def in_short(state: LoopState) -> str:
    """What a form tells of a loop: one line of how it stands, what fails, why it stopped, and its goal."""
    failing = some(failing_names(state.checks)) if state.iteration and state.checks else some(_agreed(state))
    checks = _list(cell(name, 160) for name in failing)
    return _parts(
        _standing(state),
        f"{'Failing' if state.iteration else 'Checks'}:\n\n{checks}" if checks else "",
        f"Why it stopped: {_quoted(_without_advice(state.ending.reason), 400)}" if state.ending else "",
        f"{_who_says(state)}: {_quoted(state.last_call.words)}" if state.last_call.words else "",
        f"Goal: {_quoted(state.config.goal)}",
        f"The judge: {_quoted(state.judge.feedback[-1].reason, 400)}" if state.judge.feedback else "",
        _list(_quoted(sentence(one)) for one in state.oversight.conflicts[:FAILURES_SHOWN]),
        _titled("For AGENTS.md", some(map(_quoted, state.proposed)) if state.ending else ()),
    )


def question_evidence(alignment: Alignment, file: str) -> str:
    """What belongs to the questions of an alignment: the goal, what is understood of it, where all of it stands."""
    gaps, wanted = alignment.gaps, alignment.specification.deliverables
    return _parts(
        f"Goal: {prose(alignment.specification.goal, 1000)}",
        _titled("It is understood to deliver", map(prose, wanted)),
        f"Approach: {prose(alignment.process.approach, 800)}" if alignment.process.approach else "",
        _titled("Not clear", map(prose, (*gaps.capability, *gaps.instruction, *gaps.intentionality))),
        f"All of it stands in {code(file)}. Answering there, each question ticked with its answer below it, counts as well.",
    )


def _who_says(state: LoopState) -> str:
    return "The agent says that it is blocked" if state.last_call.blocked else "The agent's last words"


def _standing(state: LoopState) -> str:
    """How it stands, in one line."""
    rung, report, limits, spent = state.oversight.ladder.rung, state.checks, state.config.limits, state.spending
    parts = (
        f"{state.iteration} of {counted(limits.iterations, 'iteration')}",
        money_text(spent.cost_usd, limits.cost_usd, state.untold),
        duration(spent.seconds),
        green_text(report) if report and report.results else "",
        "" if state.config.checks else "no check: nothing is verified",
        rung.title if rung > Rung.PATCH else "",
        code(state.branch, 120) if state.iteration else "",
    )
    return " · ".join(part for part in parts if part)


def _agreed(state: LoopState) -> Iterator[str]:
    """The checks that the loop goes by, and how they were at the start as far as that is known."""
    signs = {result.command: "✔ " if result.passed else "✘ " for result in (state.checks.results if state.checks else ())}
    yield from (f"{signs.get(check.command, '')}{coded(check.command)}" for check in state.config.checks)


def _without_advice(reason: str) -> str:
    """A reason without its last clauses, where they say what a person might do: whoever reads a form is about to."""
    clauses = takewhile(lambda clause: not _ADVISES.search(clause), reason.split("; "))
    return "; ".join(clauses) or reason


def _quoted(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text whose backticks would stand there as they are."""
    return prose(text.replace("`", "'"), most)


def _parts(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _titled(name: str, items: Iterable[str]) -> str:
    listed = _list(items)
    return f"{name}:\n\n{listed}" if listed else ""


def _deadline(gate: Gate) -> str:
    return f"{gate.deadline:%Y-%m-%d %H:%M} UTC"


# --- what was seen ------------------------------------------------------------------------------------------------


def evidence(state: LoopState, worktree: str) -> str:
    """What was seen of a loop until now, as Markdown: what a form has, what failing checks printed, how it went."""
    commits = shlex.quote(f"{state.base_commit[:10]}..{state.branch}")  # whoever reads it may copy it into a shell
    failures = state.checks.failures[:FAILURES_SHOWN] if state.checks else ()
    printed = (result.tail.strip() or result.head.strip() for result in failures)
    return _parts(
        in_short(state),
        *(fence(output, OUTPUT_SHOWN) for output in printed if output),
        _moments(state) if state.iteration else "",
        f"Look: {code(f'git log {commits}')}, worktree {code(worktree)}",
        _titled("Answered before", map(_answered, state.answers[-ANSWERS_SHOWN:])),
    )


def _moments(state: LoopState) -> str:
    """The last iterations, as a table."""
    rows = (
        (str(one.iteration), f"{one.completion:.0%}", one.movement, short_rung(one.rung), "yes" if one.undone else "")
        for one in state.worked[-MOMENTS_SHOWN:]
    )
    return table(("#", "progress", "movement", "rung", "taken back"), rows)


def _answered(answer: Answer) -> str:
    words = f": {prose(answer.guidance, 200)}" if answer.guidance else ""
    return f"{answer.at:%Y-%m-%d %H:%M} UTC, {answer.kind}: **{answer.choice}** by {prose(answer.by) or answer.via}{words}"


# --- in a terminal ------------------------------------------------------------------------------------------------


def gate_lines(gate: Gate, loop: str) -> list[str]:
    """Question, evidence, choices with their commands, and what happens when nobody answers."""
    asked_of = f", of {clean(gate.asked_of)}" if gate.asked_of else ""
    effect = gate.choices.get(gate.at_timeout)
    unanswered = f"unanswered until then: {gate.at_timeout}{f' ({effect})' if effect else ''}"
    deadline = f"{_deadline(gate)}; {unanswered}" if gate.deadline else "none: the question stays open until somebody answers"
    return [
        f"asked      {GATES[gate.kind].title} ({clean(gate.key)}), {gate.asked_at:%Y-%m-%d %H:%M} UTC{asked_of}",
        f"question   {clean(gate.question)}",
        *([f"not taken  {clean(gate.refused)}"] if gate.refused else ()),
        *_evidence_lines(gate),
        *(line for choice in gate.choices for line in (_choice(gate, choice), f"{_INDENT}{answer_command(gate, choice, loop)}")),
        "with       --guidance TEXT: told to the next iteration; approve also takes --set KEY=VALUE",
        f"deadline   {deadline}",
    ]


def _choice(gate: Gate, choice: Choice) -> str:
    return f"{choice:<10} {gate.choices[choice]}"


def answer_line(answer: Answer) -> str:
    """What was answered, by whom and through which way."""
    words = f": {clean(answer.guidance)[:EVIDENCE_WIDTH]}" if answer.guidance else ""
    who = f" by {clean(answer.by)}" if answer.by else ""
    return f"answered   {answer.choice}{who} ({answer.via}){words}"


def answer_command(gate: Gate, choice: Choice, loop: str) -> str:
    """What to type for a choice. The name comes from a stored state, so nothing in it may be more than a word to a shell."""
    name = shlex.quote(clean(loop))
    match choice:
        case Choice.APPROVE:
            return " ".join(filter(None, (f"helmsman approve {name}", _NEEDED.get(gate.kind, ""))))
        case Choice.REVISE:
            return f"helmsman reject {name} --guidance TEXT"
        case Choice.STOP if Choice.REVISE not in gate.choices:
            return f"helmsman reject {name}"
        case _:
            return f"helmsman answer {name} {choice}"


def _evidence_lines(gate: Gate) -> Iterator[str]:
    """Without tables: their signs mean something in the form only, and `helmsman log` has what they say."""
    known = (clean(html.unescape(_ESCAPED.sub(r"\1", line))).rstrip() for line in clean_lines(gate.evidence).splitlines())
    lines = [line for line in known if line and not line.startswith("|")]
    for number, line in enumerate(lines[:EVIDENCE_LINES]):
        yield f"{_INDENT if number else 'evidence   '}{shortened(line, EVIDENCE_WIDTH)}"
    if len(lines) > EVIDENCE_LINES:
        yield f"{_INDENT}… {counted(len(lines) - EVIDENCE_LINES, 'more line')}"


# --- errors in the words of the form ------------------------------------------------------------------------------

_FIELDS: Mapping[str, str] = {"goal": "Goal", "checks": "Checks", **{key: title(field) for field, key in KEYS.items()}}
_LOOP_ID = LoopRequest.model_fields["loop"].title or ""
_WORDS: Mapping[str, str] = {
    "goal: missing;": "Goal: missing;",
    "give it on the command line, or in the environment as HELMSMAN_GOAL, or": "fill it in, or give it",
    "--check 'make test' (repeatable)": f"a command under {_FIELDS['checks']}",
    "--no-checks": '{"allow_no_checks": true} under Settings',
    "--name": _LOOP_ID,
    "give --repo DIR": "correct Repository",
    "--in-place": "workspace.in_place",
    "--agent NAME": "agent.kind under Settings",
    "helmsman run --preset NAME": f"an empty {_LOOP_ID} and another {_FIELDS['preset']}",
    "helmsman run --agent NAME": f"an empty {_LOOP_ID} and another agent.kind under Settings",
}
"""What errors say to somebody in a shell -> what the form calls that."""
_PLACE = re.compile(r"^(\s*)(\w[\w.-]*)((?:\[\d+\])?[\w.]*) \((?:command line|your answer)\):", re.MULTILINE)
_RAISE = re.compile(r"helmsman resume (\S+) --set (\S+)=VALUE")


def in_form_words(error: str) -> str:
    """The text of an error about a request, for whoever filled in the form: fields instead of options."""
    told = _PLACE.sub(lambda at: f"{at[1]}{_FIELDS.get(at[2], f'Settings, {at[2]}')}{at[3]}:", error)
    told = _RAISE.sub(lambda at: f"run again with {_LOOP_ID} {at[1]}, Reopen and a higher {_FIELDS.get(at[2], at[2])}", told)
    for words, ours in sorted(_WORDS.items(), key=lambda pair: -len(pair[0])):
        told = told.replace(words, ours)
    return told
