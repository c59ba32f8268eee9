"""Secrets in real diffs, scans by real processes, and the watch over a running session."""

import base64
import json
from pathlib import Path

import pytest

from helmsman.config import PainConfig
from helmsman.records.evidence import Change, CommandRun
from helmsman.records.findings import Weight
from helmsman.records.pain import Leak
from helmsman.records.state import Spending
from helmsman.verify.agent_events import Called, ToolResult, parse_event, tool_calls, tool_results
from tasks.checks import Room
from tasks.pain_watch import CUT, Watch, destroyed, executed, tokens_left
from tasks.process import never
from tasks.scanning import MOST_LEAKS, secrets_in
from tasks.security import security_findings
from tests.fakes.repositories import commit, make_repository, sh
from tests.unit.builders import config, state

pytestmark = pytest.mark.feature("S13")

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude"
TREE = "/nest/loops/parser"
HOME = "/nest/home/me"
# Put together here, so that no scanner finds them in this file.
AWS = "AKIA" + "Q3EGVWTLZ7RXNB4D"
GITHUB = "ghp_" + "k9Rz2LqXw7Tb4VnYc8Hd3MfJp6Gs5QaEu1Wi"
ANTHROPIC = "sk-ant-api03-" + "q8Zx2LrXw7Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R" * 2 + "AA"
STRIPE = "sk_" + "live_" + "9aZ2xLqWw7Tb4VnYc8Hd3MfJ"
SLACK = "xoxb" + "-2947261538-2947261539-q8Zx2LrXw7Tb4VnYc8Hd3MfJ"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
KEY = f"-----BEGIN {'RSA'} PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n-----END RSA PRIVATE KEY-----\n"


def jwt(**claims: object) -> str:
    parts = (json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    head, payload = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{head}.{payload}.{'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c'}"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top", {"app.py": "one\n"})


def leaks(top: Path, files: dict[str, str]) -> tuple[Leak, ...]:
    start = sh(top, "rev-parse", "HEAD")
    end, tree = commit(top, "work", files), "d" * 40
    return secrets_in(top, Change(start=start, commit=end, tree=tree))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AWS Access Key", f'key = "{AWS}"'),
        ("AWS Access Key", 'aws_secret_access_key = "' + "q8Zx2LrXw7/Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R" + '"'),
        ("GitHub Token", f"token: {GITHUB}"),
        ("GitHub Token", f"token: github_pat_{(GITHUB[4:] * 3)[:82]}"),
        ("GitLab Token", f"glpat-{GITHUB[4:24]}"),
        ("Anthropic Key", f"export ANTHROPIC_API_KEY={ANTHROPIC}"),
        ("Stripe Access Key", f"stripe.api_key = '{STRIPE}'"),
        ("Slack Token", f"SLACK={SLACK}"),
        ("JSON Web Token", f"Authorization: Bearer {jwt(iss='https://login.acme.io', sub='u1', exp=1900000000)}"),
        ("Basic Auth Credentials", "DATABASE_URL=postgres://svc_billing:kT9vQz2LmX@db7.prod.acme.io:5432/main"),
        ("Private Key", KEY),
        ("Private Key", '"private_key": "' + KEY.replace("\n", "\\n") + '"'),
        ("Private Key", "".join(f'    "{line}\\n"\n' for line in KEY.splitlines())),
    ],
)
def test_a_secret_in_an_added_line_is_found_by_place_and_kind_and_never_told(top: Path, kind: str, text: str) -> None:
    found = leaks(top, {"src/app.py": f"first = 1\n{text}\n"})
    assert {(leak.path, leak.kind, leak.weight, leak.doubt) for leak in found} == {("src/app.py", kind, Weight.BLOCK, "")}
    assert found[0].line in {2, 3}
    told = "".join(leak.model_dump_json() for leak in found)
    assert not any(text[at : at + 8] in told for at in range(len(text) - 8) if text[at : at + 8] not in kind)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_app.py", f"KEY = '{GITHUB}'"),
        ("app/fixtures/a.json", AWS),
        ("config/.env.example", f"STRIPE={STRIPE}"),
        ("src/app_test.go", GITHUB),
        ("docs/setup.md", "AKIAIOSFODNN7EXAMPLE"),
        ("docs/setup.md", f"ghp_{'x' * 36}"),
        ("docs/setup.md", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
        ("compose.yml", "postgres://postgres:postgres@localhost:5432/app"),
        ("compose.yml", "redis://app:kT9vQz2LmX@cache:6379"),
        ("docs/setup.md", "https://user:password@db.acme.io"),
        ("docs/setup.md", "https://me:kT9vQz2LmX@example.com"),
        ("src/app.py", "url = f'https://{user}:{password}@{host}'"),
        ("docs/jwt.md", jwt(sub="1234567890", name="John Doe", iat=1516239022)),
        ("docs/jwt.md", jwt(some="payload")),
        ("src/app.py", f"KEY = '{GITHUB}'  # pragma: allowlist secret"),
        ("src/app.py", 'if "BEGIN RSA PRIVATE KEY" in text:'),
        ("docs/setup.md", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg...\n-----END PRIVATE KEY-----"),
        ("package-lock.json", '"integrity": "sha512-' + "q8Zx2LrXw7/Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R" * 2 + '=="'),
        ("src/app.py", "revision = '" + "5d41402abc4b2a76b9719d911017c592" + "9cf23ab1" + "'"),
    ],
)
def test_examples_placeholders_and_hashes_are_no_pain(top: Path, path: str, text: str) -> None:
    assert [leak for leak in leaks(top, {path: f"{text}\n"}) if leak.weight is Weight.BLOCK] == []


