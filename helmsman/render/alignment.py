"""An alignment as people read it who are asked about it, or who have just had it made."""

from collections.abc import Iterator

from helmsman.plain import clean
from helmsman.records.alignment import Alignment, AlignResult
from helmsman.render.cells import code, prose
from helmsman.texts import counted, money


def question_evidence(alignment: Alignment, file: str) -> str:
    """What belongs to the questions, as Markdown: the goal, what is understood of it, where all of it stands."""
    gaps = alignment.gaps
    parts = (
        f"Goal: {prose(alignment.specification.goal, 1000)}",
        _listed("It is understood to deliver", alignment.specification.deliverables),
        f"Approach: {prose(alignment.process.approach, 800)}" if alignment.process.approach else "",
        _listed("Not clear", (*gaps.capability, *gaps.instruction, *gaps.intentionality)),
        f"All of it stands in {code(file)}. Answering there, each question ticked with its answer below it, counts as well.",
    )
    return "\n\n".join(part for part in parts if part)


def result_lines(result: AlignResult) -> Iterator[str]:
    """What came of it, in a few lines of a terminal."""
    yield f"alignment  {clean(result.file)}"
    if result.by == "template":
        yield "by         the template: no model looked for gaps"
    if result.reason:
        yield f"because    {' '.join(clean(result.reason).split())}"
    if result.cost_usd:
        yield f"cost       {money(result.cost_usd)}, {counted(result.round, 'round')}"
    if result.questions:
        yield f"open       {counted(len(result.questions), 'question')}; a loop does not start before they are answered"
        yield from (f"           {number}. {clean(question)}" for number, question in enumerate(result.questions, 1))


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return f"{title}:\n\n" + "\n".join(f"- {prose(line)}" for line in lines) if lines else ""
