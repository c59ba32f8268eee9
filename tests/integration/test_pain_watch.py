"""The safety watch on a running session, with recorded streams and a simulated file system."""

import time
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from helmsman.config import CriticalConfig
from helmsman.parsers.agent_actions import ToolInvocation, ToolResult, parse_event
from helmsman.parsers.claude_stream import tool_calls, tool_results
from helmsman.records.state import Spending
from tasks.agents.safety import Watch, paths_older_than, tokens_left
from tests.fakes.repositories import make_repository
from tests.unit.builders import config, state

pytestmark = pytest.mark.feature("S13")

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude"
TREE = "/nest/loops/parser"
HOME = "/nest/home/me"


class Disk:
    """Existing paths; those that existed before the session are old."""

    def __init__(self, *old: str) -> None:
        self.there = self.old = {TREE, f"{TREE}/.git", *old}

    def exists(self, path: str) -> bool:
        return path in self.there

    def older_paths(self, pattern: str, _: float) -> Iterable[str]:
        return sorted(
            path for path in self.there & self.old if fnmatchcase(path, pattern) and path.count("/") == pattern.count("/")
        )

    def without(self, *gone: str) -> None:
        self.there = {path for path in self.there if not any(path == one or path.startswith(f"{one}/") for one in gone)}


class Hearing:
    """A watch with its disk."""

    def __init__(self, *old: str, home: str = HOME, **fields: object) -> None:
        self.disk, self._number = Disk(*old), 0
        settings = CriticalConfig.model_validate(fields)
        self.watch = Watch(settings, TREE, home, exists=self.disk.exists, older_paths=self.disk.older_paths)

    def ran(
        self, command: object, *gone: str, failed: bool = False, parent: str = "", said: str = "", background: bool = False
    ) -> str:
        """What the watch says after a command, while which some paths went."""
        self._number += 1
        identity, more = f"t{self._number}", {"run_in_background": True} if background else {}
        self.watch.announce(ToolInvocation(identity, "Bash", {"command": command, **more}, "m1", parent))
        self.disk.without(*gone)
        self.watch.conclude(ToolResult(identity, failed, said))
        return self.watch.pain.removeprefix("a destructive command ran: ")


# what is gone ---------------------------------------------------------------------------------------------------------

REMOVALS = [
    ("rm -rf ~", HOME), ("rm -rf ~/*", f"{HOME}/projects"), ("rm -fr ../other", "/nest/loops/other"),
    ("sudo rm -rf /var/lib/data", "/var/lib/data"), ("cd / && rm -rf *", "/nest"),
    ("rm -rf /nest/loops/oth*", "/nest/loops/other"), ("bash -c 'rm -rf ~/projects'", f"{HOME}/projects"),
    ("clean() { rm -rf ~/projects; }; clean", f"{HOME}/projects"),
]  # fmt: skip
OLD = (
    "/nest",
    "/nest/loops",
    "/nest/loops/other",
    HOME,
    f"{HOME}/projects",
    f"{HOME}/.m2",
    f"{HOME}/.cache/pip",
    "/var/lib/data",
)


@pytest.mark.parametrize(("command", "gone"), REMOVALS)
def test_a_removed_path_is_reported_however_the_command_ended(command: str, gone: str) -> None:
    assert Hearing(*OLD).ran(command, gone).startswith(f"it removed {gone}, ")
    assert Hearing(*OLD).ran(command, gone, failed=True).startswith(f"it removed {gone}, ")


@pytest.mark.parametrize(
    ("command", "gone", "said"),
    [
        ("rm -rf .git", f"{TREE}/.git", "it removed the working tree's .git"),
        ("python clean.py", f"{TREE}/.git", "it removed the working tree's .git"),
        (f"rm -rf {TREE}", TREE, "it removed the entire working tree"),
        ("rm -rf /nest", "/nest", "it removed /nest, which holds the working tree"),
    ],
)
def test_removal_of_the_worktree_or_its_git_folder_is_reported(command: str, gone: str, said: str) -> None:
    assert Hearing("/nest").ran(command, gone) == said


@pytest.mark.parametrize(
    "command",
    [
        "if [ -d ~/old-build ]; then rm -rf ~/old-build; fi",
        'clean() { rm -rf "$HOME/projects"; }',
        "echo rm -rf ~/projects",
        "cat > clean.sh <<'EOF'\nrm -rf ~/projects\nEOF",
        "find ~/.m2 -name '*.lastUpdated' -delete",
        'rm -rf "$OUT"',
        "rm -rf '",
        "rm -rf",
        "",
    ],
)
def test_a_command_that_removed_nothing_is_ignored(command: str) -> None:
    assert Hearing(*OLD).ran(command, f"{HOME}/old-build") == ""


