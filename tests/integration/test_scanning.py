"""Secrets in real commits, and scans by real processes."""

import base64
import json
from pathlib import Path
from uuid import uuid4

import pytest

from helmsman.records.agent import Change
from helmsman.records.checks import Leak, Weight
from tasks.checks.run import CheckContext
from tasks.checks.scan import MOST_LEAKS, SecretScan, secrets_in, security_findings
from tasks.repository.diffs import LARGEST_SEARCHED, MOST_COMMITS
from tasks.repository.worktree import Worktree
from tasks.system.process import never_stop
from tests.fakes.repositories import commit, make_repository, sh

pytestmark = pytest.mark.feature("S13")

# Put together here, so that no scanner finds them in this file.
AWS = "AKIA" + "Q3EGVWTLZ7RXNB4D"
GITHUB = "ghp_" + "k9Rz2LqXw7Tb4VnYc8Hd3MfJp6Gs5QaEu1Wi"
ANTHROPIC = "sk-ant-api03-" + "q8Zx2LrXw7Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R" * 2 + "AA"
STRIPE = "sk_" + "live_" + "9aZ2xLqWw7Tb4VnYc8Hd3MfJ"
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
    return secrets_in(top, Change(start=start, commit=end, tree=tree)).leaks


SURE = [
    ("AWS Access Key", f'key = "{AWS}"'),
    ("AWS Access Key", 'aws_secret_access_key = "' + "q8Zx2LrXw7/Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R" + '"'),
    ("GitHub Token", f"token: {GITHUB}"),
    ("Anthropic Key", f"export ANTHROPIC_API_KEY={ANTHROPIC}"),
    ("Stripe Access Key", f"stripe.api_key = '{STRIPE}'"),
    ("JSON Web Token", f"Authorization: Bearer {jwt(iss='https://login.acme.io', sub='u1', exp=1900000000)}"),
    ("Basic Auth Credentials", "DATABASE_URL=postgres://svc_billing:kT9vQz2LmX@db7.prod.acme.io:5432/main"),
    ("Private Key", KEY),
    ("Private Key", '"private_key": "' + KEY.replace("\n", "\\n") + '"'),
    ("Private Key", "".join(f'    "{line}\\n"\n' for line in KEY.splitlines())),
]


def test_secrets_are_reported_by_location_and_kind_only(top: Path) -> None:
    found = leaks(top, {f"src/app{number}.py": f"first = 1\n{text}\n" for number, (_, text) in enumerate(SURE)})
    assert {(leak.path, leak.kind, leak.weight, leak.doubt) for leak in found} == {
        (f"src/app{number}.py", kind, Weight.BLOCK, "") for number, (kind, _) in enumerate(SURE)
    }
    assert {leak.line for leak in found} <= {2, 3}
    told = "".join(leak.model_dump_json() for leak in found)
    for kind, text in SURE:
        assert not any(text[at : at + 8] in told for at in range(len(text) - 8) if text[at : at + 8] not in kind)


