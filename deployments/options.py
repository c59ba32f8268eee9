"""Options and arguments of the command line, each stated once; and what a shell offers for them after the Tab key.

What is offered is quick and silent: a person waits at a prompt. A shell may evaluate it, and refs and files are named by whoever
made the repository; only plain names are offered.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer

from deployments.start_directory import file_from_start, from_start
from helmsman.errors import HelmsmanError
from helmsman.naming import LOOP_ID

HERE = Path()
"""The repository where none is named."""
REFS = "refs/helmsman/"
BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
ROOT = Path(__file__).parents[1]
CHOICES = "approve", "revise", "accept", "take-over", "stop"
"""Those of `helmsman.records.gates`, which would bring pydantic in."""
PLAIN = bool, int, float, str
MOST_LISTED = 500
"""Lines of one list of the memory."""

Names = Callable[[Path], Iterable[str]]
Offer = Callable[[typer.Context, str], list[str]]


# --- what a shell offers ------------------------------------------------------------------------------------------


def _offered(names: Names) -> Offer:
    """Names that begin like what was typed, of the repository that was named before. Nothing where it is none."""

    def offer(context: typer.Context, incomplete: str) -> list[str]:
        try:
            found = list(names(from_start(context.params.get("repo") or "")))
        except (HelmsmanError, OSError, ValueError):
            return []
        return sorted({name for name in found if name.startswith(incomplete)})

    return offer


def _loops(repo: Path) -> list[str]:
    return _plain(ref.removeprefix(REFS).removesuffix("/state") for ref in _refs(repo, f"{REFS}*/state"))


def _loops_and_groups(repo: Path) -> list[str]:
    from tasks.repository.git import git

    groups = repo / git(repo, "rev-parse", "--git-common-dir").strip() / "helmsman" / "groups"
    return [*_loops(repo), *_plain(path.name for path in (groups.iterdir() if groups.is_dir() else ()))]


def _commits(repo: Path) -> list[str]:
    names = (ref.removeprefix("refs/heads/") for ref in _refs(repo, "refs/heads"))
    return [name for name in names if BRANCH.fullmatch(name)]


def _presets(repo: Path) -> list[str]:
    places = ROOT / "tasks" / "hats" / "presets", repo / ".helmsman" / "presets"
    return _plain(path.stem for place in places for path in place.glob("*.md"))


def _agents(repo: Path) -> list[str]:
    places = ROOT / "tasks" / "agents" / "presets", repo / ".helmsman" / "agents"
    return ["claude", *_plain(path.stem for place in places for path in place.glob("*.toml"))]


def _keys(_repo: Path) -> Iterable[str]:
    """`KEY=`, and with its default for an example: of two, a shell completes what they share and sets no space after it."""
    from helmsman.config.base import fields, section_of
    from helmsman.config.loop import LoopConfig

    for key, field in fields(LoopConfig):
        if section_of(field) is None:
            yield f"{key}="
            yield from (f"{key}={example}" for example in _examples(field.get_default(call_default_factory=True)))


def _examples(value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ("true", "false")
    return (str(value),) if isinstance(value, PLAIN) and re.fullmatch(r"[\w.-]+", str(value)) else ()


def _refs(repo: Path, pattern: str) -> list[str]:
    from tasks.repository.git import git

    return git(repo, "for-each-ref", "--format=%(refname)", pattern).splitlines()


def _plain(names: Iterable[str]) -> list[str]:
    return [name for name in names if re.fullmatch(LOOP_ID, name)]


# --- options ------------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """An option, or an argument where it has no flag."""

    spelled: str
    """Its flags and how its value is called: `--yes -y`, `--repo DIR`, `[LOOP]`."""
    help: str
    kind: Any = str
    """The type of its value, or the function that reads it as a path."""
    default: Any = ""
    """`...`: it must be given."""
    offers: Offer | None = None
    key: str = ""
    """The key of the configuration that it is another word for."""
    limits: Mapping[str, int] = MappingProxyType({})

    def parameter(self, name: str) -> Parameter:
        """As typer reads it from a signature."""
        words = self.spelled.split()
        flags = [word for word in words if word.startswith("-")]
        reads = self.kind in {from_start, file_from_start}
        kind: Any = Path if reads else self.kind
        described: Any = {"metavar": next((word for word in words if word not in flags), None), "help": self.help, **self.limits}
        described |= {"autocompletion": self.offers} if self.offers else {}
        described |= {"parser": self.kind} if reads else {}
        told = typer.Option(*flags, **described) if flags else typer.Argument(**described)
        default = Parameter.empty if self.default is ... else self.default
        annotation = Annotated[kind | None if default is None else kind, told]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"helmsman {version('helmsman')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and end.")]


def flag(spelled: str, told: str, key: str = "") -> Option:
    return Option(spelled, told, bool, default=False, key=key)


def number(spelled: str, told: str, key: str = "", kind: Any = int, **limits: int) -> Option:
    return Option(spelled, told, kind, None, key=key, limits=limits)


def file(spelled: str, told: str, kind: Any = from_start) -> Option:
    return Option(spelled, told, kind, None)


def several(spelled: str, told: str, offers: Offer | None = None) -> Option:
    return Option(spelled, told, list[str], None, offers)


loops, groups, branches = _offered(_loops), _offered(_loops_and_groups), _offered(lambda repo: [".", *_commits(repo)])
presets = _offered(_presets)

OPTIONS = {
    # what most commands take
    "repo": Option("--repo DIR", "The repository; any folder inside it will do.", from_start, HERE),
    "as_json": flag("--json", "Print one JSON object on standard output and nothing else."),
    "yes": flag("--yes -y", "Do not ask; the repository's own commands may run here."),
    "settings": several("--set KEY=VALUE", "Any configuration key; repeatable.", _offered(_keys)),
    "loop": Option("LOOP", "The loop's id; `helmsman list` shows them.", default=..., offers=loops),
    "loop_or_latest": Option("[LOOP]", "The loop; one that runs, else the latest.", default=None, offers=loops),
    "loop_or_group": Option("LOOP", "The loop's id, or that of a group.", default=..., offers=groups),
    # a loop that begins, and one that goes on
    "goal": Option("[GOAL]", "What shall be true at the end.", default=None),
    "goal_file": file("--goal-file FILE", "Read the goal from a file; - is standard input.", file_from_start),
    "check": several("--check CMD", "A command that proves it; repeatable."),
    "no_checks": flag("--no-checks", "Run no check at all; nothing is verified then."),
    "hidden": several("--hidden CMD", "A check that the agent never sees; repeatable."),
    "hidden_folder": file("--hidden-folder DIR", "Files outside of the repository that hidden checks run on."),
    "in_place": flag("--in-place", "Work on the current branch instead of in a worktree.", "workspace.in_place"),
    "max_iterations": number("--max-iterations N", "Stop after N iterations.", "limits.iterations"),
    "new_limit": number("--max-iterations N", "A new limit.", "limits.iterations"),
    "max_calls": number("--max-calls N", "Agent calls in an hour at most.", "limits.calls_per_hour"),
    "timeout": number("--timeout MINUTES", "The longest agent call.", "claude.timeout_minutes", float),
    "milestone_every": number("--milestone-every N", "Have a person review every N iterations.", "gates.milestone_every"),
    "completion_promise": Option(
        "--completion-promise TEXT", "What the agent says to ask to be done.", default=None, key="completion.promise"
    ),
    "merge": Option("--merge BRANCH", "Merge proven work into this branch; . is the one checked out.", offers=branches),
    "agent": Option(
        "--agent NAME", "Which agent works: claude, codex, gemini and others (docs/agents.md).",
        offers=_offered(_agents), key="agent.kind",
    ),
    "name": Option("--name LOOP", "Id of the new loop; made from the goal if not given."),
    "plan": Option(
        "--plan FILE", "A list of work in the repository, done item by item (docs/plans.md).", key="plan.file"
    ),
    "preset": Option("--preset NAME", "Hats, words and settings for a kind of work: `helmsman presets list`.", offers=presets),
    "config": file("--config FILE", "A TOML file that wins over the repository's own."),
    "yes_to_start": flag("--yes -y", "Do not ask before the agent starts."),
    "detach": flag("--detach", "Leave it to a process of its own, and return once it is under way."),
    "accept_state": Option("--accept-state COMMIT", "Sign the loop's state at that commit, which could not be verified."),
    # several loops
    "loops_file": file("[FILE]", "A TOML file with [[loops]], each with a goal."),
    "goals": several("--goal TEXT", "Goal of a loop; repeatable."),
    "approaches": several("--approach TEXT", "One loop goes about the goal like this; repeatable."),
    "best_of": Option("--best-of N", "N loops with one goal; the best is kept.", int, 0, limits={"min": 0}),
    "each_check": several("--check CMD", "Proves each loop that names no check; repeatable."),
    "workers": number("--workers N", "Loops at the same time; 4.", min=1, max=32),
    "group_plan": Option("--plan FILE", "A loop for each open item of this plan, in the order that it needs.", key="plan.file"),
    "chain_name": Option("--name CHAIN", "Its id; its loops are CHAIN-1, CHAIN-2…"),
    "group_name": Option("--name GROUP", "Its id; its loops are GROUP-1, GROUP-2…"),
    "draft": flag("--draft", "Print a first split of the goal, and start nothing."),
    # looking
    "once": flag("--once", "Print how it stands at this moment and end."),
    "whole_iteration": Option("[N]", "One iteration in full.", int, None),
    "other_iteration": Option("[N]", "Another iteration than the last.", int, None),
    "output": file("--output -o FILE", "Where to; - prints it. The loop's own folder if not given.", file_from_start),
    "loop_or_new": Option("[LOOP]", "The loop; without it, a new one as configured here.", default=None, offers=loops),
    "sent_iteration": number("--iteration N", "As it was sent then; without it, what is sent next.", min=1),
    "judge": flag("--judge", "What the judge is sent, not the agent."),
    "key": Option("[KEY]", "One key, or a section as `limits`."),
    "changed": flag("--changed", "Only what differs from the default."),
    # deciding
    "guidance": Option("--guidance TEXT", "What the next iteration is told, in your words."),
    "by": Option("--by NAME", "Who answers, for the record; your user name if not given."),
    "choice": Option(
        "[CHOICE]", "approve, revise, accept, take-over or stop; without it: what is asked.",
        default=None, offers=_offered(lambda _: CHOICES),
    ),
    "yes_to_files": flag("--yes -y", "Agree to exactly what its files ask for now."),
    "revoke": flag("--revoke", "Take back all that was agreed to."),
    # before a loop, and without one
    "goal_option": Option("--goal TEXT", "What shall be true at the end.", default=None),
    "yes_to_what_works": flag("--yes -y", "Do not ask: take the commands that work."),
    "force_files": flag("--force", "Replace a helmsman.toml or RUBRIC.md that is there."),
    "out": Option("--out FILE", "The file, from the repository's top.", default="ALIGNMENT.md"),
    "yes_to_open": flag("--yes -y", "Do not ask: leave questions open in the file."),
    "fix": flag("--fix", "Fix what can be fixed safely, and say what was done."),
    "keep": flag("--keep", "Keep the demo's folder to look around in."),
    "commits": Option(
        "[BASE..HEAD]", "Which commits; the merge base with the upstream or default branch to HEAD if not given.",
        offers=_offered(_commits),
    ),
    "judged_goal": Option("--goal TEXT", "Have a judge say whether the change reaches it."),
    "probes": Option(
        "--probes N", "Have a model write so many further cases, from --goal.", int, 0, limits={"min": 0, "max": 20}
    ),
    "rubric": file("--rubric FILE", "Have a judge answer its criteria (docs/rubric.md)."),
    "junit": file("--junit FILE", "Write the cases as JUnit XML."),
    "sarif": file("--sarif FILE", "Write hints and reasons as SARIF."),
    "comment": flag("--comment", "Keep one comment on the pull request of this CI job."),
    "rubric_file": file("[FILE]", "Another file than the repository's RUBRIC.md."),
    # serving
    "repos": Option("--repos FILE", "Which repositories may start loops; docs/push.md shows one.", from_start, ...),
    "host": Option("--host ADDRESS", "Where to listen.", default="127.0.0.1"),
    "port": Option("--port N", "0: a free one, which is printed.", int, 8747, limits={"min": 0, "max": 65535}),
    "pool": Option("--pool NAME", "The work pool; made if missing.", default="helmsman"),
    "notify": Option("--notify TYPE/NAME", "Block to notify when a loop asks a person: slack-webhook/ops."),
    # presets
    "presets_repo": Option("--repo DIR", "The repository whose own presets count as well.", from_start, HERE),
    "preset_or_path": Option("NAME", "A preset's name, or the path of its file.", default=..., offers=presets),
    "new_preset": Option("NAME", "Small letters, digits and single dashes between them.", default=...),
    "copied": Option("--from NAME", "Begin with a copy of this preset."),
    # memory
    "memory_repo": Option("--repo DIR", "The repository whose configuration names the store.", from_start, HERE),
    "project": file("--project DIR", "Only of this repository's project; . is the one you are in."),
    "kind": Option("--kind KIND", "Only strategy, antipattern, convention or, in a list, guardrail."),
    "task_type": Option("--type TYPE", "Only lessons of this kind of work: feature, bugfix, refactor…"),
    "retired": flag("--retired", "Also those that are told no more."),
    "limit": Option("--limit N", "Show N at most.", int, 50, limits={"min": 1, "max": MOST_LISTED}),
    "text": Option("TEXT", "Words; those that few lessons hold count most.", default=...),
    "lesson": Option("ID", "Of a lesson or a guardrail; `helmsman memory list` shows them.", default=...),
    "yes_to_forget": flag("--yes -y", "Do not ask."),
    "target": Option("FILE", "Where to; - prints it.", file_from_start, ...),
    "force": flag("--force", "Replace a file that is there."),
    "exported": Option("FILE", "A file that `helmsman memory export` wrote.", from_start, ...),
}  # fmt: skip
