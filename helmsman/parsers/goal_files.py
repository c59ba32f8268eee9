"""What users of other loops bring along: `.ralphrc`, lines of KEY=VALUE for a shell, and the promise in PROMPT.md."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from helmsman.config.layers import did_you_mean, display
from helmsman.parsers.problem import MOST_PROBLEMS, Problem


class RcLine(NamedTuple):
    """One assignment of `.ralphrc` and what it means here."""

    line: int
    name: str
    values: Mapping[str, Mapping[str, object]]
    """As nested configuration."""


def _program(text: str) -> str:
    (program,) = text.split()
    return program


def _tools(text: str) -> list[str]:
    return [tool.strip() for tool in re.findall(r"(?:[^,()]|\([^()]*\))+", text) if tool.strip()]


_SESSION = {"true": "resume", "false": "fresh"}.__getitem__
EXPECTED: Mapping[Callable[[str], object], str] = {
    int: "a whole number",
    float: "a number",
    _SESSION: "true or false",
    _program: "one program without arguments",
}
KEYS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "MAX_CALLS_PER_HOUR": ("limits.calls_per_hour", int),
    "MAX_ITERATIONS": ("limits.iterations", int),
    "CLAUDE_TIMEOUT_MINUTES": ("claude.timeout_minutes", float),
    "CLAUDE_MODEL": ("claude.model", str),
    "CLAUDE_CODE_CMD": ("claude.binary", _program),
    "CLAUDE_PERMISSION_MODE": ("claude.permission_mode", str),
    "ALLOWED_TOOLS": ("claude.allowed_tools", _tools),
    "CLAUDE_ALLOWED_TOOLS": ("claude.allowed_tools", _tools),
    "SESSION_CONTINUITY": ("claude.session", _SESSION),
    "CB_COOLDOWN_MINUTES": ("breaker.cool_down_minutes", float),
}
"""Keys of `.ralphrc`, what they set here, and how their values are read."""
NO_EFFECT = re.compile(
    "PROJECT_(NAME|TYPE|ROOT)|CLAUDE_(OUTPUT_FORMAT|AUTO_UPDATE|MIN_VERSION)|CB_(AUTO_RESET|[A-Z_]+_THRESHOLD)|SESSION_EXPIRY_HOURS|VERBOSE(_PROGRESS)?|SLEEP_DURATION|"
    "TASK_SOURCES|DRY_RUN|KEEP_MONITOR_AFTER_EXIT|(RALPH|LOG|GITHUB|BEADS|LINEAR|SANDBOX_(DOCKER|E2B))_[A-Z_]+"
)
"""Keys for what does not exist here, or is not the loop's to decide: they are read over."""
INSTEAD: Mapping[str, tuple[str, str]] = {
    "MAX_TOKENS_PER_HOUR": ("0", "write 0, and bound all tokens of a loop by limits.tokens in helmsman.toml"),
    "PROMPT_FILE": ("PROMPT.md", 'take the line out, and name the file in helmsman.toml: goal_file = "…"'),
    "FIX_PLAN_FILE": ("fix_plan.md", 'take the line out, and name the file in helmsman.toml: plan.file = "…"'),
    "AGENT_FILE": ("AGENT.md", "take the line out, and name the file in PROMPT.md"),
    "SANDBOX_PROVIDER": ("", "take the line out, and choose a sandbox by sandbox.kind"),
}
"""Keys that would be missed: the one value that changes nothing, and what to do about any other."""

LONGEST_VALUE = 20
"""Lines of one quoted value; a quote that is closed later is a mistake."""
_OWN_DEFAULT = re.compile(r"\$\{(?P<name>\w+):-(?P<default>[^${}]*)\}")
MOST_PROMISES = 5
_PROMISE = re.compile(r"<promise>[^<>\n]{1,200}</promise>")


def read_rc(text: str) -> tuple[list[RcLine], list[Problem]]:
    """What `.ralphrc` sets, a later line over an earlier one of the same name; and the first of what cannot be understood."""
    lines, flaws = dict[str, RcLine](), list[Problem]()
    for number, said in _assignments(text):
        try:
            name, values = _meant(said)
            lines[name] = RcLine(number, name, values)
        except _Unusable as error:
            flaws.append(Problem(number, *error.args))
        if len(flaws) == MOST_PROBLEMS:
            break
    order = tuple(KEYS)
    return sorted((one for one in lines.values() if one.values), key=lambda one: order.index(one.name)), flaws


def promises(text: str) -> list[tuple[int, str]]:
    """The promises that a prompt names, each once with its first line; of very many the first few."""
    found = dict[str, int]()
    for one in _PROMISE.finditer(text):
        if one[0] not in found:
            found[one[0]] = text.count("\n", 0, one.start()) + 1
        if len(found) == MOST_PROMISES:
            break
    return [(line, promise) for promise, line in found.items()]


class _Unusable(Exception):  # noqa: N818 - it never leaves this file
    """Why an assignment cannot be used, and what to do."""


def _assignments(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, unquoted as a shell does, which reads none of them; a quoted value may go over several."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        words, end = [lines[at].strip()], at + 1  # a quote that nothing closes
        for last in range(at + 1, min(at + LONGEST_VALUE, len(lines)) + 1):
            with suppress(ValueError):
                words, end = shlex.split("\n".join(lines[at:last]), comments=True), last
                break
        if said := " ".join(words).removeprefix("export "):
            yield at + 1, said
        at = end


def _meant(said: str) -> tuple[str, Mapping[str, Mapping[str, object]]]:
    """The key of an assignment and what it sets; nothing where it has no effect here. Raises _Unusable."""
    name, equals, value = said.partition("=")
    if not equals or not name.isidentifier():
        raise _Unusable(f"expected KEY=value, found {display(said)}", "take the line out: no shell reads it here")
    value = _OWN_DEFAULT.sub(lambda found: found["default"] if found["name"] == name else found[0], value)
    if NO_EFFECT.fullmatch(name) or value == "":
        return name, {}
    if name in INSTEAD:
        harmless, remedy = INSTEAD[name]
        if value in {harmless, f"@{harmless}"}:
            return name, {}
        raise _Unusable(f"there is nothing like {name} here", remedy)
    if name not in KEYS:
        raise _Unusable(f"unknown key {display(name)}{did_you_mean(name, KEYS)}", "correct it, or take the line out")
    if re.search(r"[$`\\]", value):
        raise _Unusable(f"only a shell knows the value of {name}", "write it out")
    (section, key), read = KEYS[name][0].split("."), KEYS[name][1]
    try:
        found = read(value)
    except (ValueError, KeyError):
        raise _Unusable(f"{name}: expected {EXPECTED[read]}, found {display(value)}", "correct it") from None
    if read is _program and found == "claude":  # as it is called anyway
        return name, {}
    # Other loops refuse whatever is not in the list, so that mode comes with it.
    return name, {section: {key: found, **({"permission_mode": "dontAsk"} if read is _tools else {})}}
