"""Compare an agent's claims about its work with git and the checks. The result is recorded for people and decides nothing.

Only unambiguous claims are compared: the status block, commit ids, named files, and passing tests. An honest agent must never be
contradicted wrongly, so a mismatch with another possible explanation does not count.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from helmsman.parsers.markdown_text import without_code
from helmsman.parsers.paths import Paths, as_path, is_visible_to_git
from helmsman.parsers.status import read_ending
from helmsman.plain import short_line
from helmsman.records.agent import AgentCall, Change
from helmsman.records.checks import CheckReport
from helmsman.records.claims import Claim, ClaimKind, ClaimLayer, Claims, Contradiction
from helmsman.texts import plural

MOST = 50  # maximum number of claims and of contradictions
_LONGEST = 20_000
_LONGEST_QUOTE = 200


def read_claims(message: str, promise: str, *, only_at_end: bool = False) -> Claims:
    """Parse what the last message asks for, and what it and its status block claim was done."""
    ending = read_ending(message, promise, only_at_end=only_at_end)
    status, claims, sentences = ending.status, list[Claim](), list(_sentences(message))
    # a message that admits a failure anywhere does not claim that the tests pass
    admits_failure = any(_ADMITS.search(_HARMLESS.sub("", sentence)) for sentence, _ in sentences)
    for sentence, under in sentences:
        quote = short_line(sentence, _LONGEST_QUOTE)
        accepted = (claim for claim in _read_sentence(sentence, under) if not (admits_failure and claim[0] == "tests_pass"))
        claims += [Claim(kind=kind, subject=subject, said=quote, source="last message") for kind, subject in accepted]
    if status and status.tests_status == "passing":
        claims.append(Claim(kind="tests_pass", said="TESTS_STATUS: passing", source="RALPH_STATUS"))
    unique = {(claim.kind, claim.subject): claim for claim in reversed(claims)}
    return ending.model_copy(update={"claims": tuple(reversed(unique.values()))[:MOST]})


_compile = partial(re.compile, flags=re.IGNORECASE)
_PART = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+•>|#]|[0-9]{1,3}[.)])\s)")
"""Boundaries of paragraphs and list items: wrapped lines stay joined, or a `not` at a line's end would be lost."""
_SENTENCE_END = re.compile(r"(?<=[.!?;])(?<!e\.g\.)(?<!i\.e\.)\s+")
_MARKS = re.compile(r"^(?:[-*+•\s]|[0-9]{1,3}[.)]\s)+")
_TICKED = re.compile(r"\[[xX]\]\s+(.+)")
_NOT_DONE = _compile(
    r"\b(?:next|to-?do|remain|left|plan|pending|future|follow-?up|later|recommend|suggest|idea|how|usage|example|requirement"
    r"|accept|criteri|goal|question|block|not|never|should|could|would|must|if|before|previous|earlier|background|you)",
)
"""In a heading or lead-in: the text below was not done, not now, or not by the agent."""
_UNSURE = _compile(
    r"\?$|n't\b|[❌✗✘☐🚧⚠⏳]|\b(?:not?|never|none|nothing|if|once|when|until|unless|before|should|would|could|might|may|will"
    r"|must|needs?|want|expect|hope|likely|probably|goal|plan|todo|you|tried|attempt|next|instead|later|revert|undid|undone"
    r"|backed|restored?|discard|stash|temporar|earlier|previous|already|last|prior|other|user|iteration|session|history|ago|but"
    r"|except|most|many|some|few|only|partial|fail|errors?|broken|flaky|locally|remaining)",
)
"""Words with which a sentence may deny, plan, restrict or refer to another time."""
_HARMLESS = _compile(r"\b(?:with )?(?:no|0|zero|without(?: any)?) (?:failures?|errors?|warnings?|regressions?)\b")
_ADMITS = _compile(r"\b(?:[1-9][0-9]{0,5}|still|tests?|suite|checks?) (?:\w{1,30} ){0,2}(?:fail|broken|red\b)|n(?:o|')t pass")
_ALL_PASS = _compile(
    r"(?:^|[,;:] |\band |\bthat )(?:now )?(?:all (?:of )?(?:the )?(?:[0-9]{1,6} )?|the )?(?:(?:full|whole|entire|complete) )?"
    r"(?:tests?(?: suite)?|checks?):? (?:(?:now|all|still|are|is) ){0,3}(?:pass(?:es|ing|ed)?|green)\b"
    r"(?=\s*(?:$|[.,;:!(✅]|and\b))",
)
_COMMITTED = _compile(
    r"\bcommit(?:ted)?\b[^.?\n]{0,40}?(?:\b(?:as|in|id|sha|hash)|[:(])\s*[`'\"(]?((?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40})\b",
)
_CHANGED_FILES = _compile(
    r"(?:(?:I|we|I've|we've|have|also|then|now|and|finally)\b,?\s+)*(?:created|wrote|rewrote|updated|modified|changed|edited"
    r"|refactored|extended|deleted)\s+(?:both\s+)?((?:`[^`\s]+`(?:, and |, | and )?)+)"
    r"(?=$|[.,;:(]|\s(?:to|so|with|for|which|and)\b)",
)
_LISTED_FILE = re.compile(r"(`[^`\s]+`)(?=$|:|\s[(–—-])")  # noqa: RUF001 - as people write it
_FILES_UNDER = _compile(r"\W*(?:files? |what )?(?:I )?(?:changed|modified|created|updated|changes)(?: made| files?)?\W*")


