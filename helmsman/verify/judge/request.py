"""Build the judge's request: role and rules, rubric, work. Constant parts come first, for the prompt cache."""

from collections.abc import Sequence

from helmsman.config import JudgeConfig
from helmsman.prompts import render
from helmsman.records.iteration import Briefing, Question
from helmsman.tokens import tokens, trim
from helmsman.verify.judge.view import (
    DIFF_TOKENS,
    JudgeQuestion,
    Source,
    fence,
    name_list,
    view_diff,
    view_earlier,
    view_findings,
    view_notes,
    view_outputs,
    view_paths,
    view_sources,
)
from helmsman.verify.judge.votes import answer_schema

GENERATED = 20  # maximum names of generated files
SOURCE_TOKENS = 24_000  # for the changed files
ANSWER_TOKENS = 16_000  # maximum for the answer, including thinking; a truncated answer is unreadable
OUTPUT_TOKENS = 8_000  # for the check output
_GOAL_TOKENS = 5_000


class JudgeRequest(Question):
    """Complete request for one vote; all votes on one question get the same."""

    @property
    def briefing(self) -> Briefing:
        """The prompt, with the size of its parts in tokens."""
        parts = {"rubric": self.task, "work": self.facts, "evidence": self.closing, "asked again": self.more}
        sizes = tuple((name, tokens(text)) for name, text in parts.items() if text)
        return Briefing(system=self.rules, prompt=self.prompt, sections=sizes)

    def retry(self, cause: str) -> "JudgeRequest":
        """Repeat the request because the last answer was unreadable."""
        return self._append(render("judge_again", cause=cause))

    def with_files(self, needed: Sequence[str], files: Sequence[Source], allowance: int) -> "JudgeRequest":
        """Repeat the request with the files that the judge asked for, as many as fit."""
        shown = view_sources(files, (), allowance, "files that do not fit")
        existing = {path for path, _ in files}
        missing = name_list("files that are not in the repository", [path for path in needed if path not in existing])
        return self._append(render("judge_files", files=shown if files else "", missing=missing))

    def _append(self, text: str) -> "JudgeRequest":
        return self.model_copy(update={"more": f"{self.more}\n\n{text}".strip()})


def build_request(question: JudgeQuestion, config: JudgeConfig) -> JudgeRequest:
    criteria = tuple(criterion.id for criterion in config.criteria)
    suspects = {finding.path for finding in question.findings} | {path for path, _ in question.named}
    reserved = SOURCE_TOKENS // 4 if question.named else 0  # reserved for files that criteria and checks name
    changed = view_sources(question.sources, question.deleted, SOURCE_TOKENS - reserved)
    room = max(reserved, SOURCE_TOKENS - tokens(changed))
    named = view_sources(question.named, (), room, "such files that are NOT shown")
    work = render(
        "judge_work",
        files=view_paths(question.paths, {path for path, _ in question.sources}),
        diff=view_diff(question.diff, question.commits, suspects, DIFF_TOKENS),
        changed=changed,
        generated=name_list("changed files that are binary or generated, NOT shown", question.generated, GENERATED),
        named=named if question.named else "",
    )
    evidence = render(
        "judge_evidence",
        checks=view_outputs(question.outputs, question.proving, OUTPUT_TOKENS),
        blocked=fence("what the agent says", question.blocked_by) if question.blocked_by else "",
        findings=view_findings(question.findings),
        earlier=view_earlier(question.earlier, criteria),
        notes=view_notes(question.notes),
    )
    return JudgeRequest(
        rules=render("judge_system"),
        task=_render_rubric(question.goal, config),
        facts=work,
        closing=evidence,
        form=answer_schema(criteria),
    )


def _render_rubric(goal: str, config: JudgeConfig) -> str:
    picture, criteria = config.envisioning.strip(), list[str]()
    for criterion in config.criteria:
        tests = name_list(f"tests that are said to prove the criterion {criterion.id}", criterion.tests)
        text = fence(f"the criterion {criterion.id}", criterion.text.strip())
        criteria.append(f"{text}\n{tests}" if tests else text)
    return render(
        "judge_rubric",
        goal=fence("the goal", trim(goal.strip(), _GOAL_TOKENS)),
        picture=fence("the finished work, as it is pictured", picture) if picture else "",
        criteria=criteria,
    )
