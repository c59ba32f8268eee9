"""`helmsman align`: find open questions about a goal, ask them if there is a terminal, and write the alignment file."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console

from deployments.dialogue import ask_text, repo_option, require_utf8, say
from deployments.output import fields, print_result
from deployments.run import engine_here
from deployments.settings import goal_settings
from deployments.start_directory import start_directory
from deployments.trust import require_consent, with_consent
from helmsman.config.layers import Layer, display
from helmsman.errors import OperatorError
from helmsman.orient.alignment import add_answers
from helmsman.plain import clean
from helmsman.records.alignment import ALIGNMENT, ROUNDS, Alignment, AlignRequest, AlignResult, result_of
from helmsman.records.forms import LEFT
from helmsman.render.lines import alignment_lines
from helmsman.texts import plural
from tasks.alignment.aligning import Work, configure_alignment, current_alignment, replace_alignment, require_worktree
from tasks.loop.configure import resolve_goal_file
from tasks.repository.git import open_repository
from tasks.system.secrets import without_secrets

EXIT_CODES = {"aligned": 0, "stopped": 3, "questions": 4, "cancelled": 130}
Drive = Callable[[str, Any], Any]


def align_goal(repo: Path, goal: str | None, goal_file: Path | None, out: str, *, yes: bool, as_json: bool) -> int:
    """Align a goal, or continue an existing file. Returns 0, or 4 while questions are open."""
    repository = require_worktree(open_repository(repo))
    can_ask = require_consent(repository, yes=yes, as_json=as_json)
    text = resolve_goal_file(Layer("command line", goal_settings(goal, goal_file)), start_directory()).values.get("goal", "")
    if (goal is not None or goal_file) and not text.strip():
        raise OperatorError(
            "the goal is empty", expected="some words", found=display(text), remedy="describe what should be true at the end"
        )
    try:
        request = AlignRequest(repository=str(repository.top), goal=require_utf8(text), out=out, ask=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        subject, found = "--out" if first["loc"] == ("out",) else "the goal", display(first["input"])
        raise OperatorError(f"{subject} cannot be used", expected=first["msg"], found=found, remedy="give another one") from error
    config = with_consent(repository, lambda: configure_alignment(request), ask=can_ask)
    work = Work(repository, config, request.out, uid="", asks=False)
    console = Console(stderr=as_json, highlight=False)
    result = _align(work, request, console, asks=can_ask)
    lines = chain([""], alignment_lines(result), fields(("next", line) for line in _next_steps(repo, result)))
    print_result(result, lines, as_json=as_json)
    return EXIT_CODES[result.outcome]


def _align(work: Work, request: AlignRequest, console: Console, *, asks: bool) -> AlignResult:
    """The flow asks the model, this function asks people; both share the file. The engine starts when needed."""
    with ExitStack() as stack:
        drive: Drive | None = None
        while True:
            alignment = current_alignment(work)
            if alignment is None or alignment.due == "folding":
                drive = drive or stack.enter_context(engine_here())
                if (rounds := alignment.made.round if alignment else 0) < ROUNDS:
                    of = f"{clean(work.config.judge.model)} for open questions (round {rounds + 1} of {ROUNDS} at most)"
                    console.print(f"asking     {of}", markup=False, soft_wrap=True)
                state = drive("align", without_secrets(request.model_copy(update={"goal": work.goal})))
                if state.is_cancelled():
                    return result_of(alignment or Alignment(goal=work.goal), work.file, "cancelled")
                if state.name not in {"Aligned", "Waiting"}:
                    state.result(raise_on_failure=True)
            elif not (alignment.due and asks and _ask_questions(work, alignment)):
                return result_of(current_alignment(work) or alignment, work.file)


def _ask_questions(work: Work, alignment: Alignment) -> bool:
    """Ask one by one; each answer is stored at once. Returns whether all are answered."""
    say(
        f"{plural(len(alignment.open), 'question')} before a loop can start. "
        f"An empty line leaves one open, {LEFT} leaves it to the agent."
    )
    for number, question in enumerate(alignment.open, 1):
        reply = ask_text(f"{number}. {clean(question)}\n>")
        if reply is None:
            break
        if reply:
            after = add_answers(alignment, {question: "" if reply == LEFT else reply})
            replace_alignment(work, after, over=alignment)
            alignment = after
    return not alignment.open


def _next_steps(repo: Path, result: AlignResult) -> Iterator[str]:
    if result.outcome == "aligned":
        setting = f" --set {shlex.quote(f'alignment={result.file}')}" if result.file != ALIGNMENT else ""
        yield f"read {clean(result.file)}, change what is wrong, then: helmsman run{setting}{repo_option(repo)}"
    else:
        out = "" if result.file == ALIGNMENT else f" --out {shlex.quote(result.file)}"
        again = f"helmsman align{out}{repo_option(repo)}"
        yield f"answer in {clean(result.file)}, each question ticked with its answer below it, then: {again}"
