"""Tests in languages that are read by their lines: JavaScript, Go, Rust, Java, Kotlin, Ruby, PHP, and broken Python."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from helmsman.verify.cases.asked import asked_by, asked_in_mark
from helmsman.verify.cases.cut import cut
from helmsman.verify.cases.kinds import compact
from helmsman.verify.cases.line_asserts import Found, assertion_at, heads_in
from helmsman.verify.cases.line_skips import FoundSkip, skips_in
from helmsman.verify.cases.line_tests import SPANS, Span
from helmsman.verify.cases.masks import Brackets, Masked, masked
from helmsman.verify.cases.model import Assertion, Case, Guard, Kind, Reading, Skip, SkipKind
from helmsman.verify.cases.variables import results_in
from helmsman.verify.cases.words import names_in, words_of

_ROW = re.compile(r"[ \t]*+(?:[{\[(]|[\w\"'.\-]++\s*(?:=>|:)\s).*[,}\])][ \t]*+$")
_KEY = re.compile(r"\b\w+:(?!:)")
_VALUE = re.compile(r'"(?:[^"\\\n]++|\\.)*+"|\'(?:[^\'\\\n]++|\\.)*+\'|-?\b[0-9][\w.]*+|\b(?:true|false|nil|null|undefined)\b')
_LONGEST_ROW = 300
"""Characters of a line that may be a row."""
_Item = TypeVar("_Item", re.Match[str], FoundSkip)


def read_lines(path: str, text: str, language: str) -> Reading:
    return _Lines(path, language, masked(text.replace("\r\n", "\n"), language)).reading()


def read_both(paths: tuple[str, str], texts: tuple[str, str], language: str) -> tuple[Reading, Reading]:
    """Two versions of a file. What stands in both is read without its assertions, which no comparison needs."""
    parts = cut(*(masked(text.replace("\r\n", "\n"), language) for text in texts))
    old, new = (_Lines(path, language, part) for path, part in zip(paths, parts, strict=True))
    common = frozenset(map(old.body, old.spans)) & frozenset(map(new.body, new.spans))
    return old.reading(common), new.reading(common)


_GATE = re.compile(r"(?m)^(?://go:build .*|// \+build .*|#!\[cfg\(.*)$")
_GATED_MODULE = re.compile(
    r"(?m)^[ \t]*+#\[cfg\((?!test\)\])[^\n]*\)\](?=\n(?:[ \t]*+#\[[^\n]*\n){0,3}[ \t]*+(?:pub )?mod \w*tests?\b)",
)
_BARE_RETURN = re.compile(r"(?m)^[ \t]*+return[ \t]*+;?[ \t]*+$")
_NEVER = re.compile(r"(?<!\w)(?:if|while)\s*\(?\s*(?:false|0|!true)\b")
_BRANCH = re.compile(r"(?<!\w)(?:if|else|switch|case|match|when|catch|rescue)(?!\w)")
_ALWAYS = re.compile(r"(?<!\w)if\s*\(?\s*(?:true|1)\s*\)?\s*$")
_TRY = re.compile(r"(?<!\w)try\s*$")
_CATCH = re.compile(r"\s*catch\s*(?:\([^)\n]{0,200}\))?\s*\{")
_RAISES_AGAIN = re.compile(r"(?<!\w)(?:throw|fail|assert|expect|raise|reject|done)\w*")
_RUNS_WHERE = re.compile(r"\.runIf\b|\bassumeT(?:rue|hat)\(|\sunless\s")
_SKIPS_WHERE = re.compile(r"\.skipIf\b|\bassumeFalse\(|\.(?:skip|fixme)\((?!\s*[\"'`)])|\sif\s")
"""Marks and statements that hold their condition in their own line."""
_DEEPEST = 15
"""Braces between an assertion and its test that are looked at."""


@dataclass(frozen=True)
class _Lines:
    path: str
    language: str
    masked: Masked

    @cached_property
    def brackets(self) -> Brackets:
        return Brackets(self.masked.bare)

    @cached_property
    def starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.masked.text.split("\n"))]

    @cached_property
    def returns(self) -> dict[int, int]:
        """For each brace the position of the first bare `return` directly in it."""
        found: dict[int, int] = {}
        for match in _BARE_RETURN.finditer(self.masked.bare):
            found.setdefault(self.brackets.around(match.end()), match.end())
        return found

    @cached_property
    def spans(self) -> list[Span]:
        found = SPANS[self.language](self.masked, self.brackets)
        return list(_apart(sorted(found, key=lambda span: (span.start, -span.end))))

    def body(self, span: Span) -> str:
        return self.masked.code[span.start : span.end].strip()

    def reading(self, known: frozenset[str] = frozenset()) -> Reading:
        """Read all but the assertions of those whose text is known."""
        wanted = {span: list[Assertion]() for span in self.spans if self.body(span) not in known}
        for span, head in _placed(self.spans, heads_in(self.masked)):
            if span in wanted:
                wanted[span].extend(self._assertions(assertion_at(head, self.masked, self.brackets), span))
        cases = [(span, self._case(span, wanted.get(span))) for span in self.spans]
        return Reading(
            cases=tuple(case for span, case in cases if span.is_test),
            others=tuple(case for span, case in cases if not span.is_test),
            skips=tuple(self._skips({span: frozenset(item.subject for item in found) for span, found in wanted.items()})),
            gates=tuple(match[0].strip() for match in self._gates()),
            commented=self.masked.comments,
        )

    def _gates(self) -> Iterator[re.Match[str]]:
        yield from _GATE.finditer(self.masked.text[:5_000])
        if self.language == "rust":
            yield from _GATED_MODULE.finditer(self.masked.code)

    def _case(self, span: Span, assertions: list[Assertion] | None) -> Case:
        found = (*self._rows(span), *assertions) if assertions is not None else ()
        why = "" if span.is_test else f"a function called {span.name} is not collected"
        return Case(self.path, span.name, self._line(span.head), self.body(span), found, why)

    def _rows(self, span: Span) -> Iterator[Assertion]:
        """Lines that hold nothing but values, as in the tables of Go."""
        line = self._line(span.start)
        for offset, text in enumerate(self.masked.code[span.start : span.end].split("\n")):
            row = _ROW.match(text) if len(text) <= _LONGEST_ROW else None
            if row is not None and not words_of(_KEY.sub("", text)).names:
                values = [match.group() for match in _VALUE.finditer(text)]
                if len(values) > 1:
                    subject = compact(text.rpartition(values[-1])[0])
                    yield Assertion(line + offset, text.strip(), Kind.ROW, subject, compact(values[-1]))

    def _line(self, position: int) -> int:
        return bisect_right(self.starts, position)

    def _text(self, position: int) -> str:
        start = self.starts[self._line(position) - 1]
        return self.masked.code[start : start + 400].partition("\n")[0].strip()

    def _assertions(self, found: Found, span: Span) -> Iterator[Assertion]:
        brace = self.brackets.around(found.start) if found.brace is None else self.brackets.parents.get(found.brace, -1)
        guard = self._guard(found.start, brace, span)
        if found.brace is not None and _NEVER.search(self._head(found.brace)):
            guard = Guard.UNREACHABLE
        start = self.starts[self._line(found.start if found.brace is None else found.brace) - 1]
        text = self.masked.code[start : min(found.end, start + 500)].strip()
        for claim in found.claims:
            fields = (claim.kind, claim.subject, claim.expected, guard, claim.tolerance, claim.detail)
            yield Assertion(self._line(found.start), text, *fields)

    def _head(self, brace: int) -> str:
        furthest = max(0, brace - 300)
        start = max(self.masked.bare.rfind("\n", furthest, brace) + 1, furthest)
        return self.masked.bare[start:brace]

    def _guard(self, position: int, brace: int, span: Span) -> Guard:
        """The worst of what stands between a position and its test."""
        guard = Guard.PLAIN
        for _ in range(_DEEPEST):
            left = self.returns.get(brace, position)
            guard = max(guard, Guard.UNREACHABLE if span.start < left < position and brace >= 0 else Guard.PLAIN)
            if brace < span.head or brace == span.brace:
                break
            guard = max(guard, self._of_brace(brace))
            brace = self.brackets.parents.get(brace, -1)
        return guard

    def _of_brace(self, brace: int) -> Guard:
        head = self._head(brace)
        if _NEVER.search(head):
            return Guard.UNREACHABLE
        if _TRY.search(head):
            return Guard.SWALLOWED if self._swallows(self.brackets.close(brace, -1)) else Guard.PLAIN
        return Guard.CONDITIONAL if _BRANCH.search(head) and not _ALWAYS.search(head) else Guard.PLAIN

    def _swallows(self, close: int) -> bool:
        catch = _CATCH.match(self.masked.bare, close + 1) if close >= 0 else None
        if catch is None:
            return False
        end = self.brackets.close(catch.end() - 1, catch.end())
        return not _RAISES_AGAIN.search(self.masked.bare, catch.end(), min(end, catch.end() + 2_000))

    def _skips(self, compared: Mapping[Span, frozenset[str]]) -> Iterator[Skip]:
        for span, found in _placed(self.spans, skips_in(self.masked, self.language)):
            kind = found.kind
            if span is not None and kind is SkipKind.ALWAYS:
                guard = self._guard(found.position, self.brackets.around(found.position), span)
                hides = span in compared and self._hides(found.position, span, compared[span])
                kind = SkipKind.CONDITION if guard is Guard.CONDITIONAL and not hides else kind
            holder = span.name if span is not None else ""
            asks = self._asked(found.position) if kind is SkipKind.CONDITION else ""
            yield Skip(self._line(found.position), self._text(found.position), kind, holder, asks)

    def _hides(self, position: int, span: Span, compared: frozenset[str]) -> bool:
        """Whether a skip depends on what the code under test gave, or on its error."""
        condition = self._condition(self.brackets.around(position))
        results = results_in(self.masked.code[span.start : position], compared)
        return bool(results) and ("catch" in condition or not results.isdisjoint(names_in(condition)))

    def _asked(self, position: int) -> str:
        """In the mark itself, in its line, or in the condition around it."""
        line = self._text(position)
        runs = _RUNS_WHERE.search(line)
        condition = line if runs or _SKIPS_WHERE.search(line) else self._condition(self.brackets.around(position))
        return asked_in_mark(line) or asked_by(condition, self.masked.code, runs_where_it_holds=bool(runs))

    def _condition(self, brace: int) -> str:
        furthest = max(0, brace - 300)
        return self.masked.code[max(self.masked.bare.rfind("\n", furthest, brace) + 1, furthest) : max(brace, 0)]


def _apart(spans: list[Span]) -> Iterator[Span]:
    """Tests end where the next one begins; functions inside of others are part of them. So no text is read twice."""
    starts = iter([span.start for span in spans if span.is_test][1:])
    covered = 0
    for span in spans:
        if span.is_test:
            following = next(starts, span.end)
            yield replace(span, end=min(span.end, max(following, span.head)))
        elif span.start >= covered:
            yield span
        covered = max(covered, span.end)


def _placed(spans: list[Span], items: Iterable[_Item]) -> Iterator[tuple[Span | None, _Item]]:
    """Each item with the innermost span around it; both are in the order of the text."""
    around: list[Span] = []
    upcoming = 0
    for item in items:
        while upcoming < len(spans) and spans[upcoming].start <= item.start():
            around.append(spans[upcoming])
            upcoming += 1
        while around and around[-1].end <= item.start():
            around.pop()
        yield (around[-1] if around else None), item
