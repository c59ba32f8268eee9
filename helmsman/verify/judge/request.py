"""The judge's request: who it is and by which rules, the rubric, the work. What stays the same comes first, for the cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from helmsman.config import CriterionConfig, JudgeConfig
from helmsman.parsers.answers import TEXT, closed, many, one_of
from helmsman.prompts import render
from helmsman.records.checks import Given
from helmsman.records.iteration import Briefing
from helmsman.tokens import tokens, trim
from helmsman.verify.judge.fence import fence, name_list
from helmsman.verify.judge.hunks import DIFF_TOKENS, view_diff
from helmsman.verify.judge.question import JudgeQuestion, Source
from helmsman.verify.judge.view import (
    View,
    view_earlier,
    view_findings,
    view_notes,
    view_outputs,
    view_paths,
    view_sources,
)

GENERATED = 20
"""Names of generated files that are told."""
SOURCE_TOKENS = 24_000
"""Of the changed files that it is shown."""
ANSWER_TOKENS = 16_000
"""Of its answer at most, its thinking included. One that is cut off there cannot be read."""
OUTPUT_TOKENS = 8_000
"""Of check output that it is shown."""
_GOAL_TOKENS = 5_000


@dataclass(frozen=True)
class JudgeRequest:
    """Everything for one vote; all votes on one question get the same."""

    rules: str
    rubric: str
    sources: str
    evidence: str
    schema: Mapping[str, Any]
    """JSON schema of the answer."""
    view: View
    """What can be cited."""
    more: str = ""
    """What is said beyond that to one who is asked again; the rest is the same, and is found in the cache."""

    @property
    def briefing(self) -> Briefing:
        """What is sent, with its parts in tokens."""
        parts = {"rubric": self.rubric, "work": self.sources, "evidence": self.evidence, "asked again": self.more}
        sizes = tuple((name, tokens(text)) for name, text in parts.items() if text)
        return Briefing(system=self.rules, prompt=self.prompt, sections=sizes)

    def again(self, cause: str) -> "JudgeRequest":
        """The same, once more, because the last answer to it could not be read."""
        return self._with(render("judge_again", cause=cause), self.view)

    def with_files(self, needed: Sequence[str], found: Sequence[Source], allowance: int) -> "JudgeRequest":
        """The same, once more, with files that the judge needs to tell, as many as fit."""
        shown = view_sources(found, (), allowance, "files that do not fit")
        known = {path for path, _ in found}
        missing = name_list("files that are not in the repository", [path for path in needed if path not in known])
        return self._with(render("judge_files", files=shown.text if found else "", missing=missing), self.view.plus(shown))

    @property
    def prompt(self) -> str:
        """All that follows the rules, as one text."""
        return "\n\n".join(part for part in (self.rubric, self.sources, self.evidence, self.more) if part)

    def _with(self, words: str, view: View) -> "JudgeRequest":
        return replace(self, more=f"{self.more}\n\n{words}".strip(), view=view)


def build_request(question: JudgeQuestion, config: JudgeConfig) -> JudgeRequest:
    changed, named = _view_files(question, SOURCE_TOKENS)
    criteria = tuple(criterion.id for criterion in config.criteria)
    suspects = {finding.path for finding in question.findings} | {path for path, _ in question.named}
    work = render(
        "judge_work",
        files=view_paths(question.paths, {path for path, _ in question.sources}),
        diff=view_diff(question.diff, question.commits, suspects, DIFF_TOKENS),
        changed=changed.text,
        generated=name_list("changed files that are binary or generated, NOT shown", question.generated, GENERATED),
        named=named.text if question.named else "",
    )
    evidence = render(
        "judge_evidence",
        checks=view_outputs(question.outputs, OUTPUT_TOKENS),
        blocked=fence("what the agent says", question.blocked_by) if question.blocked_by else "",
        findings=view_findings(question.findings),
        earlier=view_earlier(question.earlier, criteria),
        notes=view_notes(question.notes),
    )
    return JudgeRequest(
        rules=render("judge_system"),
        rubric=_rubric(question.goal, config),
        sources=work,
        evidence=evidence,
        schema=answer_schema(criteria),
        view=changed.plus(named),
    )


def _view_files(question: JudgeQuestion, allowance: int) -> tuple[View, View]:
    """Changed files and those that are named, in so many tokens: a quarter is kept for what is named."""
    kept = allowance // 4 if question.named else 0
    changed = view_sources(question.sources, question.deleted, allowance - kept)
    named = view_sources(question.named, (), max(kept, allowance - tokens(changed.text)), "such files that are NOT shown")
    return changed, named


def answer_schema(criteria: tuple[str, ...]) -> dict[str, Any]:
    """The form of an answer, within what structured output supports: no lengths, no bounds, everything required."""
    criterion = closed(id=one_of(criteria), reason=TEXT, verdict=one_of(get_args(Given)), fix=TEXT, need=many(TEXT))
    return closed(criteria=many(criterion), principle=TEXT)


def _rubric(goal: str, config: JudgeConfig) -> str:
    picture = config.envisioning.strip()
    return render(
        "judge_rubric",
        goal=fence("the goal", trim(goal.strip(), _GOAL_TOKENS)),
        picture=fence("the finished work, as it is pictured", picture) if picture else "",
        criteria=[_criterion(criterion) for criterion in config.criteria],
    )


def _criterion(criterion: CriterionConfig) -> str:
    tests = name_list(f"tests that are said to prove the criterion {criterion.id}", criterion.tests)
    text = fence(f"the criterion {criterion.id}", criterion.text.strip())
    return f"{text}\n{tests}" if tests else text