def test_a_secret_in_a_test_is_told_with_the_reason_for_doubt(top: Path) -> None:
    (leak,) = leaks(top, {"tests/a.py": f"{GITHUB}\n"})
    assert (leak.weight, leak.doubt) == (Weight.WARN, "in a file of tests or examples")


def test_a_secret_that_was_there_before_in_any_file_is_not_new(top: Path) -> None:
    commit(top, "long ago", {"old.py": f"KEY = '{GITHUB}'\n", "server.key": KEY})
    (top / "old.py").unlink()
    found = leaks(top, {"new.py": f"def key():\n    return '{GITHUB}'\n", "certs/server.key": f"# ours\n{KEY}"})
    assert found == ()


def test_settings_and_attributes_of_the_repository_hide_nothing(top: Path) -> None:
    for name, value in {
        "grep.lineNumber": "true",
        "color.ui": "always",
        "diff.noprefix": "true",
        "core.quotePath": "true",
    }.items():
        sh(top, "config", name, value)
    hidden = {".gitattributes": "* -diff binary\n", "a \n'b'.env": f"A={AWS}\n"}
    assert [leak.path for leak in leaks(top, hidden)] == ["a \n'b'.env"]
    assert leaks(top, {"again.env": f"B={AWS}\n"}) == ()


def test_binary_files_removed_lines_and_unchanged_lines_are_not_looked_at(top: Path) -> None:
    commit(top, "before", {"app.py": f"A = '{AWS}'\nB = '{STRIPE}'\n"})
    (top / "blob").write_bytes(b"\0" + GITHUB.encode())
    assert leaks(top, {"app.py": f"A = '{AWS}'\nC = 1\n"}) == ()


def test_many_doubtful_finds_do_not_hide_a_sure_one(top: Path) -> None:
    many = "\n".join(f"https://user:password@host{number}" for number in range(300))
    found = leaks(top, {"a.txt": many, "z.txt": f"{AWS}\n"})
    assert (len(found), found[0].path, found[0].weight) == (MOST_LEAKS, "z.txt", Weight.BLOCK)


