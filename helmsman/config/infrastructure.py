"""With what and where a loop works: agent, sandbox, workspace, merge, memory, people and triggers."""

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import STORED, Count, Dollars, OperatorKey, Owner, RepositoryKey, Section, Words, that
from helmsman.naming import OWN_BRANCHES, is_branch

Format = Literal["text", "json", "codex", "copilot", "cursor", "gemini", "messages", "opencode", "events"]
"""What a program prints, and so which reader understands it."""
PromptWay = Literal["stdin", "argument", "file"]
"""How a program gets its prompt."""


class AgentConfig(Section):
    """The agent's program. What `claude.*` says of time (timeout, idle timeout) holds for every agent."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: str = Field(default="claude", min_length=1, max_length=40)
    """`claude`, one that comes with Helmsman (`codex`, `gemini`, `opencode`, `copilot`, `amp`, `cursor-agent`), a file's name
    in .helmsman/agents, or `template` for the command below. It is read when a loop is created."""
    binary: str = ""
    """Path of its program. Empty: the usual name on PATH."""
    model: RepositoryKey[str] = ""
    """Model that it is told to use. Empty: its own default."""
    arguments: tuple[str, ...] = ()
    """Further arguments, for example `["-c", "model_reasoning_effort=high"]`."""
    environment: tuple[str, ...] = ()
    """Names of further environment variables that it may see."""
    command: tuple[str, ...] = ()
    """For `template`: program and arguments; `{model}`, `{prompt}` and `{prompt_file}` are filled in; no shell reads it."""
    prompt: PromptWay = "stdin"
    """For `template`: how the program gets its prompt. An argument holds 128 KiB at most."""
    output: Format = "text"
    """For `template`: what it prints: its last words as text, one JSON object, or the events of a program named here."""


class ClaudeConfig(Section):
    """The agent: the Claude Code command line in print mode."""

    binary: OperatorKey[str] = ""
    """Path of the CLI. Empty: `claude` on PATH, else the one bundled in claude-agent-sdk."""
    block: OperatorKey[str] = ""
    """Name of a ClaudeCode block in Prefect that holds credentials and environment. Empty: the environment's own."""
    model: str = ""
    """Model name or alias. Empty: the CLI's own default."""
    permission_mode: OperatorKey[Literal["bypassPermissions", "acceptEdits", "dontAsk", "auto"]] = "bypassPermissions"
    """How the CLI treats permissions; nobody is there to answer a question, so asking modes are not offered."""
    allowed_tools: OperatorKey[tuple[str, ...]] = ()
    """Tools allowed without a question, in the CLI's syntax, for example `Bash(git status:*)`."""
    disallowed_tools: OperatorKey[tuple[str, ...]] = ("Bash(git push:*)",)
    """Tools refused even when permissions are bypassed. Pushing is the loop's business, not the agent's."""
    setting_sources: OperatorKey[tuple[Literal["user", "project", "local"], ...]] = ("project",)
    """Which settings of the CLI apply; `project` keeps the repository's CLAUDE.md."""
    max_cost_usd: Dollars = None
    """US dollars of one call at most; the rest of the loop's budget binds as well. They are counted from its tokens by list
    prices as it works; the call ends before its next tool call. A model without a known price is held to it by the CLI."""
    timeout_minutes: float = Field(default=60, ge=1, le=240)
    """Wall-clock minutes of one call."""
    idle_timeout_minutes: float = Field(default=5, gt=0, le=120)
    """Minutes without a line of output before the call counts as hung; a retry of the CLI's own is a line. While a command of the
    agent runs, that command's own time limit is added."""
    environment: OperatorKey[tuple[str, ...]] = ()
    """Names of further environment variables that the agent may see."""
    session: Literal["fresh", "resume", "hybrid"] = "fresh"
    """`fresh`: each iteration starts with an empty context. `resume`: it goes on with the last session until its context is full.
    `hybrid`: it goes on where the last iteration got further, and begins anew where it did not."""


class SteeringConfig(Section):
    """Control inside an iteration."""

    hooks: OperatorKey[bool] = True
    """Answer the CLI's hooks: guard rails deny or advise on tool calls. No sandbox. Without it nothing below acts."""
    stop_seconds: float = Field(default=120, ge=0, le=3600)
    """Seconds that checks may take in all when the agent says that it is done; those that fail are handed back. 0: none runs."""


class ContextConfig(Section):
    """When the agent's context counts as full."""

    window: Count = None
    """Tokens that the model's context window holds. "none": what the CLI told, else what is known of the model."""


