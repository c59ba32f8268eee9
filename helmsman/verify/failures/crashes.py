"""Programs that died of an error of their own."""

import re

from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures.rules import Hit, Rule, first_hit, hit, rule

_CRASHES: tuple[Rule, ...] = (
    rule(
        Class.EXCEPTION,
        r"^.{0,200}?(?P<said>(?:Segmentation fault|Bus error|Floating point exception|Illegal instruction|"
        r"Aborted \(core dumped\)|SIGSEGV: segmentation violation)\b.{0,60})",
    ),
    rule(
        Class.EXCEPTION,
        r"^(?:==\d+==)?(?P<said>ERROR: (?:Address|Thread|Memory|Leak|UndefinedBehavior)Sanitizer: [\w -]{1,80})",
    ),
    rule(Class.EXCEPTION, r"^thread '[^'\n]{1,100}'(?: \(\d+\))? panicked at (?P<at>[^\s:]{1,200}:\d+):\d+:\n(?P<said>.*)"),
    rule(Class.EXCEPTION, r"^thread '[^'\n]{1,100}' panicked at '(?P<said>[^\n]{0,300})', (?P<at>[^\s:]{1,200}:\d+)"),
    rule(Class.EXCEPTION, r"^(?P<said>(?:panic|fatal error): .*)"),
    rule(Class.EXCEPTION, r"^Exception in thread \"[^\"\n]{1,80}\" (?P<said>.*)"),
    rule(Class.EXCEPTION, r"^(?:Unhandled exception\. )(?P<said>.*)"),
    rule(Class.EXCEPTION, r"^(?:PHP )?Fatal error: +(?:Uncaught )?(?P<said>.{0,300}?)(?: in (?P<at>\S{1,200}:\d+))?$"),
    rule(Class.EXCEPTION, r"^(?P<at>[^\s:]{1,200}\.rb:\d+):in (?:[`'][^'\n]{1,100}': |<main>: )?(?P<said>.* \([\w:]{1,80}\))"),
    rule(Class.EXCEPTION, r"^(?P<said>terminate called .*)"),
)
_ERROR = re.compile(
    r"^ {0,4}(?:Uncaught (?:\(in promise\) )?|E +|error: (?=Uncaught)|\[\w+: )?"
    r"(?P<said>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit|Warning|Failure|DoesNotExist)"
    r"(?: \[\w{1,60}\])?(?::.*|$))",
    re.MULTILINE,
)
TRACEBACK = "Traceback (most recent call last):"
_ANY_LAST = re.compile(r"^(?P<said>[A-Za-z_][\w.]{0,150}(?:: .*|$))", re.MULTILINE)


def crash(text: str, programs: frozenset[str]) -> Hit | None:
    """An error that nobody caught; of a chain of Python's the last, of other languages the first."""
    found = first_hit(_CRASHES, text, programs)
    if found is not None:
        return found
    start = text.rfind(TRACEBACK)
    match = (_ERROR.search(text, start) or _ANY_LAST.search(text, start + len(TRACEBACK))) if start >= 0 else _ERROR.search(text)
    if match is None:
        return None
    return hit(Class.TEST if "AssertionError" in match["said"].partition(":")[0] else Class.EXCEPTION, match)
