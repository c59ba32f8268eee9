"""From state and orientation to the briefing: the constant system text, and the message in sections under an allowance.

The texts are templates in `helmsman/prompts`. The message says what is wanted, then what is known, the most specific first.
"""

from collections.abc import Sequence
from itertools import pairwise, takewhile

from helmsman.budget import fit, whole
from helmsman.config import MemoryConfig
from helmsman.memory.handoff import handoff_section
from helmsman.memory.recall import lessons_section
from helmsman.orient.approaches import approach_section
from helmsman.orient.checks import failed
from helmsman.orient.compaction import compact_by_template, compacted_section, needs_compaction, past_of
from helmsman.orient.focus import focus_section
from helmsman.orient.hats import hat_sections, worn_hat
from helmsman.orient.last_session import last_session
from helmsman.orient.merging import merge_section
from helmsman.orient.plan import own_check_section, plan_sections
from helmsman.orient.progress import render as render_notes
from helmsman.orient.refusal import refusal_section
from helmsman.orient.research import research_phase, research_section, researching
from helmsman.orient.trend import trend_section
from helmsman.oversee.advice import PERSONAS, advise, planned_anew
from helmsman.oversee.diagnosis import sentence
from helmsman.oversee.drift import flagged
from helmsman.oversee.limits import near
from helmsman.plain import clean, clean_lines, one_line
from helmsman.prompts import Piece, render, render_pieces
from helmsman.prompts.message import BLOCKS, render_message
from helmsman.records.briefing import Briefing, Orientation
from helmsman.records.checks import CheckReport
from helmsman.records.claims import Contradiction
from helmsman.records.evidence import Commit
from helmsman.records.findings import Finding, Weight
from helmsman.records.focus import Planned
from helmsman.records.lessons import Recalled
from helmsman.records.memory import WorkingMemory
from helmsman.records.moments import Moment, Movement
from helmsman.records.oversight import LATER, Diagnosis, Failed, Oversight
from helmsman.records.reflexion import DoneSignals, JudgeMemory, Rejection
from helmsman.records.session import Drift
from helmsman.records.state import LoopState
from helmsman.records.verdict import PAIN
from helmsman.texts import counted
from helmsman.tokens import tokens

REJECTIONS_SHOWN = 3
MOST_PATHS = 20
CHECKS = "last checks"
RESERVED = 3
"""A third of the allowance is kept for the section of the checks, where it needs that much: without its headings a quarter is
left for what they printed."""

Section = tuple[str, str]
Fact = tuple[str, Sequence[Piece]]


def brief(state: LoopState, orientation: Orientation, planned: Planned | None = None) -> Briefing:
    """The prompt of the iteration that is due. `planned`: what a model wrote for it, where one was asked."""
    facts = [(name, pieces) for name, pieces in _facts(state, orientation, planned or Planned()) if pieces]
    fitted = _fit(facts, state.config.prompt.orientation_tokens)
    remembered = _remembered(orientation.recalled, state.config.memory)
    work = _work(state, orientation)
    kept = [section for section in fitted if section[1]]
    blocks = _blocks(state, orientation.template, work, kept, remembered)
    task = "\n\n".join(filter(None, blocks[: BLOCKS.index("work")]))
    return Briefing(
        system=_system(state),
        prompt="\n\n".join(filter(None, blocks)) + "\n",
        sections=tuple((name, tokens(text)) for name, text in [("task", task), *work, *kept, *remembered]),
        trimmed=tuple(name for (name, pieces), (_, text) in zip(facts, fitted, strict=True) if whole(pieces) != text),
    )


def _system(state: LoopState) -> str:
    """What every iteration of a loop is told in the same words."""
    kept = state.config.invariants
    return render(
        "system",
        branch=state.branch,
        promise=state.config.completion.promise,
        protected=", ".join(f"`{path}`" for path in kept.protect[:MOST_PATHS]),
        allowed=", ".join(f"`{path}`" for path in kept.allow[:MOST_PATHS]),
    )


def _blocks(state: LoopState, template: str, *sections: Sequence[Section]) -> list[str]:
    """The blocks of the message: what is wanted, the same in every iteration, before what is due in this one."""
    config = state.config
    work, facts, memory = ("\n\n".join(text for _, text in some) for some in sections)
    values: dict[str, object] = {
        "goal": config.goal.strip(),
        "checks": "\n".join(clean_lines(check.command) for check in config.checks),
        "picture": config.judge.envisioning.strip(),
        "criteria": config.judge.criteria,
        "work": work,
        "facts": facts,
        "memory": memory,
        "iteration": state.due,
        "branch": state.branch,
    }
    return render_message(values, template)