class HatsConfig(Section):
    """The hats of the chosen preset. Without a preset there are none."""

    models: dict[str, str] = Field(default_factory=dict[str, str])
    """Models by hat, for example `{ reviewer = "opus" }`; they win over what the hat's own file says."""


Host = Annotated[str, StringConstraints(pattern=r"^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$")]
"""`name`, `name:port` or `*.name`; without a port 443."""

Place = Annotated[str, StringConstraints(pattern=r"^(/|~/|~$)")]
"""A whole path, or one in the home: what a relative one is meant to begin at, nobody knows."""


class SandboxConfig(Section):
    """Where the agent and the checks run."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: Literal["none", "bubblewrap", "container"] = "none"
    """`none`: with all that you may do. `bubblewrap`: each in a box of its own, on Linux. `container`: Helmsman itself runs in a
    container that may be broken; the start is refused where it does not."""
    network: Literal["model", "open", "off"] = "model"
    """What the agent reaches from its box. `model`: its model's endpoint and `hosts`. `off`: nothing but its own hooks."""
    hosts: tuple[Host, ...] = ()
    """Further hosts for `network = "model"`: `name`, `name:port` or `*.name`, by HTTPS; `localhost:port` is
    that port of this machine, whatever it speaks."""
    login: Literal["renewed", "read"] = "renewed"
    """Of Claude Code. `renewed`: one that its program renewed takes the place of yours. `read`: yours stays as it is."""
    checks: bool = True
    """Put the checks into a box as well. They run what the agent wrote: without it, that reads whatever you can read."""
    checks_network: Literal["off", "open"] = "off"
    """What checks reach from their box. `off`: only what they start themselves; loopback is their own."""
    read: tuple[Place, ...] = ()
    """Paths outside of the worktree that can be read: tools and caches in your home, above all. `~` is your home."""
    write: tuple[Place, ...] = ()
    """Paths outside of the worktree that the agent may write to; checks may read them."""
    hide: tuple[Place, ...] = ()
    """Paths that are hidden although they lie in what can be read. Refused in what can be written: there they could be moved."""


RemoteName = Annotated[
    Words,
    that(lambda name: not name.startswith("-"), "option", "a remote's name, which does not begin with a dash"),
    that(lambda name: name[0] not in "/.~" and ":" not in name, "address", "the name of a configured remote, and no path or URL"),
]


class WorkspaceConfig(Section):
    """Where the agent works."""

    in_place: OperatorKey[bool] = False
    """Work on the current branch in the repository's own checkout instead of in a worktree."""
    root: OperatorKey[str] = ""
    """Folder that holds the worktrees, from the repository's top. Empty: `helmsman/worktrees` in the user's state folder."""
    setup: tuple[Words, ...] = ()
    """Commands that make a fresh checkout ready, such as `npm ci`: run by `sh` in the agent's worktree when it is made, and in
    the clean checkout that the checks run in, there again where a lock file or a manifest has changed."""
    teardown: tuple[Words, ...] = ()
    """Commands that undo what `setup` made outside of the checkout; run before a checkout is removed."""
    clean: OperatorKey[bool] = True
    """Decide in a clean checkout of the commit, with a home, caches and a PATH that the agent did not write to. Off: checks run
    in the agent's folder, where what is ignored and what lies in your home decides as well; every verdict then says so."""