def test_an_iteration_without_a_commit_holds_no_secret(top: Path) -> None:
    head = sh(top, "rev-parse", "HEAD")
    assert secrets_in(top, Change(start=head, commit=head, tree="d" * 40)) == ()


def test_a_secret_deep_in_a_long_line_is_found(top: Path) -> None:
    found = leaks(top, {"bundle.js": "x = 1; " * 3000 + f"k = '{GITHUB}'; " + "y = 2; " * 3000})
    assert {leak.kind for leak in found} == {"GitHub Token"}


# security scans -------------------------------------------------------------------------------------------------------

FINDING = {
    "code": "6 run(x, shell=True)\n",
    "filename": "./app.py",
    "issue_severity": "HIGH",
    "line_number": 6,
    "test_id": "B602",
}


def room(top: Path) -> Room:
    return Room(worktree=top, tag="t/1", stop=never)


def test_a_scan_that_exits_with_1_is_read_and_leaves_nothing_behind(top: Path) -> None:
    report = json.dumps({"results": [FINDING]})
    command = f"touch left; echo noise >&2; printf %s '{report}'; exit 1"
    scan = security_findings(command, room(top), sh(top, "rev-parse", "HEAD"))
    assert [(one.rule, one.path, one.line) for one in scan.findings] == [("B602", "app.py", 6)]
    assert (scan.error, scan.commit) == ("", sh(top, "rev-parse", "HEAD"))
    assert not (top / "left").exists()


def test_a_scan_that_cannot_run_has_an_error_and_no_findings(top: Path) -> None:
    scan = security_findings("no-such-scanner-anywhere", room(top), sh(top, "rev-parse", "HEAD"))
    assert scan.findings == ()
    assert scan.error.endswith("it ended with 127")


def test_a_scan_that_is_stopped_is_an_interruption_not_a_result(top: Path) -> None:
    with pytest.raises(Exception, match="cancelled"):
        security_findings("sleep 60", Room(worktree=top, tag="t/2", stop=lambda: True), sh(top, "rev-parse", "HEAD"))


# destructive commands -------------------------------------------------------------------------------------------------

CATASTROPHES = [
    "rm -rf /", "rm -rf /*", "rm -rf --no-preserve-root /", "rm -rf ~", "rm -rf $HOME", "rm -rf ~/*", "rm -fr ~/projects",
    "sudo rm -rf /var/lib/postgresql", "cd / && rm -rf *", "cd /nest && rm -rf loops", f"rm -rf {TREE}", "rm -rf .git",
    f"cd {TREE} && rm -rf .git", "rm -rf /nest/loops/other", "make clean; rm -r /nest/loops/other", "bash -c 'rm -rf ~/work'",
    "find / -name '*.log' -delete", "find ~ -delete", "git push --force", "git push -f origin main", "git push origin +main",
    "git push --force-with-lease", "git push --mirror", "npm publish", "python -m twine upload dist/*", "cargo publish",
    "gh release create v1", "mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda", "true; (cd /nest && rm -rf *)",
]  # fmt: skip

