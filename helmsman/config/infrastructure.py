"""The environment of a loop: agent, sandbox, workspace, merge, memory, people and triggers."""

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import STORED, Count, OperatorKey, Owner, RepositoryKey, Section, Words, satisfies
from helmsman.plain import OWN_BRANCHES, is_branch

Format = Literal["text", "json", "codex", "copilot", "cursor", "gemini", "messages", "opencode", "events"]
"""Output format of a program, which selects its parser."""
PromptWay = Literal["stdin", "argument", "file"]
"""How a program receives its prompt."""


class AgentConfig(Section):
    """The agent's program. The timeouts in `claude.*` apply to every agent."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: str = Field(default="claude", min_length=1, max_length=40)
    """`claude`, another built-in agent (`codex`, `gemini`, `opencode`, `copilot`, `amp`, `cursor-agent`), the name of a file in
    .helmsman/agents, or `template` for the command below. It is read when a loop is created."""
    binary: str = ""
    """Path of the program. Empty: its usual name on PATH."""
    model: RepositoryKey[str] = ""
    """Model to use. Empty: the program's default."""
    arguments: tuple[str, ...] = ()
    """Additional arguments, for example `["-c", "model_reasoning_effort=high"]`."""
    environment: tuple[str, ...] = ()
    """Names of additional environment variables that it may see."""
    command: tuple[str, ...] = ()
    """For `template`: program and arguments. `{model}`, `{prompt}` and `{prompt_file}` are filled in; no shell is involved."""
    prompt: PromptWay = "stdin"
    """For `template`: how the program receives its prompt. An argument holds at most 128 KiB."""
    output: Format = "text"
    """For `template`: what it prints: text, one JSON object, or the events of a program named here."""


class ClaudeConfig(Section):
    """The agent: the Claude Code command line in print mode."""

    binary: OperatorKey[str] = ""
    """Path of the CLI. Empty: `claude` on PATH, else the one bundled with claude-agent-sdk."""
    block: OperatorKey[str] = ""
    """Name of a ClaudeCode block in Prefect with credentials and environment. Empty: use the environment."""
    model: str = ""
    """Model name or alias. Empty: the CLI's default."""
    permission_mode: OperatorKey[Literal["bypassPermissions", "acceptEdits", "dontAsk", "auto"]] = "bypassPermissions"
    """Permission mode of the CLI; modes that ask are not available, because nobody can answer."""
    allowed_tools: OperatorKey[tuple[str, ...]] = ()
    """Tools that are always allowed, in the CLI's syntax, for example `Bash(git status:*)`."""
    disallowed_tools: OperatorKey[tuple[str, ...]] = ("Bash(git push:*)",)
    """Tools that are denied even when permissions are bypassed. The loop pushes, not the agent."""
    setting_sources: OperatorKey[tuple[Literal["user", "project", "local"], ...]] = ("project",)
    """Settings of the CLI that apply; `project` includes the repository's CLAUDE.md."""
    timeout_minutes: float = Field(default=60, ge=1, le=240)
    """Time limit of one call, in minutes."""
    idle_timeout_minutes: float = Field(default=5, gt=0, le=120)
    """Minutes without output before a call counts as hung; the CLI's own retries count as output. While a command of the agent
    runs, the command's own time limit is added."""
    environment: OperatorKey[tuple[str, ...]] = ()
    """Names of additional environment variables that the agent may see."""
    session: Literal["fresh", "resume", "hybrid"] = "fresh"
    """`fresh`: each iteration starts with an empty context. `resume`: it continues the last session until its context is full.
    `hybrid`: it continues if the last iteration made progress, and starts fresh if not."""


class SteeringConfig(Section):
    """Control inside an iteration."""

    hooks: OperatorKey[bool] = True
    """Answer the CLI's hooks: guard rails deny or advise on tool calls. Not a sandbox. Required by the keys below."""
    stop_seconds: float = Field(default=120, ge=0, le=3600)
    """Total seconds for checks when the agent says it is done; it gets the failures back. 0: run none."""


class ContextConfig(Section):
    """Size of the agent's context."""

    window: Count = None
    """Size of the model's context window in tokens. "none": as reported by the CLI, else as known for the model."""


class HatsConfig(Section):
    """Hats of the preset. Without a preset there are none."""

    models: dict[str, str] = Field(default_factory=dict[str, str])
    """Models by hat, for example `{ reviewer = "opus" }`; they override the hat's file."""


