"""Flags that people know from other loops, and what does the same here."""

from collections.abc import Sequence

from helmsman.errors import OperatorError

BORROWED = {
    "--force-max": "give --set completion.force_max=true: go on improving after the work is proven",
    "--hitl-threshold": "give --set judge.rejections=N: rejections in a row before a person is asked",
    "--with-judge": "write criteria under `## Judge criteria` in RUBRIC.md, or set judge.criteria: then there is a judge",
    "--no-controller": "give --set ladder.act=false: the overseer only watches and reports",
    "--auto-intervene": "leave it out: the overseer intervenes by default (ladder.act=true)",
    "--auto-escalate": "leave it out: the overseer escalates by default; --set ladder.patience=N says after how many iterations",
    "--pause-on-critical": "give --set gates.ask=true: what needs a person pauses the run instead of ending it",
    "--base-branch": "give --merge BRANCH: proven work is merged into it",
    "--calls": "give --max-calls N: agent calls an hour",
}
"""By flag what to give instead. Flags that mean the same here are options of `run` themselves."""


def refuse_borrowed(arguments: Sequence[str]) -> None:
    """Raise OperatorError for the first flag that has another name here; what follows `--` is no flag."""
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for flag in (argument.partition("=")[0] for argument in flags):
        if flag in BORROWED:
            raise OperatorError(f"{flag} is not an option of helmsman", remedy=BORROWED[flag])


def in_words(arguments: list[str]) -> list[str]:
    """`helmsman help COMMAND` and `helmsman version` say what the options of that name do."""
    first, *others = arguments or [""]
    return {"help": [*others[:1], "--help"], "version": ["--version"]}.get(first, arguments)