@pytest.mark.parametrize(
    ("command", "gone"),
    [
        ("find ~/.m2 -name '*.lastUpdated' -delete", f"{HOME}/.m2"),
        ("rm -rf ~/.cache/pip", f"{HOME}/.cache/pip"),
        ("rm -rf /tmp/scratch", "/tmp/scratch"),
        ("rm -rf build", f"{TREE}/build"),
        (f"rm -rf {TREE}/*", f"{TREE}/build"),
    ],
)
def test_a_harmless_removal_is_ignored(command: str, gone: str) -> None:
    assert Hearing(*OLD, "/tmp/scratch", f"{TREE}/build").ran(command, gone) == ""


@pytest.mark.parametrize("made", ["cargo new ~/p", "mkdir -p ~/p/{a,b}", "cp -r src ~/p", "git clone https://x.org/p ~/p"])
def test_the_session_may_remove_what_it_created(made: str) -> None:
    hearing = Hearing(*OLD)
    hearing.ran(made)
    hearing.disk.there = {*hearing.disk.there, f"{HOME}/p"}
    assert hearing.ran("rm -rf ~/p", f"{HOME}/p") == ""
    assert hearing.ran(f"{made}; rm -rf ~/p") == ""


def test_a_path_with_an_older_entry_is_old(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "old").touch()
    time.sleep(0.05)
    begun = time.time()
    time.sleep(0.05)
    (tmp_path / "deep" / "new").touch()
    (tmp_path / "fresh" / "er").mkdir(parents=True)
    (tmp_path / "leads").symlink_to(tmp_path / "deep")
    found = {
        name: paths_older_than(f"{tmp_path}/{name}", begun) for name in ("deep", "fresh", "leads", "none", "*", "d?ep", "no/*")
    }
    old = (f"{tmp_path}/deep",)
    assert found == {"deep": old, "fresh": (), "leads": (), "none": (), "*": old, "d?ep": old, "no/*": ()}


@pytest.mark.parametrize("path", ["/nest/\ud800", "/nest/\ud800/*", "/" + "a" * 5000, "/" + "[" * 4000, "/" + "*" * 4000 + "?no"])
def test_strange_paths_raise_nothing(path: str) -> None:
    assert paths_older_than(path, time.time()) == ()
    assert (
        Watch(CriticalConfig(), TREE, HOME).announce(ToolInvocation("t1", "Bash", {"command": f"rm -rf '{path}' {path}"})) is None
    )


def test_removal_of_a_real_folder_is_reported(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    watching = Watch(CriticalConfig(), str(top), str(tmp_path))
    watching.announce(ToolInvocation("t1", "Bash", {"command": "rm -rf .git"}))
    (top / ".git").rename(tmp_path / "gone")
    watching.conclude(ToolResult("t1", failed=False, output=""))
    assert watching.pain == "a destructive command ran: it removed the working tree's .git"


# what was sent or overwritten -----------------------------------------------------------------------------------------

PUSHED = "it overwrote a remote branch by a forced git push"
SENT = [
    ("python -m twine upload dist/*", "twine upload"), ("git add . && cargo publish", "cargo publish"),
    ("gh release create v1", "gh release"), ("if true; then ls; fi; npm publish", "npm publish"),
]  # fmt: skip
HONEST = [
    "npm publish --dry-run", "npm publish --registry http://localhost:4873", "twine upload --repository testpypi dist/*",
    "deploy() { npm publish; }",
    "npm publish || true", "npm publish &", "bash -c 'npm publish; true'", "git reset --hard", "git push -f",
]  # fmt: skip


@pytest.mark.parametrize(("command", "said"), SENT)
def test_a_command_that_certainly_succeeded_is_reported(command: str, said: str) -> None:
    assert Hearing().ran(command) == f"it published something ({said})"
    assert Hearing().ran(command, failed=True) == Hearing().ran(command, background=True) == ""


@pytest.mark.parametrize("command", HONEST)
def test_an_uncertain_or_harmless_command_is_ignored(command: str) -> None:
    assert Hearing().ran(command) == ""


TOLD = " + 1a2b3c4...5d6e7f8 main -> main (forced update)\n"


@pytest.mark.parametrize(
    "command",
    ["git push --force-with-lease", "git push origin +main", "git push --mirror", "git push -f 2>&1 | tail -3 || true"],
)
def test_gits_output_shows_a_forced_push(command: str) -> None:
    assert Hearing().ran(command, said=TOLD) == PUSHED
    assert Hearing().ran(command, said=TOLD, failed=True) == Hearing().ran(command, said=TOLD, background=True) == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("git push -f", " * [new branch]      topic -> topic\n"),
        ("git push -f /tmp/remote.git main", TOLD),
        ("git -C /tmp/clone push -f", TOLD),
        ("git push", TOLD),
    ],
)
def test_a_push_that_overwrote_nothing_is_ignored(command: str, said: str) -> None:
    assert Hearing().ran(command, said=said) == ""