Host = Annotated[str, StringConstraints(pattern=r"^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$")]
"""`name`, `name:port` or `*.name`; the default port is 443."""

Place = Annotated[str, StringConstraints(pattern=r"^(/|~/|~$)")]
"""An absolute path, or one in the home folder; relative paths would be ambiguous."""


class SandboxConfig(Section):
    """Isolation of the agent and the checks."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: Literal["none", "bubblewrap", "container"] = "none"
    """`none`: with your own permissions. `bubblewrap`: each in its own sandbox, on Linux. `container`: Helmsman itself runs in a
    disposable container; the start is refused if it does not."""
    network: Literal["model", "open", "off"] = "model"
    """What the agent can reach. `model`: its model's endpoint and `hosts`. `off`: only its own hooks."""
    hosts: tuple[Host, ...] = ()
    """Additional hosts for `network = "model"`: `name`, `name:port` or `*.name`, by HTTPS; `localhost:port` is that port of this
    machine, with any protocol."""
    login: Literal["renewed", "read"] = "renewed"
    """Claude Code's login. `renewed`: a login renewed in the sandbox replaces yours. `read`: yours is not changed."""
    checks: bool = True
    """Run the checks in a sandbox too. They execute the agent's code, which otherwise can read everything that you can."""
    checks_network: Literal["off", "open"] = "off"
    """What checks can reach. `off`: only what they start themselves, on their own loopback interface."""
    read: tuple[Place, ...] = ()
    """Readable paths outside the worktree, mainly tools and caches in your home folder. `~` is your home folder."""
    write: tuple[Place, ...] = ()
    """Paths outside the worktree that the agent may write to; checks may read them."""
    hide: tuple[Place, ...] = ()
    """Hidden paths inside readable ones. Refused inside writable ones, where they could be moved."""


RemoteName = Annotated[
    Words,
    satisfies(lambda name: not name.startswith("-"), "option", "a remote's name that does not begin with a dash"),
    satisfies(
        lambda name: name[0] not in "/.~" and ":" not in name, "address", "the name of a configured remote, not a path or URL"
    ),
]


class WorkspaceConfig(Section):
    """Where the agent works."""

    in_place: OperatorKey[bool] = False
    """Work on the current branch in the repository's own checkout instead of in a worktree."""
    root: OperatorKey[str] = ""
    """Folder of the worktrees, relative to the repository. Empty: `helmsman/worktrees` in the user's state folder."""
    setup: tuple[Words, ...] = ()
    """Commands that prepare a fresh checkout, such as `npm ci`. `sh` runs them in the agent's worktree when it is created, and in
    the clean checkout of the checks, there again after a lock file, a manifest or a script that it runs has changed."""
    teardown: tuple[Words, ...] = ()
    """Commands that undo the effects of `setup` outside the checkout; run before a checkout is removed."""
    clean: OperatorKey[bool] = True
    """Run deciding checks in a clean checkout of the commit, with a home folder, caches and a PATH that the agent did not write
    to. Off: they run in the agent's folder, where ignored files and your home folder affect the result; every verdict says so."""


class RemoteConfig(Section):
    """Pushes of branch and state, so that another machine can continue."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    push: bool = False
    """Push branch and state atomically after every agent call and every iteration; start from what the remote has."""
    name: RemoteName = "origin"
    """Name of a remote, as `git remote` lists it; never a path or a URL. It must not start with a dash: git would read it as an
    option, and some options run commands."""


_BRANCH = re.compile(r"(?!-)[\w./+@#%=,-]+")


class MergeConfig(Section):
    """Automatic merge of proven work."""

    into: str = Field(default="", max_length=200)
    """Branch to merge proven work into, by its short name, once every check passes on exactly the tree that the branch will have.
    Repeated rejections by the judge then lead to another approach instead of waiting for a person, unless `gates.merge` is set.
    Empty: no merge."""
    push: OperatorKey[bool] = False
    """Merge onto the remote's state of that branch (`remote.name`) and push it; the local branch is updated if possible."""

    @field_validator("into")
    @classmethod
    def _check_branch(cls, into: str) -> str:
        if into and not (is_branch(into) and _BRANCH.fullmatch(into) and not into.startswith("refs/")):
            raise PydanticCustomError("no_branch", "the short name of a branch, without spaces and quotes, for example main")
        if into.startswith(OWN_BRANCHES):
            raise PydanticCustomError("own_branch", "a branch of yours; helmsman/… is reserved for loops")
        return into


