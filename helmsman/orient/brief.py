"""The briefing from state and orientation: the constant system prompt, and the message in sections within an allowance.

The texts are templates in `helmsman/prompts`; a section with empty text is omitted. The message states the task, then the facts,
the most specific first.
"""

from collections.abc import Mapping, Sequence

from helmsman.memory.handoff import handoff_section
from helmsman.memory.recall import MEMORY_TOKENS, lessons_section
from helmsman.orient.checks import failed_check_values
from helmsman.orient.hats import current_hat
from helmsman.orient.research import research_phase
from helmsman.orient.trend import trend_section
from helmsman.oversee.advice import PERSONAS, advise, without_failed_plan
from helmsman.oversee.diagnosis import describe_conflict
from helmsman.oversee.drift import is_off_task
from helmsman.oversee.limits import nearly_used_windows
from helmsman.parsers.progress_file import render as render_notes
from helmsman.plain import clean, clean_lines, in_plain_words, one_line
from helmsman.prompts import fit, render, whole_parts
from helmsman.prompts.message import BLOCKS, render_message
from helmsman.records.control import LATER, RolledBack
from helmsman.records.decision import CRITICAL
from helmsman.records.iteration import Briefing, Orientation, WrittenParts
from helmsman.records.state import LoopState
from helmsman.tokens import tokens

CHECKS = "last checks"
ORIENTATION_TOKENS = 6000
"""Limit of orientation (history, failures, notes): a page, which leaves the model's window to the work."""
RESERVED = 3
"""Up to a third of the allowance is reserved for the checks: after the headings a quarter remains for their output."""
WHY: Mapping[str, str] = {
    "checks": "checks fail",
    "unchanged": "the tree is the same as at the start of this loop, so nothing is done",
    "unproven": "no test proves the change; add and commit one that fails without it and passes with it",
    "expectations": "tests as they were at the start fail on your source; make it pass them unless the goal demands otherwise",
    "looked_up": "functions are right only for the inputs of their tests; do what the goal says for every input",
    "invariants": "the diff has findings that block completion; they are listed below",
    "required_tests": "required tests did not run",
    "indicators": "completion must hold in more than one iteration",
    "plan": "not every item of the plan is proven",
    "processes": "processes that you started are still running",
    "hidden": "a hidden check fails; do what the goal says for every input, not only for those of the tests",
    "probes": "a hidden test case fails; do what the goal says for every input, not only for those of the tests",
    "judge": "a reviewer found criteria that are not met; they are listed below",
}
"""Reasons for refused completion by rule."""
DETAILED = frozenset({"unproven", "expectations", "looked_up", "required_tests", "plan", "processes", "hidden", "probes"})
"""Rules whose details are part of the refusal; details of the others have their own section."""

Section = tuple[str, str]


def brief(
    state: LoopState, orientation: Orientation, planned: WrittenParts | None = None, allowance: int = ORIENTATION_TOKENS
) -> Briefing:
    """The prompt of the due iteration. `planned`: texts that a model wrote for it, if one was asked."""
    facts = [section for section in _facts(state, orientation, planned or WrittenParts()) if section[1]]
    fitted = _fit(facts, allowance)
    lessons = fit(lessons_section(orientation.recalled), MEMORY_TOKENS)
    memory_sections = [("memory", lessons)] if lessons else []  # at the end, where models pay most attention
    config, plan_item, fact_sections = state.config, orientation.plan, [section for section in fitted if section[1]]
    sheet, hat = state.preset.sheet if state.preset else None, current_hat(state)
    candidates = [  # the operator wrote approach and plan and chose preset and hat, so they are instructions
        ("approach", render("approach", approach=config.prompt.approach)),
        ("preset", render("kind_of_work", title=sheet.title, guidance=sheet.guidance) if sheet and sheet.guidance else ""),
        ("hat", render("hat", title=hat.title, words=hat.prompt) if hat else ""),
        ("plan", render("plan", state=state, hand=plan_item) if plan_item else ""),
        ("iteration", render("where", state=state, commit=orientation.start_commit)),
        *research_phase(state),
    ]
    work_sections = [section for section in candidates if section[1]]
    # the task, the same in every iteration, before the work of this one
    values: dict[str, object] = {
        "goal": config.goal.strip(),
        "checks": "\n".join(clean_lines(check.command) for check in config.checks),
        "picture": config.judge.envisioning.strip(),
        "criteria": config.judge.criteria,
        **{
            name: "\n\n".join(text for _, text in sections)
            for name, sections in zip(BLOCKS[-3:], (work_sections, fact_sections, memory_sections), strict=True)
        },
        "iteration": state.due,
        "branch": state.branch,
    }
    blocks = render_message(values, orientation.template)
    task = "\n\n".join(filter(None, blocks[: BLOCKS.index("work")]))
    return Briefing(
        system=render("system", branch=state.branch, promise=config.completion.promise, kept=config.invariants),
        prompt="\n\n".join(filter(None, blocks)) + "\n",
        sections=tuple((name, tokens(text)) for name, text in [("task", task), *work_sections, *fact_sections, *memory_sections]),
        trimmed=tuple(name for (name, whole), (_, text) in zip(facts, fitted, strict=True) if whole != text),
    )