HONEST = [
    "rm -rf build", "rm -rf build dist *.egg-info", "rm -rf ./node_modules", f"rm -rf {TREE}/build", "rm -rf src/../out",
    "rm -rf ../dist", "cd sub && rm -rf ../build", "rm -rf *", "rm -rf ./*", "rm -rf sub/.git", "rm -rf /tmp/scratch",
    "rm -rf /tmp/*", "rm -rf $TMPDIR/x", 'rm -rf "$OUT"', 'rm -rf "$(mktemp -d)"', "rm -rf ${TMP:-/tmp}/x", "rm -f /nest/a.log",
    "rm -rf ~/.cache/pip", "rm -rf ~/.npm/_cacache", "git reset --hard", "git reset --hard HEAD~1", "git clean -fdx",
    "git clean -fd build", "git checkout .", "git stash drop", "git branch -D topic", "git push", "git push -u origin topic",
    "git push --dry-run --force", "git push -n -f", "cd /tmp/x && git push --force", "git push -f /tmp/remote.git main",
    "git -C /tmp/clone push -f", "npm publish --dry-run", "npm publish --registry http://localhost:4873",
    "twine upload --repository testpypi dist/*", "docker push localhost:5000/app", "gh pr create --fill",
    "cargo publish --dry-run",
    "echo 'rm -rf /'", "echo rm -rf /",
    "printf 'git push --force\\n'", "grep -rn 'rm -rf ~' .", "git commit -m 'no rm -rf / here'",
    "cat > clean.sh <<'EOF'\nrm -rf /\nEOF", "# rm -rf /", "git log --grep='push --force'", "find . -name '*.pyc' -delete",
    "find . -name __pycache__ -exec rm -rf {} +", "find /tmp/x -delete", "docker exec db rm -rf /var/lib/x", "ssh h 'rm -rf /x'",
    "xargs rm -rf < list", "dd if=/dev/zero of=disk.img", "sudo dd if=/dev/zero of=/tmp/swap", "sudo apt-get install -y jq",
    "git clone https://x.org/y /nest/y && rm -rf /nest/y", "mkdir -p /nest/scratch && rm -rf /nest/scratch/a", "", "rm -rf",
    "rm -rf '", "make clean", "pkill -f vite",
]  # fmt: skip


@pytest.mark.parametrize("command", CATASTROPHES)
def test_a_catastrophe_that_ran_is_named(command: str) -> None:
    assert executed(command, TREE, HOME).startswith("it ")


@pytest.mark.parametrize("command", HONEST)
def test_an_honest_command_is_none(command: str) -> None:
    assert executed(command, TREE, HOME) == ""


def test_a_git_folder_that_is_still_there_was_another_repository_s(top: Path) -> None:
    assert executed("rm -rf .git", str(top), HOME) == ""


def test_a_relative_way_out_counts_where_the_shell_s_folder_is_known() -> None:
    assert executed("rm -rf ../other", TREE, HOME, folder=TREE) == "it removed /nest/loops/other, outside the working tree"
    assert executed("rm -rf ../other", TREE, HOME, folder=f"{TREE}/sub") == ""


def test_the_tilde_of_a_working_tree_below_the_home_leads_into_it() -> None:
    assert executed("rm -rf ~/loops/parser/build", f"{HOME}/loops/parser", HOME) == ""


def test_a_reason_holds_no_part_of_a_secret() -> None:
    assert executed(f"npm publish --token {GITHUB}", TREE, HOME) == "it published something (npm publish)"


def test_failed_and_cut_commands_and_folders_of_the_session_s_own_do_not_count() -> None:
    cut = f"echo {'x' * 400}; rm -rf /nest/loops"[-CUT:]
    runs = [("rm -rf /", True), (cut, False), ("mkdir -p /nest/scratch", False), ("rm -rf /nest/scratch", False)]
    assert destroyed([CommandRun(command=command, failed=failed) for command, failed in runs], TREE, HOME) == ()


def test_each_reason_is_told_once() -> None:
    runs = [CommandRun(command=command, failed=False) for command in ("rm -rf ~/a", "ls", "rm -rf ~/a", "git push -f")]
    assert destroyed(runs, TREE, HOME) == (
        f"it removed {HOME}/a, outside the working tree",
        "it overwrote what a remote holds, by a forced git push",
    )


def test_a_home_is_not_the_session_s_own_for_having_been_made_again() -> None:
    runs = [CommandRun(command=command, failed=False) for command in ("mkdir -p ~ /nest", "rm -rf ~")]
    assert len(destroyed(runs, TREE, HOME)) == 1


# the watch ------------------------------------------------------------------------------------------------------------


def watch(**fields: object) -> Watch:
    return Watch(PainConfig.model_validate(fields), TREE, HOME)


