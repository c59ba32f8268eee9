"""From state and orientation to the briefing: the constant system text, and the message in sections under an allowance.

The texts are templates in `helmsman/prompts`; one that has nothing to say is empty, and then its section is left out. The message
says what is wanted, then what is known, the most specific first.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile

from helmsman.budget import fit, whole
from helmsman.memory.handoff import handoff_section
from helmsman.memory.recall import MEMORY_TOKENS, lessons_section
from helmsman.orient.checks import failed
from helmsman.orient.compaction import compacted_section
from helmsman.orient.focus import focus_section
from helmsman.orient.hats import worn_hat
from helmsman.orient.research import research_phase
from helmsman.orient.trend import trend_section
from helmsman.oversee.advice import PERSONAS, advise, planned_anew
from helmsman.oversee.diagnosis import sentence
from helmsman.oversee.drift import flagged
from helmsman.oversee.limits import near
from helmsman.parsers.progress_file import render as render_notes
from helmsman.plain import clean, clean_lines, one_line
from helmsman.prompts import Piece, render, render_pieces
from helmsman.prompts.message import BLOCKS, render_message
from helmsman.records.control import LATER, Failed, IterationSummary, Movement
from helmsman.records.decision import PAIN
from helmsman.records.iteration import Briefing, Orientation, Planned
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import tokens

CHECKS = "last checks"
ORIENTATION_TOKENS = 6000
"""Of orientation (history, failures, notes) at most: a page of a model's window that leaves it to the work."""
RESERVED = 3
"""A third of the allowance is kept for the section of the checks, where it needs that much: without its headings a quarter is
left for what they printed."""
WHY: Mapping[str, str] = {
    "checks": "checks fail",
    "unchanged": "nothing differs from the commit that this loop began with, so nothing is done",
    "unproven": "nothing shows the change; add a test that fails without it and passes with it, and commit that",
    "expectations": "tests of the start fail on your source; make it pass them as they were, unless the goal demands otherwise",
    "looked_up": "functions know the answers of their tests and no others; do what the goal says for every input",
    "invariants": "the diff has findings that block completion; they are listed below",
    "required_tests": "tests that have to run did not run",
    "indicators": "completion has to hold in more than one iteration",
    "plan": "not every item of the plan is proven",
    "processes": "processes that you started are still running",
    "hidden": "a check that you do not see fails; do what the goal says for every input, not only for those of the tests",
    "probes": "a case that you do not see fails; do what the goal says for every input, not only for those of the tests",
    "judge": "a reviewer found criteria that are not met; they are listed below",
}
"""Why completion was refused, in our words."""
DETAILED = frozenset({"unproven", "expectations", "looked_up", "required_tests", "plan", "processes", "hidden", "probes"})
"""Rules whose detail stands with the refusal; that of the others has a section of its own."""

Section = tuple[str, str]
Fact = tuple[str, Sequence[Piece]]


def brief(
    state: LoopState, orientation: Orientation, planned: Planned | None = None, allowance: int = ORIENTATION_TOKENS
) -> Briefing:
    """The prompt of the iteration that is due. `planned`: what a model wrote for it, where one was asked."""
    facts = [(name, pieces) for name, pieces in _facts(state, orientation, planned or Planned()) if pieces]
    fitted = _fit(facts, allowance)
    lessons = fit(lessons_section(orientation.recalled), MEMORY_TOKENS)
    remembered = [("memory", lessons)] if lessons else []  # at the end, where models weigh most
    config, hand, kept = state.config, orientation.plan, [section for section in fitted if section[1]]
    sheet, hat = state.preset.sheet if state.preset else None, worn_hat(state)
    due = [  # the operator wrote approach and plan and chose preset and hat, so they stand as orders
        ("approach", render("approach", approach=config.prompt.approach)),
        ("preset", render("kind_of_work", title=sheet.title, guidance=sheet.guidance) if sheet and sheet.guidance else ""),
        ("hat", render("hat", title=hat.title, words=hat.prompt) if hat else ""),
        ("plan", render("plan", state=state, hand=hand) if hand else ""),
        ("iteration", render("where", state=state, commit=orientation.start_commit)),
        *((name, whole(pieces)) for name, pieces in research_phase(state)),
    ]
    work = [section for section in due if section[1]]
    # what is wanted, the same in every iteration, before what is due in this one
    values: dict[str, object] = {
        "goal": config.goal.strip(),
        "checks": "\n".join(clean_lines(check.command) for check in config.checks),
        "picture": config.judge.envisioning.strip(),
        "criteria": config.judge.criteria,
        **{name: "\n\n".join(text for _, text in some) for name, some in zip(BLOCKS[-3:], (work, kept, remembered), strict=True)},
        "iteration": state.due,
        "branch": state.branch,
    }
    blocks = render_message(values, orientation.template)
    task = "\n\n".join(filter(None, blocks[: BLOCKS.index("work")]))
    return Briefing(
        system=render("system", branch=state.branch, promise=config.completion.promise, kept=config.invariants),
        prompt="\n\n".join(filter(None, blocks)) + "\n",
        sections=tuple((name, tokens(text)) for name, text in [("task", task), *work, *kept, *remembered]),
        trimmed=tuple(name for (name, pieces), (_, text) in zip(facts, fitted, strict=True) if whole(pieces) != text),
    )