def _facts(state: LoopState, orientation: Orientation, planned: WrittenParts) -> list[Section]:
    """Sections of facts, the most specific first."""
    done, last = state.done, state.last_call
    research = "" if state.researching else render("research_findings", found=state.memory.research)
    is_near_limit = nearly_used_windows(state.usage, orientation.started_at)
    reasons = list(dict.fromkeys(WHY[denial.rule] for denial in done.refused if denial.rule in WHY))
    details = "\n".join(clean_lines(denial.why) for denial in done.refused if denial.rule in DETAILED)
    refusal = render("refusal", iteration=state.iteration, reasons=reasons, details=details) if done.refused else ""
    # instructions between which a person has to choose
    conflicts = "\n".join(clean(describe_conflict(conflict)) for conflict in state.oversight.conflicts)
    is_blocked_by_conflict = conflicts and state.oversight.diagnosis == "double_bind"
    item, own = orientation.plan.item if orientation.plan else None, state.plan.own
    is_due = item and own and not own.passed and state.plan.now == item.id and own.command == item.check
    item_check = render("item_check", item=item.id, check=failed_check_values(own)) if item and own and is_due else ""
    memory = without_failed_plan(state.memory, state)
    notes, problems = render_notes(memory).strip(), "; ".join(memory.problems)
    return [
        ("refusal", refusal),
        ("blocked", render("blocked", done=done, green=state.checks is not None and state.checks.passed)),
        ("guidance", render("guidance", said=state.guidance)),
        ("usage", render("scarce") if is_near_limit else ""),
        ("merge", render("merge", trouble=state.merging.trouble)),
        ("findings of research", research),
        ("advice", planned.focus or _advice_section(state)),
        ("contradictions", render("contradictions", conflicts=conflicts) if is_blocked_by_conflict else ""),
        (CHECKS, _checks_section(state, orientation)),
        ("trend", trend_section(state)),
        ("check of the item", item_check),
        ("findings", render("findings", findings=state.findings)),
        ("claims", render("claims", claims=state.contradictions) if done.refused else ""),
        ("judge feedback", render("rejections", feedback=state.judge.feedback)),
        ("last session", render("last_session", last=last, green=state.checks is not None and state.checks.passed)),
        ("drift", render("drift", drift=last.drift) if is_off_task(last.drift) else ""),
        ("rolled back", _rolled_back_section(state.failed)),
        ("interrupted work", render("interrupted", salvaged=state.salvaged)),
        ("handoff", handoff_section(state.inherited)),
        ("wiki", render("wiki") if state.config.memory.wiki else ""),
        ("notes", render("notes", notes=notes, problems=problems) if notes or problems else ""),
        ("history", planned.compacted or render("commits", commits=orientation.commits)),
    ]


def _checks_section(state: LoopState, orientation: Orientation) -> str:
    """Results of the checks; of those that passed before any work, that they do not prove it."""
    if state.checks is None or not state.checks.results:
        return ""
    has_other_proof = state.config.judge.criteria or orientation.plan or state.plan.ticked
    is_told = any(denial.rule == "unproven" for denial in state.done.refused)
    return render(
        "checks",
        failed=[*map(failed_check_values, state.checks.failures)],
        total=len(state.checks.results),
        empty=", ".join(f"`{clean(result.command)}`" for result in state.checks.results if result.ran_no_test),
        prove_nothing=state.green_at_start and not has_other_proof and not is_told,
    )


def _fit(facts: Sequence[Section], allowance: int) -> list[Section]:
    """Fit sections in order of rank: each may take half of the remaining allowance, or all that the others leave.

    Its first sentences stay whole, or it is omitted. A part is reserved for the checks, whatever precedes them.
    """
    fitted: list[Section] = []
    sizes = [tokens(text) for _, text in facts]
    reserved = {name: min(size, allowance // RESERVED) for (name, _), size in zip(facts, sizes, strict=True) if name == CHECKS}
    for position, (name, text) in enumerate(facts):
        reserved_here = reserved.pop(name, 0)
        available = allowance - sum(reserved.values())
        first_size = tokens(text.partition("\n```")[0])
        room = max(available // 2, allowance - sum(sizes[position + 1 :]), reserved_here, min(available, first_size))
        fitted_text = fit(whole_parts(text, room), room) if first_size <= room else ""
        allowance -= tokens(fitted_text)
        fitted.append((name, fitted_text))
    return fitted


def _advice_section(state: LoopState) -> str:
    """The paragraph of advice; a hat has its own persona."""
    advice = advise(state)
    is_alerted = advice.alert_first and state.oversight.instructions  # then the persona would repeat it in other words
    persona = "" if current_hat(state) or is_alerted else PERSONAS[advice.persona]
    sentences = " ".join(one_line(sentence) for sentence in (advice.reason, *advice.instructions, persona) if sentence)
    return render("advice", sentences=sentences) if sentences else ""


def _rolled_back_section(rolled_back: RolledBack | None) -> str:
    """Section on rolled-back work, without `RolledBack.why`, which is for people and names findings."""
    if rolled_back is None:
        return ""
    is_unsafe = rolled_back.rule.startswith(CRITICAL)
    unsafe = in_plain_words(rolled_back.rule.removeprefix(CRITICAL)) if is_unsafe else ""
    return render("taken_back", failed=rolled_back, unsafe=unsafe, later=rolled_back.rule == LATER)