def ran(watching: Watch, command: str, *, failed: bool = False, parent: str = "") -> str:
    called = Called("t1", "Bash", {"command": command}, "m1", parent)
    watching.announce(called)
    watching.conclude(ToolResult("t1", failed, ""))
    return watching.pain


def replay(name: str, instead: dict[str, str]) -> str:
    """What the watch says at the end of a recorded stream in which some commands are others."""
    watching = watch()
    for line in (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines():
        event = parse_event(line) or {}
        for called in tool_calls(event):
            command = str(called.arguments.get("command"))
            watching.announce(called._replace(arguments={**called.arguments, "command": instead.get(command, command)}))
        for result in tool_results(event):
            watching.conclude(result)
    return watching.pain


def test_a_recorded_session_with_a_destructive_command_hurts() -> None:
    assert "outside the working tree" in replay("success", {"python3 test_calc.py": "rm -rf ~/projects"})


@pytest.mark.parametrize("name", ["permission_denied", "failing_tool"])
def test_what_was_denied_or_failed_in_a_recorded_session_does_not_hurt(name: str) -> None:
    assert replay(name, dict.fromkeys(["touch x", "rm x", "exit 3"], "rm -rf ~/projects")) == ""


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_no_recorded_session_hurts(path: Path) -> None:
    assert replay(path.stem, {}) == ""


def test_the_watch_knows_where_the_shell_stands() -> None:
    watching = watch()
    assert ran(watching, "cd sub && npm test") == ""
    assert ran(watching, "rm -rf ../build") == ""
    assert ran(watching, "cd /nest") == ""
    assert "/nest/loops/build" in ran(watching, "rm -rf ../build")


def test_where_a_failed_command_may_have_gone_nothing_relative_counts() -> None:
    watching = watch()
    ran(watching, "cd sub && false", failed=True)
    assert ran(watching, "rm -rf ../build") == ""


def test_a_subagent_stands_somewhere_else() -> None:
    watching = watch()
    ran(watching, "cd /nest/loops/parser/sub", parent="t0")
    assert ran(watching, "rm -rf ../build", parent="t0") == ""
    assert "/nest/loops/build" in ran(watching, "rm -rf ../build")


def test_a_file_with_a_secret_does_not_hurt_before_the_commit() -> None:
    watching = watch()
    watching.feed(Called("t1", "Write", {"file_path": "a.py", "content": f"KEY = '{GITHUB}'"}), ToolResult("t1", False, ""))
    assert ran(watching, f"echo {GITHUB} > .env") == ""


def test_pain_stays_and_its_first_reason_is_kept() -> None:
    watching = watch()
    first = ran(watching, "rm -rf ~/a")
    assert ran(watching, "git push -f") == first != ""


def test_what_is_switched_off_does_not_hurt() -> None:
    assert ran(watch(destructive=False), "rm -rf ~/a") == ""


@pytest.mark.parametrize("command", [None, 7, ["rm", "-rf", "/"], {"a": 1}])
def test_arguments_of_any_type_are_heard(command: object) -> None:
    watching = watch()
    watching.feed(Called("t1", "Bash", {"command": command}), ToolResult("t1", False, ""))
    assert watching.pain == ""


def test_tokens_hurt_from_the_blown_budget_on() -> None:
    loop = state(config(limits={"tokens": 1000}), spending=Spending(tokens=900))
    used = [349]
    watching = Watch(loop.config.pain, TREE, HOME, used=lambda: used[0], most=tokens_left(loop))
    assert watching.pain == ""
    used[0] = 350
    assert watching.pain == "this call has used 350 tokens; with what was used before, that is 125% of limits.tokens"
    assert tokens_left(state(config(limits={"tokens": None}))) is None


def test_a_watched_tree_may_be_reached_by_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert executed(f"rm -rf {real}/build", str(link), HOME) == executed(f"rm -rf {link}/build", str(link), HOME) == ""
    assert executed(f"rm -rf {real}", str(link), HOME) == "it removed the whole working tree"