def _work(state: LoopState, orientation: Orientation) -> list[Section]:
    """The loop's approach, the role, the item in hand, and which iteration this is."""
    config = state.config
    where = render(
        "where",
        number=state.due,
        limit=config.limits.iterations,
        commit=orientation.start_commit[:10],
        begun=bool(state.worked or state.salvaged),
    )
    return [
        *([("approach", approach)] if (approach := approach_section(config.prompt.approach)) else []),
        *hat_sections(state),
        *plan_sections(state, orientation.plan),
        ("iteration", where),
        *((name, whole(pieces)) for name, pieces in research_phase(state)),
    ]


def _remembered(recalled: Recalled, config: MemoryConfig) -> list[Section]:
    """Lessons and guardrails stand at the end, where models weigh most."""
    text = fit(lessons_section(recalled), config.tokens)
    return [("memory", text)] if text else []


def _facts(state: LoopState, orientation: Orientation, planned: Planned) -> list[Fact]:
    """What is known, the most specific first."""
    return [
        ("refusal", refusal_section(state)),
        ("blocked", _blocked(state.done)),
        ("guidance", _guidance(state.guidance)),
        ("usage", _scarce(state, orientation)),
        ("merge", merge_section(state.merging.trouble)),
        ("findings of research", () if researching(state) else research_section(state.memory.research)),
        ("advice", focus_section(planned.focus) or _advice(state)),
        ("contradictions", _conflicts(state.oversight)),
        (CHECKS, _last_checks(state.checks)),
        ("trend", trend_section(state)),
        ("check of the item", own_check_section(state, orientation.plan)),
        ("findings", _findings(state.findings)),
        ("claims", _claims(state.contradictions) if state.done.refused else ()),
        ("judge feedback", _judge_feedback(state.judge)),
        ("last session", last_session(state.last_call, green=state.checks is not None and state.checks.passed)),
        ("drift", _drift(state.last_call.drift)),
        ("rolled back", _rolled_back(state.failed, state.worked)),
        ("interrupted work", _interrupted(state)),
        ("handoff", handoff_section(state.inherited)),
        ("wiki", render_pieces("wiki") if state.config.memory.wiki else ()),
        ("notes", _notes(planned_anew(state.memory, state))),
        ("history", _past(state, orientation, planned)),
    ]


def _guidance(said: Sequence[str]) -> Sequence[Piece]:
    """The operator's own words, so they stand as orders, unlike what was found."""
    words = "\n\n".join(clean_lines(text).strip() for text in said)
    return render_pieces("guidance", words=words) if words else ()


def _scarce(state: LoopState, orientation: Orientation) -> Sequence[Piece]:
    return render_pieces("scarce") if near(state.config.usage_limit, state.usage, orientation.started_at) else ()


def _advice(state: LoopState) -> Sequence[Piece]:
    """The one paragraph of advice; a hat says by itself whose eyes it looks with."""
    advice = advise(state)
    persona = "" if worn_hat(state) else PERSONAS[advice.persona]
    sentences = " ".join(one_line(sentence) for sentence in (advice.because, *advice.orders, persona) if sentence)
    return render_pieces("advice", sentences=sentences) if sentences else ()


def _conflicts(oversight: Oversight) -> Sequence[Piece]:
    """The orders between which a person has to choose; what a model alone takes for a contradiction is none yet."""
    lines = [clean(sentence(one)) for one in oversight.conflicts if one.by == "rules"]
    held_up = oversight.diagnosis is Diagnosis.DOUBLE_BIND
    return render_pieces("contradictions", conflicts="\n".join(lines)) if lines and held_up else ()