DOUBTFUL = [
    ("tests/test_app.py", f"KEY = '{GITHUB}'"),
    ("config/.env.example", f"STRIPE={STRIPE}"),
    ("docs/setup.md", "AKIAIOSFODNN7EXAMPLE"),
    ("docs/setup.md", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
    ("compose.yml", "postgres://postgres:postgres@localhost:5432/app"),
    ("compose.yml", "redis://app:kT9vQz2LmX@cache:6379"),
    ("docs/setup.md", "https://user:password@db.acme.io"),
    ("src/app.py", "url = f'https://{user}:{password}@{host}'"),
    ("docs/jwt.md", jwt(sub="1234567890", name="John Doe", iat=1516239022)),
    ("src/app.py", f"KEY = '{GITHUB}'  # pragma: allowlist secret"),
    ("src/app.py", 'if "BEGIN RSA PRIVATE KEY" in text:'),
    ("docs/setup.md", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg...\n-----END PRIVATE KEY-----"),
    ("package-lock.json", '"integrity": "sha512-' + "q8Zx2LrXw7/Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R" * 2 + '=="'),
    ("src/app.py", "revision = '" + "5d41402abc4b2a76b9719d911017c592" + "9cf23ab1" + "'"),
]


def test_examples_placeholders_and_hashes_are_warnings(top: Path) -> None:
    found = leaks(top, {f"{number}/{path}": f"{text}\n" for number, (path, text) in enumerate(DOUBTFUL)})
    assert [leak for leak in found if leak.weight is Weight.BLOCK] == []


def test_secrets_in_tests_have_a_reason_for_doubt(top: Path) -> None:
    (leak,) = leaks(top, {"tests/a.py": f"{GITHUB}\n"})
    assert (leak.weight, leak.doubt) == (Weight.HINT, "in a file of tests or examples")


def test_earlier_secrets_are_not_new(top: Path) -> None:
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


def test_binary_files_removed_and_unchanged_lines_are_skipped(top: Path) -> None:
    commit(top, "before", {"app.py": f"A = '{AWS}'\nB = '{STRIPE}'\n"})
    (top / "blob").write_bytes(b"\0" + GITHUB.encode())
    assert leaks(top, {"app.py": f"A = '{AWS}'\nC = 1\n"}) == ()


def test_many_doubtful_matches_do_not_hide_a_certain_one(top: Path) -> None:
    many = "\n".join(f"https://user:password@host{number}" for number in range(300))
    found = leaks(top, {"a.txt": many, "z.txt": f"{AWS}\n"})
    assert (len(found), found[0].path, found[0].weight) == (MOST_LEAKS, "z.txt", Weight.BLOCK)


def test_a_secret_deep_in_a_long_line_is_found(top: Path) -> None:
    found = leaks(top, {"bundle.js": "x = 1; " * 3000 + f"k = '{GITHUB}'; " + "y = 2; " * 3000})
    assert {leak.kind for leak in found} == {"GitHub Token"}


# in the history, and beyond what is small and plain -------------------------------------------------------------------


def since(top: Path, start: str) -> SecretScan:
    return secrets_in(top, Change(start=start, commit=sh(top, "rev-parse", "HEAD"), tree="d" * 40))


def places(top: Path, start: str) -> list[str]:
    return [f"{leak.path}:{leak.line}" for leak in since(top, start).leaks]


def test_removed_secrets_are_reported_by_commit(top: Path) -> None:
    start = sh(top, "rev-parse", "HEAD")
    held = commit(top, "oops", {"src/a.py": f"x = 1\nKEY = '{GITHUB}'\n"})
    commit(top, "gone again", {"src/a.py": "x = 1\n"})
    assert places(top, start) == [f"{held[:12]}:src/a.py:2"]
    assert sh(top, "show", f"{held[:12]}:src/a.py").splitlines()[1] == f"KEY = '{GITHUB}'"


def test_remaining_secrets_are_reported_once(top: Path) -> None:
    start = sh(top, "rev-parse", "HEAD")
    commit(top, "first", {"a.py": f"KEY = '{GITHUB}'\n"})
    commit(top, "moved", {"a.py": "", "b.py": f"\nKEY = '{GITHUB}'\n"})
    assert places(top, start) == ["b.py:2"]


def test_secrets_moved_into_tests_are_certain(top: Path) -> None:
    start = sh(top, "rev-parse", "HEAD")
    held = commit(top, "first", {"a.py": f"KEY = '{GITHUB}'\n"})
    commit(top, "moved", {"a.py": "", "tests/test_a.py": f"KEY = '{GITHUB}'\n"})
    assert [(leak.path, leak.doubt) for leak in since(top, start).leaks] == [
        (f"{held[:12]}:a.py", ""),
        ("tests/test_a.py", "in a file of tests or examples"),
    ]


def test_secrets_of_the_start_are_not_new_in_later_commits(top: Path) -> None:
    start = commit(top, "long ago", {"old.py": f"KEY = '{GITHUB}'\n"})
    commit(top, "copied", {"new.py": f"    KEY = '{GITHUB}'\n"})
    commit(top, "gone again", {"new.py": ""})
    assert since(top, start) == SecretScan()


def test_side_branches_are_scanned_but_not_published_commits(top: Path) -> None:
    start = sh(top, "rev-parse", "HEAD")
    for name, key in (("side", GITHUB), ("theirs", AWS)):
        sh(top, "checkout", "--quiet", "-b", name, start)
        commit(top, "in", {f"{name}.py": f"KEY = '{key}'\n"})
        commit(top, "out", {f"{name}.py": "\n"})
    sh(top, "update-ref", "refs/remotes/origin/theirs", "theirs")
    sh(top, "checkout", "--quiet", "main")
    commit(top, "own", {"own.py": "\n"})
    sh(top, "merge", "--quiet", "--no-edit", "side")
    sh(top, "merge", "--quiet", "--no-edit", "theirs")
    assert places(top, start) == [f"{sh(top, 'rev-parse', 'side~1')[:12]}:side.py:1"]
    sh(top, "update-ref", "refs/remotes/origin/main", "main")  # the session's own branch, pushed meanwhile
    assert places(top, start) != []


def test_unread_commits_are_reported(top: Path) -> None:
    start = sh(top, "rev-parse", "HEAD")
    commit(top, "in", {"a.py": f"KEY = '{GITHUB}'\n"})
    for number in range(MOST_COMMITS):
        commit(top, "out", {"a.py": f"{number}\n"})
    assert since(top, start) == SecretScan((), "not all new text was searched for secrets: commits before the newest 50 left out")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_of_any_unicode_is_read(top: Path, encoding: str) -> None:
    start = sh(top, "rev-parse", "HEAD")
    (top / "a.ps1").write_bytes(f"$x = 1\r\n$key = '{GITHUB}'\r\n".encode(encoding))
    commit(top, "work")
    assert places(top, start) == ["a.ps1:2"]


@pytest.mark.slow
def test_large_files_leave_room_for_others(top: Path) -> None:
    start = sh(top, "rev-parse", "HEAD")
    lines = "".join(f"value {number} and some more words\n" for number in range(60_000))
    commit(top, "work", {"a.sql": f"{lines}{AWS}\n", "b.sql": lines[:-1] * 2, "z.py": f"KEY = '{GITHUB}'\n"})
    assert sorted(places(top, start)) == ["a.sql:60001", "z.py:1"]
    commit(top, "more", {"c.sql": lines * 2 + "x" * 900_000, "d.bin": "y" * (LARGEST_SEARCHED + 1)})
    scanned = since(top, start)
    assert len(scanned.leaks) == 2
    assert scanned.unread == (
        "not all new text was searched for secrets: 3 files above 5 MB, or beyond 2,000 files or 5 MB of new lines left out"
    )


# security scans -------------------------------------------------------------------------------------------------------

FINDING = {
    "code": "6 run(x, shell=True)\n",
    "filename": "./app.py",
    "issue_severity": "HIGH",
    "line_number": 6,
    "test_id": "B602",
}


def check_context(top: Path) -> CheckContext:
    return CheckContext(Worktree(top), tag=f"t/{uuid4().hex}", stop=never_stop)


def test_scans_with_exit_code_1_are_read(top: Path) -> None:
    report = json.dumps({"results": [FINDING]})
    command = f"touch left; echo noise >&2; printf %s '{report}'; exit 1"
    scan = security_findings(command, check_context(top), sh(top, "rev-parse", "HEAD"))
    assert [(one.rule, one.path, one.line) for one in scan.findings] == [("B602", "app.py", 6)]
    assert (scan.error, scan.commit) == ("", sh(top, "rev-parse", "HEAD"))
    assert not (top / "left").exists()


def test_a_scan_that_cannot_run_has_an_error_and_no_findings(top: Path) -> None:
    scan = security_findings("no-such-scanner-anywhere", check_context(top), sh(top, "rev-parse", "HEAD"))
    assert scan.findings == ()
    assert scan.error.endswith("exit code 127")


def test_a_scan_that_is_stopped_is_an_interruption_not_a_result(top: Path) -> None:
    with pytest.raises(Exception, match="cancelled"):
        security_findings(
            "sleep 60", CheckContext(Worktree(top), tag=f"t/{uuid4().hex}", stop=lambda: True), sh(top, "rev-parse", "HEAD")
        )
