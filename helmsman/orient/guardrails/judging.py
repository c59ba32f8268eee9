"""One tool call before it runs: allowed, advised on, or denied with what to do instead.

It is a guard rail for an agent that means well, not a sandbox: what can't be read from the text of a call is allowed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from helmsman.orient.guardrails import command_rules, files, git_rules, work_rules
from helmsman.orient.guardrails.rules import Advise, Allow, Deny, Finding, Judgement, Rule, Rules
from helmsman.orient.guardrails.shell import LONGEST, Command
from helmsman.orient.guardrails.tool_calls import Session, ToolCall, is_counted, only_looks

RuleOfCalls = Callable[[ToolCall, tuple[Command, ...], Session, Rules], Iterator[Finding]]


def judge(call: ToolCall, session: Session, rules: Rules) -> Judgement:
    """The first denial, else the first advice. Give the session as it was before this call, then fold the call into it."""
    known = replace(session, worktree=session.worktree or rules.worktree)
    commands = call.commands(rules.worktree, rules.home)
    advised = rules.strictness.advised
    found = [finding for rule in _RULES for finding in rule(call, commands, known, rules)]
    for finding in found:
        if finding.rule not in advised:
            return Deny(finding.rule, finding.text)
    return Advise(found[0].rule, found[0].text) if found else Allow()


def _of_commands(_: ToolCall, commands: tuple[Command, ...], session: Session, rules: Rules) -> Iterator[Finding]:
    return command_rules.findings(commands, session, rules)


def _of_git(_: ToolCall, commands: tuple[Command, ...], session: Session, rules: Rules) -> Iterator[Finding]:
    return git_rules.findings(commands, session, rules)


def _of_files(call: ToolCall, commands: tuple[Command, ...], _: Session, rules: Rules) -> Iterator[Finding]:
    return files.findings(call, commands, rules)


def _of_work(call: ToolCall, commands: tuple[Command, ...], _: Session, rules: Rules) -> Iterator[Finding]:
    return work_rules.findings(call, commands, rules)


def _repeated(call: ToolCall, _: tuple[Command, ...], session: Session, rules: Rules) -> Iterator[Finding]:
    """The same again, and nothing was changed in between."""
    if not is_counted(call):
        return
    found, level = session.found(call), rules.strictness
    times = found.times + 1
    if only_looks(call, session.worktree):
        if times >= level.same_look:
            yield Finding(Rule.REPEATED_LOOK, f"You have looked at this {found.times} times and nothing was changed since.")
    elif times >= level.same_command:
        outcome = "and it failed; it will fail again" if found.failed else "and its result will be the same"
        yield Finding(
            Rule.REPEATED,
            f"The same command ran {_times(found.times)} with no file change in between, {outcome}. Read its last output, change"
            " the code or the command, or look at one failing part alone.",
        )


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _unread(call: ToolCall, _: tuple[Command, ...], __: Session, ___: Rules) -> Iterator[Finding]:
    if len(call.command) > LONGEST:
        yield Finding(
            Rule.UNREAD, f"Only the first {LONGEST} characters of this command were read. Use the Write tool for long files."
        )


_RULES: tuple[RuleOfCalls, ...] = (_of_commands, _of_git, _of_files, _of_work, _repeated, _unread)