def _facts(state: LoopState, orientation: Orientation, planned: Planned) -> list[Fact]:
    """What is known, the most specific first."""
    done, last, checks = state.done, state.last_call, state.checks
    research = () if state.researching else render_pieces("research_findings", found=state.memory.research)
    scarce = near(state.usage, orientation.started_at)
    reasons = "; ".join(dict.fromkeys(WHY[one.rule] for one in done.refused if one.rule in WHY))
    details = "\n".join(clean_lines(one.why) for one in done.refused if one.rule in DETAILED)
    refusal = render_pieces("refusal", iteration=state.iteration, reasons=reasons, details=details) if done.refused else ()
    # orders between which a person has to choose
    conflicts = "\n".join(clean(sentence(one)) for one in state.oversight.conflicts)
    held_up = conflicts and state.oversight.diagnosis == "double_bind"
    empty = ", ".join(f"`{clean(one.command)}`" for one in (checks.results if checks else ()) if one.ran_no_test)
    failing = [*map(failed, checks.failures)] if checks else []
    results = render_pieces("checks", failed=failing, total=len(checks.results), empty=empty) if checks and checks.results else ()
    item, own = orientation.plan.item if orientation.plan else None, state.plan.own
    is_due = item and own and not own.passed and state.plan.now == item.id and own.command == item.check
    own_check = render_pieces("item_check", item=item.id, check=failed(own)) if item and own and is_due else ()
    memory = planned_anew(state.memory, state)
    notes, problems = render_notes(memory).strip(), "; ".join(memory.problems)
    return [
        ("refusal", refusal),
        ("blocked", render_pieces("blocked", done=done)),
        ("guidance", render_pieces("guidance", said=state.guidance)),
        ("usage", render_pieces("scarce") if scarce else ()),
        ("merge", render_pieces("merge", trouble=state.merging.trouble)),
        ("findings of research", research),
        ("advice", focus_section(planned.focus) or _advice(state)),
        ("contradictions", render_pieces("contradictions", conflicts=conflicts) if held_up else ()),
        (CHECKS, results),
        ("trend", trend_section(state)),
        ("check of the item", own_check),
        ("findings", render_pieces("findings", findings=state.findings)),
        ("claims", render_pieces("claims", claims=state.contradictions) if done.refused else ()),
        ("judge feedback", render_pieces("rejections", feedback=state.judge.feedback)),
        ("last session", render_pieces("last_session", last=last, green=checks is not None and checks.passed)),
        ("drift", render_pieces("drift", drift=last.drift) if flagged(last.drift) else ()),
        ("rolled back", _rolled_back(state.failed, state.worked)),
        ("interrupted work", render_pieces("interrupted", salvaged=state.salvaged)),
        ("handoff", handoff_section(state.inherited)),
        ("wiki", render_pieces("wiki") if state.config.memory.wiki else ()),
        ("notes", render_pieces("notes", notes=notes, problems=problems) if notes or problems else ()),
        ("history", _past(orientation, planned)),
    ]


def _fit(facts: Sequence[Fact], allowance: int) -> list[Section]:
    """Give each section, in order of rank, what it needs; of what is left, it may take half, or all that the others leave.

    Its first sentences stay whole, and a part is kept for what the checks say, whatever stands before it.
    """
    fitted: list[Section] = []
    sizes = [tokens(whole(pieces)) for _, pieces in facts]
    reserved = {name: min(size, allowance // RESERVED) for (name, _), size in zip(facts, sizes, strict=True) if name == CHECKS}
    for position, (name, pieces) in enumerate(facts):
        own = reserved.pop(name, 0)
        free = allowance - sum(reserved.values())
        last = position == len(facts) - 1
        first = tokens(whole(pieces[:1]))
        room = free if last else max(free // 2, allowance - sum(sizes[position + 1 :]), own, min(free, first))
        text = fit(_whole_orders(pieces, room), room)
        allowance -= tokens(text)
        fitted.append((name, text))
    return fitted


def _whole_orders(pieces: Sequence[Piece], room: int) -> list[Piece]:
    """The pieces up to the first of our own words that does not fit any more: half an order says something else."""
    kept: list[Piece] = []
    ours = ""
    for piece in pieces:
        ours += f"{piece}\n" if isinstance(piece, str) else ""
        if tokens(ours.rstrip("\n")) > room:
            break
        kept.append(piece)
    return kept


def _advice(state: LoopState) -> Sequence[Piece]:
    """The one paragraph of advice; a hat says by itself whose eyes it looks with."""
    advice = advise(state)
    persona = "" if worn_hat(state) else PERSONAS[advice.persona]
    sentences = " ".join(one_line(sentence) for sentence in (advice.because, *advice.orders, persona) if sentence)
    return render_pieces("advice", sentences=sentences) if sentences else ()


def _rolled_back(failed: Failed | None, history: Sequence[IterationSummary]) -> Sequence[Piece]:
    """Nothing of `Failed.why`, which is written for a person and names what was found."""
    if failed is None:
        return ()
    # iterations at the end that each made it worse and were taken back at once: each began where the one before it ended
    work = [summary for summary in history if summary.movement is not Movement.WAITED][::-1]
    fell = list(takewhile(lambda summary: summary.undone and summary.movement is Movement.BACK, work))
    joined = takewhile(lambda pair: pair[0].start == pair[1].commit, pairwise(fell))
    falls, unsafe = min(len(fell), 1 + len(list(joined))), failed.rule.startswith(PAIN)
    return render_pieces(
        "taken_back",
        failed=failed,
        unsafe=failed.rule.removeprefix(PAIN).replace("_", " ") if unsafe else "",
        later=failed.rule == LATER,
        falls=f"{plural(falls, 'iteration')} in a row" if falls > 1 else "The last iteration",
    )


def _past(orientation: Orientation, planned: Planned) -> Sequence[Piece]:
    """Commit by commit; in short where a model wrote that."""
    return compacted_section(planned.compacted) if planned.compacted else render_pieces("commits", commits=orientation.commits)
