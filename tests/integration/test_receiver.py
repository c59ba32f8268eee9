"""The receiver as a separate process: what it accepts and how it rejects everything else."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from deployments.receiver import FRESH_SECONDS, LARGEST_BODY, serve
from helmsman.errors import OperatorError
from helmsman.records.triggers import Push
from tasks.triggers.deliveries import Deliveries
from tests.fakes.processes import eventually
from tests.fakes.push_receiver import (
    NOWHERE,
    SECRET,
    Receiver,
    gitea_headers,
    github_headers,
    hook_headers,
    run_receiver,
    send,
    write_repository_list,
)

pytestmark = pytest.mark.feature("D2", "X2")

ZEROS = "0" * 40
Headers = Callable[[bytes], dict[str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("receiver")


@pytest.fixture(scope="module")
def repos(home: Path) -> Path:
    file = write_repository_list(home, {"owner/name": "/srv/name.git"})
    with file.open("a") as more:
        more.write('[repositories."git.example.org/owner/narrow"]\nat = "/srv/narrow.git"\nbranches = ["main"]\n')
    return file


@pytest.fixture(scope="module")
def receiver(home: Path, repos: Path) -> Generator[Receiver]:
    with run_receiver(home, repos) as found:
        yield found


@pytest.fixture
def kept(home: Path, receiver: Receiver) -> Deliveries:
    assert receiver.url
    return Deliveries(home / "state" / "receiver" / "deliveries.sqlite")


_commits = iter(f"{number:040x}" for number in range(1, 10**6))


def event(commit: str, branch: str = "main", **changes: Any) -> bytes:
    known = {"ref": f"refs/heads/{branch}", "before": ZEROS, "after": commit, "repository": {"full_name": "owner/name"}}
    return json.dumps({**known, **changes}).encode()


def lines(commit: str, name: str = "owner/name", ref: str = "refs/heads/main") -> bytes:
    return f"{name}\n{ZEROS} {commit} {ref}\n".encode()


def pushes(kept: Deliveries) -> list[Push]:
    return [one for one in kept.waiting() if isinstance(one, Push)]


def commits(kept: Deliveries) -> list[str]:
    return [push.commit for push in pushes(kept)]


# --- what is taken ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "made", "headers"),
    [("github", event, github_headers), ("gitea", event, gitea_headers), ("git", lines, hook_headers)],
)
def test_a_signed_push_is_on_the_disk_before_it_is_answered(
    path: str, made: Callable[[str], bytes], headers: Headers, receiver: Receiver, kept: Deliveries
) -> None:
    commit = next(_commits)
    body = made(commit)
    answer = send(f"{receiver.url}/{path}", body, headers(body))
    assert (answer.status_code, answer.text) == (202, f"accepted: {commit[:10]} on main of owner/name\n")
    (push,) = [push for push in pushes(kept) if push.commit == commit]
    received = push.received_at
    assert (push.location, push.branch, push.before) == ("/srv/name.git", "main", None)
    assert abs((datetime.now(UTC) - received).total_seconds()) < 100


def test_a_local_path_without_a_repository_is_reported_at_the_start(receiver: Receiver) -> None:
    told = "owner/name starts no loops on this machine: the repository does not exist: /srv/name.git"
    assert eventually(lambda: told in receiver.log.read_text())


def test_the_same_message_again_and_the_same_commit_by_another_way_add_nothing(receiver: Receiver, kept: Deliveries) -> None:
    commit = next(_commits)
    body = event(commit)
    headers = github_headers(body)
    answers = [
        send(f"{receiver.url}/github", body, headers),
        send(f"{receiver.url}/github", body, headers),  # a replay
        send(f"{receiver.url}/github", body, github_headers(body)),  # one under another name
        send(f"{receiver.url}/gitea", body, gitea_headers(body)),
        send(f"{receiver.url}/git", lines(commit), hook_headers(lines(commit))),
    ]
    assert [answer.status_code for answer in answers] == [202, 200, 200, 200, 200]
    assert {answer.text for answer in answers[1:]} == {f"already known: {commit[:10]} on main of owner/name\n"}
    assert commits(kept).count(commit) == 1


def test_one_message_of_the_hook_may_tell_of_several_branches(receiver: Receiver, kept: Deliveries) -> None:
    one, other = next(_commits), next(_commits)
    body = lines(one) + f'{ZEROS} {other} refs/heads/we"ird$(id)\n{one} {ZEROS} refs/heads/gone\n'.encode()
    answer = send(f"{receiver.url}/git", body, hook_headers(body))
    assert answer.text.splitlines() == [
        f"accepted: {one[:10]} on main of owner/name",
        f'accepted: {other[:10]} on we"ird$(id) of owner/name',
        "nothing to do: the branch was deleted",
    ]
    assert {one, other} <= set(commits(kept))


def test_a_genuine_message_that_starts_nothing_is_told_why(receiver: Receiver) -> None:
    body = event(next(_commits), "x", repository={"full_name": "a/b", "html_url": "https://git.example.org/owner/narrow"})
    answer = send(f"{receiver.url}/github", body, github_headers(body))
    assert (answer.status_code, answer.text) == (200, "nothing to do: the operator does not allow branch x\n")


@pytest.mark.parametrize(("path", "headers"), [("github", github_headers), ("gitea", gitea_headers)])
def test_other_events_of_a_forge_are_taken_and_left_alone(path: str, headers: Headers, receiver: Receiver) -> None:
    body = b'{"zen": "Keep it logically awesome."}'
    answer = send(f"{receiver.url}/{path}", body, {**headers(body), f"x-{path}-event": "ping"})
    assert (answer.status_code, answer.text) == (200, "nothing to do: only pushes and issues start loops\n")


def test_nothing_in_a_message_chooses_a_path(receiver: Receiver, kept: Deliveries) -> None:
    commit = next(_commits)
    known = {"full_name": "owner/name", "html_url": "file:///etc", "clone_url": "file:///etc", "ssh_url": "x@y:/etc"}
    body = event(commit, repository=known, location="/etc")
    send(f"{receiver.url}/github", body, github_headers(body))
    assert [push.location for push in pushes(kept) if push.commit == commit] == ["/srv/name.git"]


# --- what is refused ----------------------------------------------------------------------------------------------


def at(seconds: float) -> Headers:
    """Signed so many seconds from now."""
    return lambda body: hook_headers(body, at=time.time() + seconds)


def without(name: str, headers: Headers) -> Headers:
    return lambda body: {key: value for key, value in headers(body).items() if key != name}


def with_(headers: Headers, **changes: str) -> Headers:
    return lambda body: {**headers(body), **{name.replace("_", "-"): value for name, value in changes.items()}}


NOT_JSON = "send application/json, not compressed"
NOT_TEXT = "send text/plain, not compressed"
WRONG = "the signature is wrong"
NO_NAME = "the message has no delivery id"
BODY = event("c1" * 20)
LINES = lines("c1" * 20)
DEEP = b'{"ref":' * 100_000
REFUSED: dict[str, tuple[str, bytes, Headers, int, str]] = {
    "unsigned": ("github", BODY, without("x-hub-signature-256", github_headers), 401, "the message is not signed"),
    "unsigned, git": ("git", LINES, without("x-helmsman-signature", hook_headers), 401, "the message is not signed"),
    "another secret": ("github", BODY, lambda body: github_headers(body, "another secret"), 403, WRONG),
    "another body": ("github", BODY, lambda body: github_headers(body + b" "), 403, WRONG),
    "no hexadecimal": ("github", BODY, with_(github_headers, x_hub_signature_256="sha256=\u00fc"), 403, WRONG),
    "a weaker hash": ("github", BODY, with_(github_headers, x_hub_signature_256="sha1=" + "0" * 40), 403, WRONG),
    "another's signature": ("git", LINES, with_(hook_headers, x_helmsman_timestamp="1700000000"), 403, WRONG),
    "stale": ("git", LINES, at(-FRESH_SECONDS - 60), 409, "the message is too old, or the clocks differ"),
    "of the future": ("git", LINES, at(FRESH_SECONDS + 60), 409, "the message is too old, or the clocks differ"),
    "oversized": ("github", b" " * (LARGEST_BODY + 1), github_headers, 413, "the message is too large"),
    "malformed": ("github", b'{"ref": 5', github_headers, 400, "the message cannot be read"),
    "nested for ever": ("github", DEEP, github_headers, 400, "the message cannot be read"),
    "not UTF-8": ("gitea", b"\xff\xfe{}", gitea_headers, 400, "the message cannot be read"),
    "no lines": ("git", b"owner/name\n", hook_headers, 400, "the message cannot be read"),
    "no delivery": ("github", BODY, without("x-github-delivery", github_headers), 400, NO_NAME),
    "a hostile delivery": ("github", BODY, with_(github_headers, x_github_delivery="' OR 1=1"), 400, NO_NAME),
    "a form": ("github", BODY, with_(github_headers, content_type="application/x-www-form-urlencoded"), 415, NOT_JSON),
    "JSON for the hook": ("git", LINES, with_(hook_headers, content_type="application/json"), 415, NOT_TEXT),
    "compressed": ("github", BODY, with_(github_headers, content_encoding="gzip"), 415, NOT_JSON),
    "unknown": ("git", lines("c1" * 20, "somebody/else"), hook_headers, 404, "this repository may not start loops here"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "body", "headers", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_genuine_or_no_push_is_refused_with_a_status_of_its_own(
    path: str, body: bytes, headers: Headers, status: int, words: str, receiver: Receiver, kept: Deliveries
) -> None:
    answer = send(f"{receiver.url}/{path}", body, {name: value.encode("latin-1") for name, value in headers(body).items()})  # pyright: ignore[reportArgumentType]
    assert (answer.status_code, answer.text) == (status, f"{words}\n")
    assert "server" not in answer.headers
    assert "c1" * 20 not in commits(kept)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "git", 405), ("PUT", "github", 405), ("POST", "health", 405), ("GET", "", 404), ("GET", "docs", 404)],
)
def test_another_method_or_path_is_refused(method: str, path: str, status: int, receiver: Receiver) -> None:
    assert httpx.request(method, f"{receiver.url}/{path}", trust_env=False).status_code == status


def test_a_body_without_an_end_is_cut_off_while_it_comes(receiver: Receiver) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=30)
    connection.putrequest("POST", "/github")
    for name, value in {**github_headers(b""), "transfer-encoding": "chunked"}.items():
        connection.putheader(name, value)
    connection.endheaders()
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    sent = 0
    try:
        while sent < 100 * len(piece):
            connection.send(piece)
            sent += len(piece)
    except ConnectionError:
        pass
    assert sent < 100 * len(piece)
    connection.close()
    assert httpx.get(f"{receiver.url}/health", trust_env=False).text == "ok\n"


def test_it_listens_on_loopback_only(receiver: Receiver) -> None:
    found = psutil.Process(receiver.process.pid).net_connections(kind="inet")
    assert {one.laddr for one in found if one.status == psutil.CONN_LISTEN} == {("127.0.0.1", receiver.port)}


def test_no_secret_and_no_body_is_in_the_log(receiver: Receiver) -> None:
    body = event(next(_commits), marker="what nobody should write down")
    send(f"{receiver.url}/github", body, github_headers(body, "a wrong secret of somebody"))
    send(f"{receiver.url}/github", body, github_headers(body))
    log = receiver.log.read_text()
    assert WRONG in log
    assert not [word for word in (SECRET, "a wrong secret", "what nobody should", "sha256") if word in log]


# --- two of them, and their ends ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_accepted_events_survive_a_kill(tmp_path: Path) -> None:
    commit = next(_commits)
    body = event(commit)
    with run_receiver(tmp_path) as first:
        assert send(f"{first.url}/github", body, github_headers(body)).status_code == 202
        first.kill()
    with run_receiver(tmp_path) as second:
        assert send(f"{second.url}/github", body, github_headers(body)).status_code == 200
        assert eventually(lambda: "events are delayed: the engine cannot be reached" in second.log.read_text(), 60)
    assert commits(Deliveries(tmp_path / "state" / "receiver" / "deliveries.sqlite")) == [commit]


# --- what the operator got wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"HELMSMAN_WEBHOOK_SECRET": ""}, "no secret"),
        ({"HELMSMAN_WEBHOOK_SECRET": "short"}, "16 characters or more"),
        ({"PREFECT_API_URL": ""}, "no Prefect server is configured"),
        ({}, "cannot listen"),
    ],
)
def test_it_does_not_start_without_secret_server_or_list(
    changed: dict[str, str], words: str, repos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"HELMSMAN_WEBHOOK_SECRET": SECRET, "PREFECT_API_URL": NOWHERE, "HELMSMAN_HOME": str(tmp_path)}
    for name, value in {**own, **changed}.items():
        monkeypatch.setenv(name, value)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OperatorError) as caught:
        serve(repos, "127.0.0.1", taken.getsockname()[1])
    assert words in str(caught.value)


def test_a_missing_or_invalid_list_of_repositories_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELMSMAN_WEBHOOK_SECRET", SECRET)
    (tmp_path / "broken.toml").write_text("[repositories\n")
    for name in ("missing.toml", "broken.toml"):
        with pytest.raises(OperatorError, match=f"{name} cannot be (read|used)"):
            serve(tmp_path / name, "127.0.0.1", 0)