def _sentences(message: str) -> Iterator[tuple[str, str]]:
    """Yield sentences with their heading or lead-in, without code, quotes, tables and unticked boxes."""
    under = ""
    for part in _PART.split(without_code(message[-_LONGEST:].replace("\u2019", "'"))):
        text = " ".join(part.replace("**", "").split())
        if not text.startswith(("#", ">", "|", "- [ ]", "* [ ]")) and not _NOT_DONE.search(under):
            yield from ((sentence, under) for sentence in _SENTENCE_END.split(_MARKS.sub("", text)[: 3 * _LONGEST_QUOTE]))
        under = text if text.startswith("#") or text.endswith(":") else under


def _read_sentence(sentence: str, under: str) -> Iterator[tuple[ClaimKind, str]]:
    plain = re.sub("`[^`]*`", "`x`", _HARMLESS.sub("", sentence))
    if _UNSURE.search(plain):
        return
    if ticked := _TICKED.match(sentence):
        yield "item_done", ticked[1]
    if _ALL_PASS.search(plain):
        yield "tests_pass", ""
    for name in _COMMITTED.findall(sentence):
        yield "committed", name.lower()
    files = _CHANGED_FILES.match(sentence) or (_FILES_UNDER.fullmatch(under) and _LISTED_FILE.match(sentence))
    for word in files[1].split() if files else ():
        if path := as_path(word.strip(",")):
            yield "file_changed", path


@dataclass(frozen=True)
class Case:
    """One iteration's claims, and the evidence of the same iteration."""

    claims: Claims
    change: Change
    call: AgentCall
    report: CheckReport | None = None  # result of the checks after it; None if they did not run
    ignored: tuple[str, ...] = ()  # paths that git ignores: git cannot show changes there
    worktree: str = ""  # absolute path; if empty, absolute paths are not compared
    earlier_files: tuple[str, ...] = ()
    """Paths changed in earlier iterations: a summary of the whole loop names them too."""
    no_commits: tuple[str, ...] = ()  # named commit ids that git does not have

    @property
    def unseen(self) -> bool:
        """Whether the agent's program does not report what it ran: it may have done things without a trace in git."""
        return not {"tools", "commands"}.isdisjoint(self.call.untold)


def contradictions(case: Case) -> tuple[tuple[Contradiction, ...], int]:
    """Return the claims that the evidence contradicts, the gravest first, and the number of claims with evidence."""
    answers = [(claim, _COMPARE[claim.kind](claim.subject, case)) for claim in case.claims.claims if claim.kind in _COMPARE]
    wrong = (_contradiction("contradiction", claim.said, answer, claim.source) for claim, answer in answers if answer)
    softer: list[Contradiction] = []
    commit_claim = next((claim.said for claim in case.claims.claims if claim.kind == "committed"), case.claims.how)
    if case.change.leftovers_committed and commit_claim:
        softer.append(_contradiction("uncommitted", commit_claim, "work was left uncommitted, and Helmsman committed it"))
    return (*wrong, *softer)[:MOST], sum(answer is not None for _, answer in answers)


def _contradiction(layer: ClaimLayer, said: str, found: str, source: str = "last message") -> Contradiction:
    return Contradiction(layer=layer, said=short_line(said, _LONGEST_QUOTE), found=found, source=source)


# each returns the contradicting evidence; empty if the claim holds, None if nothing is certain

_WRITES = re.compile(
    r"(?<![0-9&=-])>(?!&|\s*/dev/null)"
    r"|\b(?:tee|sed -i|perl -|cp|mv|rm|touch|ln|patch|git (?:mv|rm|apply|checkout|restore|stash|commit))\b"
)
_REWRITES = re.compile(r"--amend|\b(?:rebase|reset|cherry-pick|squash|worktree|clone)\b|\bgit -C\b")


def _check_file_changed(path: str, case: Case) -> str | None:
    if path in Paths((*case.change.files, *case.call.edited)):
        return ""
    if path in Paths(case.earlier_files) or case.unseen or case.change.files_changed > len(case.change.files):
        return None
    name = path.rpartition("/")[2].lower()
    touched = any(name in run.command.lower() and _WRITES.search(run.command) for run in case.call.commands)
    is_visible = path not in case.ignored and is_visible_to_git(path, case.worktree)
    return f"git shows no change in {path}" if is_visible and not touched else None


def _check_tests_pass(_: str, case: Case) -> str | None:
    has_run = False
    for result in case.report.results if case.report else ():
        counts = result.counts
        # a test check by its counts or its name; what failed and then passed on the same tree passed for the agent as well
        is_test_check = (counts is not None and counts.passed + counts.failed > 0) or _TESTS.search(result.command) is not None
        if not is_test_check or result.timed_out or result.error or result.is_flaky:
            continue
        has_run = True
        # a check may fail for another reason, such as coverage, while all tests pass
        if not result.passed and (counts is None or counts.failed or not counts.passed):
            details = f" with {plural(counts.failed, 'failing test')}" if counts and counts.failed else ""
            return f"check `{short_line(result.name, 80)}` failed{details}"
    return "" if has_run else None


_TESTS = re.compile(r"(?<![a-z])(?:py|go|unit)?tests?(?![a-z])|\b(?:tox|nox|jest|vitest|mocha|rspec|phpunit)\b")


def _check_committed(name: str, case: Case) -> str | None:
    if name not in case.no_commits:
        return ""
    rewritten = any(_REWRITES.search(run.command) for run in case.call.commands)
    return None if case.unseen or rewritten else f"git has no commit {name[:12]}"


_COMPARE: dict[ClaimKind, Callable[[str, Case], str | None]] = {
    "file_changed": _check_file_changed,
    "tests_pass": _check_tests_pass,
    "committed": _check_committed,
}