_WITH_PASSWORD = re.compile(r"[^:/]*://(?:[^/@:]*:[^/]*@|.*[?&](?:ssl)?password=)", re.IGNORECASE)


class ResearchConfig(Section):
    """Research before any source is changed."""

    use: bool = False
    """Start with an iteration that changes no source and chooses an approach."""


class MemoryConfig(Section):
    """Lessons, guardrails and estimates of all loops."""

    use: bool = True
    """Keep lessons, and use them in later loops. A broken store never stops a loop."""
    url: OperatorKey[str] = ""
    """URL of the store: `postgresql://user@host/helmsman` for a team, or `sqlite:////path/to/memory.db`. Empty: a file of this
    user. Put a URL with a password into the variable HELMSMAN_MEMORY_URL, which takes precedence and is never recorded."""
    extraction: Literal["rules", "model"] = "rules"
    """How lessons are extracted from an ended loop: by rules only, or also by a model (one cheap call per loop)."""
    wiki: bool = False
    """Keep a project wiki in `.helmsman/wiki`, and archive each completed loop in it."""
    agents_md: Literal["off", "patch", "commit"] = "patch"
    """What to do with learnings for the project's AGENTS.md: nothing, write a patch file next to the loop's records, or commit
    them on the loop's branch after a person agrees."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str, info: ValidationInfo) -> str:
        if info.context == STORED:
            return url
        scheme = url.partition(":")[0].partition("+")[0]
        if url and scheme not in {"sqlite", "postgresql"}:
            raise PydanticCustomError("scheme", "a URL that begins with postgresql:// or sqlite://")
        if _WITH_PASSWORD.match(url):
            raise PydanticCustomError(
                "password", "a URL without a password; put one with a password into the variable HELMSMAN_MEMORY_URL"
            )
        return url


class GatesConfig(Section):
    """When a person is asked, and what happens without an answer."""

    ask: bool = False
    """Pause the run if a person is needed, and continue with the answer. False: the loop ends as waiting, and an answer by
    `helmsman approve|answer|reject` counts when it is resumed. The deployments switch it on."""
    plan: bool = False
    """Ask for confirmation of goal, checks and limits before the first iteration."""
    milestone_every: Count = None
    """Iterations between two reviews by a person. "none": no reviews."""
    budget: bool = False
    """Ask for an extension when a limit is reached, instead of ending."""
    merge: bool = False
    """Ask before proven work counts as completed."""
    timeout_hours: float = Field(default=72, gt=0, le=24 * 365)
    """Hours until `at_timeout` replaces an answer (72: a question from Friday evening stays open until Monday)."""
    at_timeout: Literal["stop", "approve"] = "stop"
    """What to do with an unanswered question. `approve` never accepts work or extends a budget; those stop."""


class OnPushConfig(Section):
    """Pushes that start a loop; read from the pushed commit."""

    branches: tuple[str, ...] = ()
    """Patterns of branches whose pushes start a loop: `main`, `feature/*`. Empty: none."""


class TrackerConfig(Section):
    """An issue tracker to notify when a person is needed, and whose comments may answer."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: Literal["", "gitea", "github"] = ""
    """The tracker. Empty: none."""
    url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Base URL of its API, for example `https://git.example.org/api/v1`. Empty: GitHub's."""
    repository: str = Field(default="", pattern=r"^([\w.-]+/[\w.-]+)?$")
    """`owner/name`."""
    block: str = ""
    """Name of a Tracker block in Prefect with the token. Empty: the variable HELMSMAN_TRACKER_TOKEN."""
    allowed_users: tuple[str, ...] = ()
    """Logins whose comments may answer. Empty: none."""
    notify: tuple[str, ...] = ()
    """Prefect blocks to notify as well, by type and name: `slack-webhook/ops`. They need no tracker."""

    @model_validator(mode="after")
    def _check_address(self) -> Self:
        if self.kind and not {"", ".", ".."}.isdisjoint(self.repository.split("/")):
            raise PydanticCustomError("no_repository", "tracker.repository as owner/name")
        if self.kind == "gitea" and not self.url:
            raise PydanticCustomError("no_url", "tracker.url too, for example https://git.example.org/api/v1")
        if any(name.count("/") != 1 or name.strip("/") != name for name in self.notify):
            raise PydanticCustomError("no_block", "tracker.notify as a list of blocks by type and name, as slack-webhook/ops")
        return self