def _fit(facts: Sequence[Fact], allowance: int) -> list[Section]:
    """Give each section, in order of rank, what it needs; of what is left, it may take half, or all that the others leave.

    Its first sentences stay whole, and a part is kept for what the checks say, whatever stands before it.
    """
    fitted: list[Section] = []
    reserved = {name: min(_size(pieces), allowance // RESERVED) for name, pieces in facts if name == CHECKS}
    for position, (name, pieces) in enumerate(facts):
        own = reserved.pop(name, 0)
        free = allowance - sum(reserved.values())
        others = sum(_size(after) for _, after in facts[position + 1 :])
        last = position == len(facts) - 1
        room = free if last else max(free // 2, allowance - others, own, min(free, _size(pieces[:1])))
        text = fit(_whole_orders(pieces, room), room)
        allowance -= tokens(text)
        fitted.append((name, text))
    return fitted


def _size(pieces: Sequence[Piece]) -> int:
    return tokens(whole(pieces))


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


def _last_checks(report: CheckReport | None) -> Sequence[Piece]:
    if report is None or not report.results:
        return ()
    empty = ", ".join(f"`{clean(result.command)}`" for result in report.results if result.ran_no_test)
    return render_pieces("checks", failed=[*map(failed, report.failures)], total=len(report.results), empty=empty)


def _blocked(done: DoneSignals) -> Sequence[Piece]:
    return render_pieces("blocked", reason=done.blocked_by, seen=done.blocked_seen) if done.blocked else ()


def _findings(findings: Sequence[Finding]) -> Sequence[Piece]:
    """Those that block; hints are for people and the judge."""
    each = [{"instead": one.honest, "lines": _lines_of(one)} for one in findings if one.weight is Weight.BLOCK]
    return render_pieces("findings", findings=each) if each else ()


def _lines_of(finding: Finding) -> str:
    sides = (*([f"- {finding.before}"] if finding.before else []), *([f"+ {finding.after}"] if finding.after else []))
    return "\n".join((f"{finding.where}: {finding.message}", *sides))


def _claims(contradictions: Sequence[Contradiction]) -> Sequence[Piece]:
    lines = "\n".join(f"{one.source}: {one.said}\n    found: {one.found}" for one in contradictions)
    return render_pieces("claims", claims=lines) if lines else ()


def _judge_feedback(memory: JudgeMemory) -> Sequence[Piece]:
    newest = memory.feedback[::-1][:REJECTIONS_SHOWN]
    return render_pieces("rejections", rejections=[*map(_rejection, newest)]) if newest else ()


def _rejection(rejection: Rejection) -> dict[str, object]:
    earlier = counted(rejection.repeated, "earlier verdict") if rejection.repeated else ""
    return {"iteration": rejection.iteration, "reason": rejection.reason, "earlier": earlier}


def _drift(drift: Drift) -> Sequence[Piece]:
    names = "\n".join(map(clean, drift.documents or drift.strangers))
    return render_pieces("drift", documents=bool(drift.documents), names=names) if flagged(drift) else ()


def _interrupted(state: LoopState) -> Sequence[Piece]:
    if not state.salvaged:
        return ()
    last = state.salvaged[-1]
    return render_pieces("interrupted", commit=last.commit[:12], files=counted(last.files, "file"))


def _rolled_back(failed: Failed | None, history: Sequence[Moment]) -> Sequence[Piece]:
    """Nothing of `Failed.why`, which is written for a person and names what was found."""
    if failed is None:
        return ()
    falls, unsafe = _falls(history), failed.rule.startswith(PAIN)
    return render_pieces(
        "taken_back",
        unsafe=failed.rule.removeprefix(PAIN).replace("_", " ") if unsafe else "",
        later=failed.rule == LATER,
        commit=failed.commit[:12],
        back_to=failed.back_to[:12],
        falls=f"{counted(falls, 'iteration')} in a row" if falls > 1 else "The last iteration",
        names="" if unsafe else "\n".join(map(clean, failed.files)),
    )


def _falls(history: Sequence[Moment]) -> int:
    """Iterations at the end that each made it worse and were taken back at once: each began where the one before it ended."""
    work = [moment for moment in history if moment.movement is not Movement.WAITED][::-1]
    fell = list(takewhile(lambda moment: moment.undone and moment.movement is Movement.BACK, work))
    joined = takewhile(lambda pair: pair[0].start == pair[1].commit, pairwise(fell))
    return min(len(fell), 1 + len(list(joined)))


def _notes(memory: WorkingMemory) -> Sequence[Piece]:
    text, problems = render_notes(memory).strip(), "; ".join(memory.problems)
    return render_pieces("notes", notes=text, problems=problems) if text or problems else ()


def _past(state: LoopState, orientation: Orientation, planned: Planned) -> Sequence[Piece]:
    """Commit by commit; in short where a model wrote that, or where it has outgrown its allowance."""
    if planned.compacted is not None:
        return compacted_section(planned.compacted)
    past = past_of(state, orientation)
    if needs_compaction(past, state.config.prompt.compact_tokens):
        return compacted_section(compact_by_template(past))
    return _history(orientation.commits)


def _history(commits: Sequence[Commit]) -> Sequence[Piece]:
    log = "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in commits)
    return render_pieces("commits", commits=log) if commits else ()