def test_a_reason_has_no_part_of_a_secret() -> None:
    token = "npm_" + "k9Rz2LqXw7Tb4VnYc8Hd3MfJp6Gs5QaEu1Wi"
    assert Hearing().ran(f"npm publish --token {token}") == "it published something (npm publish)"


# the session ----------------------------------------------------------------------------------------------------------


def replay(name: str, instead: dict[str, str], *gone: str) -> str:
    """Reason of the watch at the end of a recording with replaced commands, each of which removes paths."""
    hearing = Hearing(*OLD)
    others: set[str] = set()
    for line in (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines():
        event = parse_event(line) or {}
        for called in tool_calls(event):
            command = str(called.arguments.get("command"))
            others |= {called.identity} if command in instead else set()
            hearing.watch.announce(called._replace(arguments={**called.arguments, "command": instead.get(command, command)}))
        for result in tool_results(event):
            hearing.disk.without(*(gone if result.identity in others else ()))
            hearing.watch.conclude(result)
    return hearing.watch.pain


def test_a_recorded_session_with_a_destructive_command_is_ended() -> None:
    told = replay("success", {"python3 test_calc.py": "rm -rf ~/projects"}, f"{HOME}/projects")
    assert told == f"a destructive command ran: it removed {HOME}/projects, outside the working tree"


@pytest.mark.parametrize("name", ["permission_denied", "failing_tool"])
def test_denied_or_failed_commands_of_a_recorded_session_are_ignored(name: str) -> None:
    assert replay(name, dict.fromkeys(["touch x", "rm x", "exit 3"], "rm -rf ~/projects; npm publish")) == ""


def test_no_unchanged_recording_is_ended() -> None:
    assert {path.stem: replay(path.stem, {}) for path in RECORDINGS.glob("*.jsonl") if replay(path.stem, {})} == {}


def test_a_path_relative_to_another_folder_is_ignored() -> None:
    hearing = Hearing("/nest/loops/build", f"{TREE}/build")
    assert hearing.ran("cd sub && npm test") == ""
    assert hearing.ran("rm -rf ../build", f"{TREE}/build") == ""


def test_the_first_reason_is_kept() -> None:
    hearing = Hearing(*OLD)
    first = hearing.ran("rm -rf ~/projects", f"{HOME}/projects")
    assert hearing.ran("npm publish") == first != ""


def test_a_disabled_event_is_ignored() -> None:
    hearing = Hearing(*OLD, off=("destructive",))
    assert hearing.ran("rm -rf ~/projects; npm publish", f"{HOME}/projects", f"{TREE}/.git") == ""


@pytest.mark.parametrize("command", [None, 7, ["rm", "-rf", "/"], {"a": 1}, "rm -rf \ud800 \0 ~\ud800"])
def test_arguments_of_any_type_are_accepted(command: object) -> None:
    assert Hearing().ran(command) == ""


def test_a_tool_call_without_an_id_or_of_another_tool_is_ignored() -> None:
    hearing = Hearing(*OLD)
    hearing.watch.announce(ToolInvocation("", "Bash", {"command": "npm publish"}))
    hearing.watch.announce(ToolInvocation("t1", "Write", {"file_path": "a.sh", "command": "npm publish"}))
    for identity in ("", "t1", "t2"):
        hearing.watch.conclude(ToolResult(identity, failed=False, output=""))
    assert hearing.watch.pain == ""


def test_tokens_beyond_the_blown_budget_are_reported() -> None:
    loop = state(config(limits={"tokens": 1000}), spending=Spending(tokens=900))
    used = [349]
    watching = Watch(loop.config.pain, TREE, HOME, used=lambda: used[0], most=tokens_left(loop))
    assert watching.pain == ""
    used[0] = 350
    assert watching.pain == "this call has used 350 tokens; with earlier calls, that is 125% of limits.tokens"
    assert tokens_left(state(config(limits={"tokens": None}))) is None