class RemoteConfig(Section):
    """Whether branch and state travel, so that another machine can go on."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    push: bool = False
    """Push branch and state together, atomically, after every call of the agent and every iteration; begin with what is there."""
    name: RemoteName = "origin"
    """The name of a remote of the repository, as `git remote` lists it; never a path or a URL. It does not begin with a dash: git
    would take it for an option, and some of those run commands."""


_BRANCH = re.compile(r"(?!-)[\w./+@#%=,-]+")


class MergeConfig(Section):
    """Whether the loop merges its own work once it is proven, and into what."""

    into: str = Field(default="", max_length=200)
    """Branch that proven work is merged into, by its short name, once every check passes on exactly the tree that the branch will
    have. The judge's rejections then demand another approach instead of waiting for a person, unless `gates.merge` has one asked.
    Empty: nothing is merged."""
    push: OperatorKey[bool] = False
    """Merge onto what the remote (`remote.name`) holds of that branch, and push it; the local branch comes along where it can."""

    @field_validator("into")
    @classmethod
    def _names_a_branch(cls, into: str) -> str:
        if into and not (is_branch(into) and _BRANCH.fullmatch(into) and not into.startswith("refs/")):
            raise PydanticCustomError("no_branch", "the short name of a branch, for example main")
        if into.startswith(OWN_BRANCHES):
            raise PydanticCustomError("own_branch", "a branch of yours; helmsman/… belongs to loops")
        return into


_WITH_PASSWORD = re.compile(r"[^:/]*://(?:[^/@:]*:[^/]*@|.*[?&](?:ssl)?password=)", re.IGNORECASE)


class ResearchConfig(Section):
    """A look at goal and code before any source is changed."""

    use: bool = False
    """Begin with an iteration that changes no source and chooses an approach."""


class MemoryConfig(Section):
    """Lessons, guardrails and estimates of all loops."""

    use: bool = True
    """Keep what loops teach, and tell later ones. A store that does not work never stops a loop."""
    url: OperatorKey[str] = ""
    """Where: `postgresql://user@host/helmsman` for a team, or `sqlite:////path/to/memory.db`. Empty: a file of this
    user's. A URL with a password stands in the variable HELMSMAN_MEMORY_URL instead, which wins and is in no record."""
    extraction: Literal["rules", "model"] = "rules"
    """Who draws lessons from a loop that has ended: rules alone, or a model as well (one cheap call a loop)."""
    wiki: bool = False
    """Keep a wiki of the project in `.helmsman/wiki`, and archive each completed loop in it."""
    agents_md: Literal["off", "patch", "commit"] = "patch"
    """What becomes of learnings that belong into the project's AGENTS.md: nothing, a patch file beside the loop's records, or a
    commit on the loop's branch once a person has agreed."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str, info: ValidationInfo) -> str:
        if info.context == STORED:
            return url
        scheme = url.partition(":")[0].partition("+")[0]
        if url and scheme not in {"sqlite", "postgresql"}:
            raise PydanticCustomError("scheme", "a URL that begins with postgresql:// or sqlite://")
        if _WITH_PASSWORD.match(url):
            raise PydanticCustomError(
                "password", "a URL without a password; one with it belongs in the variable HELMSMAN_MEMORY_URL"
            )
        return url


class GatesConfig(Section):
    """When a person is asked, and what happens until they answer."""

    ask: bool = False
    """Pause the run where a person is needed and go on with their answer. False: the loop ends as waiting, and an answer given by
    `helmsman approve|answer|reject` counts when it is resumed. The deployments switch it on."""
    plan: bool = False
    """Have goal, checks and limits confirmed before the first iteration."""
    milestone_every: Count = None
    """Iterations between two reviews by a person. "none": no reviews."""
    budget: bool = False
    """Ask for an extension where a limit is reached, instead of ending."""
    merge: bool = False
    """Ask before work that is proven counts as completed."""
    timeout_hours: float = Field(default=72, gt=0, le=24 * 365)
    """Hours until `at_timeout` takes the place of an answer (72: a question asked on Friday evening lasts until Monday)."""
    at_timeout: Literal["stop", "approve"] = "stop"
    """What an unanswered question comes to. `approve` never accepts work or extends a budget: those stop all the same."""


class OnPushConfig(Section):
    """Which push starts a loop; read from the pushed commit itself."""

    branches: tuple[str, ...] = ()
    """Branches whose pushes start a loop, as patterns: `main`, `feature/*`. Empty: none."""


class TrackerConfig(Section):
    """An issue tracker that is told when a person is needed, and whose comments may answer."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: Literal["", "gitea", "github"] = ""
    """Which one. Empty: none."""
    url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Base URL of its API, for example `https://git.example.org/api/v1`. Empty: GitHub's own."""
    repository: str = Field(default="", pattern=r"^([\w.-]+/[\w.-]+)?$")
    """`owner/name`."""
    block: str = ""
    """Name of a Tracker block in Prefect that holds the token. Empty: the variable HELMSMAN_TRACKER_TOKEN."""
    allowed_users: tuple[str, ...] = ()
    """Logins whose comments may answer. Empty: nobody's."""
    notify: tuple[str, ...] = ()
    """Prefect notification blocks that are told too, by type and name: `slack-webhook/ops`. They need no tracker."""

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.kind and not {"", ".", ".."}.isdisjoint(self.repository.split("/")):
            raise PydanticCustomError("no_repository", "tracker.repository as owner/name")
        if self.kind == "gitea" and not self.url:
            raise PydanticCustomError("no_url", "tracker.url too, for example https://git.example.org/api/v1")
        if any(name.count("/") != 1 or name.strip("/") != name for name in self.notify):
            raise PydanticCustomError("no_block", "tracker.notify as a list of blocks by type and name, as slack-webhook/ops")
        return self
