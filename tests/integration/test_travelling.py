"""A loop on two machines with one remote: taken up where it stands, claimed, and nothing lost of what one of them had alone."""

import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.config import LoopConfig, RemoteConfig, WorkspaceConfig
from helmsman.errors import OperatorError, WorldError
from helmsman.records.session import KeptSession
from helmsman.records.state import LoopState
from helmsman.records.verdict import Decision, DecisionKind, Outcome
from tasks import driving, travelling
from tasks.git import Repository, git, open_repository, read_ref
from tasks.lock import drive_alone
from tasks.opening import lost_elsewhere
from tasks.places import loop_folder, worktree_of
from tasks.remote import push_loop
from tasks.rolling_back import go_back
from tasks.state_ref import Fenced, read_state, replace_state, state_ref, write_state
from tasks.travelling import claim, left_there, refuse_taken, require_ours, take_up
from tasks.workplace import workplace
from tasks.worktree import ensure_worktree
from tests.fakes.repositories import commit, make_repository, sh, write

pytestmark = pytest.mark.feature("D4", "E3")

LOOP = "loop"
BRANCH = "helmsman/loop"
PUSHED = RemoteConfig(push=True)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(travelling, "AGAIN_SECONDS", (0.0,))
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    make_repository(tmp_path / "origin")
    sh(tmp_path, "clone", "--quiet", "--bare", "origin", "remote.git")
    return tmp_path / "remote.git"


def machine(remote: Path, name: str) -> Repository:
    sh(remote.parent, "clone", "--quiet", str(remote), name)
    return open_repository(remote.parent / name)


@pytest.fixture
def one(remote: Path) -> Repository:
    return machine(remote, "one")


@pytest.fixture
def two(remote: Path) -> Repository:
    return machine(remote, "two")


def begun(repository: Repository, uid: str = "u1") -> LoopState:
    """A loop that this machine has begun and claimed."""
    base = git(repository.top, "rev-parse", "HEAD").strip()
    times = dict.fromkeys(("created_at", "updated_at"), "2026-11-22T10:00:00Z")
    fields = {"loop": LOOP, "uid": uid, "base_commit": base, "head": base, "branch": BRANCH, **times}
    config = LoopConfig(goal="g", checks=("true",), remote=PUSHED)  # pyright: ignore[reportArgumentType]
    state = LoopState.model_validate({**fields, "config": config})
    write_state(repository, state, over=None, record=None, subject="start")
    ensure_worktree(repository, tree(repository, state), BRANCH, base)
    return claim(repository, state)


def tree(repository: Repository, state: LoopState) -> Path:
    return worktree_of(repository, LOOP, state.config.workspace)


def go_on(repository: Repository, state: LoopState, text: str) -> LoopState:
    head = commit(tree(repository, state), text, {"app.py": text})
    after = state.model_copy(update={"iteration": state.iteration + 1, "head": head})
    return replace_state(repository, state, after, text)


def taken_over(repository: Repository) -> LoopState:
    """The loop as another machine drives it from here."""
    take_up(repository, LOOP, PUSHED, held=False)
    state, _ = read_state(repository, LOOP)
    ensure_worktree(repository, tree(repository, state), BRANCH, state.head)
    return claim(repository, state)


def kept(repository: Repository, below: str) -> list[str]:
    return git(repository.common, "for-each-ref", "--format=%(objectname)", f"refs/helmsman/{LOOP}/{below}").split()


class Late:
    """A claim before which somebody else does something, once."""

    def __init__(self, first: Callable[[], None]) -> None:
        self.first: Callable[[], None] | None = first

    def __call__(self, repository: Repository, state: LoopState) -> LoopState:
        first, self.first = self.first, None
        if first:
            first()
        return claim(repository, state)


def test_another_machine_goes_on_where_the_first_one_stands(one: Repository, two: Repository) -> None:
    state = go_on(one, begun(one), "done by one\n")
    push_loop(one, state)
    found = taken_over(two)
    assert (found.iteration, found.head, found.uid) == (1, state.head, state.uid)
    assert (tree(two, found) / "app.py").read_text() == "done by one\n"


def test_a_loop_that_nobody_has_begun_is_just_not_there(one: Repository) -> None:
    take_up(one, LOOP, PUSHED, held=False)
    assert read_ref(one.common, state_ref(LOOP)) is None


def test_a_loop_that_does_not_travel_is_not_looked_for(one: Repository) -> None:
    git(one.common, "remote", "remove", "origin")
    take_up(one, LOOP, RemoteConfig(), held=False)


def test_whoever_claims_it_fences_the_one_before_it(one: Repository, two: Repository, remote: Path) -> None:
    before = begun(one)
    theirs = taken_over(two)
    at = read_ref(remote, state_ref(LOOP))
    for ours in (before, go_on(one, before, "too late\n")):
        with pytest.raises(Fenced):
            push_loop(one, ours)
        with pytest.raises(Fenced, match="goes on elsewhere"):
            require_ours(one, ours)
    require_ours(two, theirs)
    assert read_ref(remote, state_ref(LOOP)) == at
    assert read_ref(remote, f"refs/heads/{BRANCH}") == before.head


def test_the_same_machine_that_begins_again_fences_its_earlier_process_too(one: Repository, remote: Path) -> None:
    state = begun(one)
    at = read_ref(remote, state_ref(LOOP))
    assert claim(one, state) == state
    assert read_ref(remote, state_ref(LOOP)) != at


def test_what_the_fenced_one_had_alone_is_kept_when_it_takes_the_loop_up_again(one: Repository, two: Repository) -> None:
    before = begun(one)
    too_late = go_on(one, before, "too late\n")
    _, lost = read_state(one, LOOP)
    write(tree(one, before), {"lying.txt": "about"})
    push_loop(two, go_on(two, taken_over(two), "in time\n"))
    found = taken_over(one)
    assert (found.head != too_late.head, found.iteration) == (True, 1)
    assert (tree(one, found) / "app.py").read_text() == "in time\n"
    assert not (tree(one, found) / "lying.txt").exists()
    assert lost in kept(one, "fenced/")
    (work,) = (name for name in kept(one, "salvage/") if "lying.txt" in git(one.common, "ls-tree", "--name-only", name))
    assert git(one.common, "show", f"{work}:app.py") == "too late\n"


def test_what_was_not_pushed_yet_is_not_given_up(one: Repository) -> None:
    ahead = go_on(one, begun(one), "not pushed\n")
    assert taken_over(one).head == ahead.head
    assert read_state(one, LOOP)[0].iteration == 1
    assert not kept(one, "fenced/")


def test_a_session_that_lies_on_another_machine_is_not_gone_on_with(one: Repository, two: Repository) -> None:
    session = KeptSession.model_validate({"id": "s", "used_at": "2026-11-22T10:00:00Z"})
    state = begun(one)
    push_loop(one, replace_state(one, state, state.model_copy(update={"session": session, "host": "another"}), "kept"))
    assert taken_over(two).session is None


def test_while_somebody_drives_it_here_nothing_is_replaced(one: Repository, two: Repository) -> None:
    before = begun(one)
    taken_over(two)
    at = read_state(one, LOOP)
    with drive_alone(loop_folder(one, LOOP).lock, LOOP), pytest.raises(OperatorError, match="driven already"):
        take_up(one, LOOP, before.config.remote, held=False)
    assert read_state(one, LOOP) == at


def test_another_loop_of_the_same_name_is_not_mistaken_for_it(one: Repository, two: Repository) -> None:
    push_loop(one, begun(one))
    git(two.common, "remote", "rename", "origin", "away")
    git(two.common, "remote", "add", "origin", str(two.top.parent / "empty.git"))
    sh(two.top.parent, "init", "--quiet", "--bare", "empty.git")
    mine = go_on(two, begun(two, uid="u2"), "mine\n")
    with pytest.raises(Fenced, match="another loop that is called loop"):
        take_up(two, LOOP, RemoteConfig(push=True, name="away"), held=False)
    assert read_state(two, LOOP)[0] == mine


def test_a_remote_that_is_not_there_is_the_operator_s_fault_and_one_that_is_away_the_world_s(
    one: Repository, remote: Path
) -> None:
    state = begun(one)
    with pytest.raises(OperatorError, match="there is no remote 'nowhere'"):
        take_up(one, LOOP, RemoteConfig(push=True, name="nowhere"), held=False)
    remote.rename(remote.with_suffix(".away"))
    with pytest.raises(WorldError):
        take_up(one, LOOP, PUSHED, held=False)
    with pytest.raises(WorldError):
        require_ours(one, state)
    assert travelling.is_ours(one, state)


def test_however_a_block_ends_the_remote_has_the_loop_as_it_stands_then(one: Repository, remote: Path) -> None:
    state = begun(one)

    def asked() -> None:
        with left_there(one, LOOP):
            replace_state(one, state, state.model_copy(update={"gates_asked": 1}), "ask")
            raise RuntimeError("suspended")

    with pytest.raises(RuntimeError, match="suspended"):
        asked()
    assert read_ref(remote, state_ref(LOOP)) == read_state(one, LOOP)[1]


def test_a_call_that_was_in_flight_elsewhere_is_charged_and_its_work_is_kept(one: Repository, two: Repository) -> None:
    before = begun(one)
    commit(tree(one, before), "half of it", {"app.py": "half\n"})
    push_loop(one, before)
    after = lost_elsewhere(str(two.top), taken_over(two), datetime(2026, 11, 22, 11, tzinfo=UTC))
    assert (after.due, after.attempt, after.spending.agent_calls, after.spending.seconds) == (1, 2, 1, 0.0)
    (salvaged,) = after.salvaged
    assert git(two.common, "show", f"{salvaged.ref}:app.py") == "half\n"
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == before.head
    require_ours(two, after)


def test_work_that_was_pushed_and_is_salvaged_elsewhere_hinders_nobody(one: Repository, two: Repository, remote: Path) -> None:
    """The machine died behind the agent's call, before its result was kept."""
    before = go_on(one, begun(one), "done\n")
    push_loop(one, before)
    lost = commit(tree(one, before), "half of it", {"app.py": "half\n"})
    push_loop(one, before)
    take_up(two, LOOP, PUSHED, held=False)
    state, _ = read_state(two, LOOP)
    ensure_worktree(two, tree(two, state), BRANCH, state.head)
    after = claim(two, lost_elsewhere(str(two.top), state, datetime(2026, 11, 22, 11, tzinfo=UTC)))
    assert (after.attempt, read_ref(remote, f"refs/heads/{BRANCH}")) == (2, before.head)
    assert lost in kept(two, "salvage/")


def test_work_that_is_taken_back_elsewhere_is_taken_off_the_remote_as_well(
    one: Repository, two: Repository, remote: Path
) -> None:
    """The machine died between going back and writing it down."""
    before = go_on(one, begun(one), "done\n")
    push_loop(one, before)
    commit(tree(one, before), "worse", {"app.py": "worse\n"})
    push_loop(one, before)
    found = taken_over(two)
    go_back(workplace(str(two.top), found), found, found.head)
    push_loop(two, found)
    assert read_ref(remote, f"refs/heads/{BRANCH}") == before.head


def test_a_loop_just_made_is_not_taken_for_one_of_that_name_on_the_remote(one: Repository, two: Repository, remote: Path) -> None:
    push_loop(one, go_on(one, begun(one), "somebody's\n"))
    at = read_ref(remote, state_ref(LOOP))
    theirs, _ = read_state(one, LOOP)
    config = theirs.config.model_copy(update={"goal": "another one"})
    mine = theirs.model_copy(update={"uid": "u2", "config": config, "iteration": 0, "head": theirs.base_commit, "host": ""})
    write_state(two, mine, over=None, record=None, subject="start")
    with pytest.raises(Fenced, match="another loop that is called loop"):
        take_up(two, LOOP, PUSHED, held=False)
    assert read_state(two, LOOP)[0] == mine
    assert read_ref(remote, state_ref(LOOP)) == at


def test_what_one_run_began_on_two_machines_is_one_loop(one: Repository, two: Repository) -> None:
    """The first one died before anybody heard of it."""
    theirs = go_on(one, begun(one), "done\n")
    push_loop(one, theirs)
    mine = theirs.model_copy(update={"uid": "u2", "iteration": 0, "head": theirs.base_commit, "host": ""})
    write_state(two, mine, over=None, record=None, subject="start")
    assert taken_over(two).uid == theirs.uid


def test_a_name_that_is_taken_on_the_remote_is_told(one: Repository, two: Repository) -> None:
    refuse_taken(two, LOOP, PUSHED)
    begun(one)
    refuse_taken(two, LOOP, RemoteConfig())
    with pytest.raises(OperatorError, match="there is a loop loop already on remote origin"):
        refuse_taken(two, LOOP, PUSHED)


def test_somebody_s_own_checkout_is_not_replaced_by_a_loop_that_works_in_place(one: Repository, two: Repository) -> None:
    before = begun(one)
    config = before.config.model_copy(update={"workspace": WorkspaceConfig(in_place=True)})
    main = git(two.top, "branch", "--show-current").strip()
    push_loop(one, replace_state(one, before, before.model_copy(update={"config": config, "branch": main}), "in place"))
    write(two.top, {"app.py": "edited\n", "mine.txt": "mine\n"})
    with pytest.raises(OperatorError, match="works in a checkout of its own") as caught:
        take_up(two, LOOP, PUSHED, held=False)
    assert before.host in str(caught.value)
    assert ((two.top / "app.py").read_text(), (two.top / "mine.txt").read_text()) == ("edited\n", "mine\n")


def test_two_clones_on_one_host_that_claim_it_at_once_do_not_both_have_it(one: Repository, two: Repository) -> None:
    before = go_on(one, begun(one), "done\n")
    push_loop(one, before)
    take_up(two, LOOP, PUSHED, held=False)
    claim(one, before)
    with pytest.raises(Fenced):
        claim(two, read_state(two, LOOP)[0])


def test_a_remote_that_was_removed_meanwhile_tells_nothing_of_another_driver(one: Repository) -> None:
    state = begun(one)
    git(one.common, "remote", "remove", "origin")
    assert travelling.is_ours(one, state)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a remote that takes the call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"git://127.0.0.1:{server.getsockname()[1]}/gone.git"


def test_an_ending_does_not_wait_for_a_remote_that_hangs(
    one: Repository, silent: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(travelling, "SECONDS_AT_AN_END", 0.5)
    state = begun(one)
    git(one.common, "remote", "set-url", "origin", silent)
    assert travelling.is_ours(one, state)
    with left_there(one, LOOP):
        pass
    (told,) = caplog.records
    assert "no answer within 0.5 s" in told.getMessage()
    assert told.exc_info is None


def test_what_the_one_before_wrote_between_a_look_and_a_claim_is_taken_up_once(
    one: Repository, two: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, late = begun(one), Late(lambda: push_loop(one, go_on(one, state, "late\n")))
    monkeypatch.setattr(driving, "claim", late)
    monkeypatch.setattr(driving, "require_results", lambda _: False)
    take_up(two, LOOP, PUSHED, held=False)
    ensure_worktree(two, tree(two, state), BRANCH, state.head)
    found = driving.claimed(str(two.top), read_state(two, LOOP)[0])
    assert (found.iteration, (tree(two, found) / "app.py").read_text()) == (1, "late\n")
    require_ours(two, found)


def test_whoever_was_faster_keeps_the_loop(
    one: Repository, two: Repository, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three, state = machine(remote, "three"), begun(one)
    late = Late(lambda: push_loop(one, replace_state(one, state, state.model_copy(update={"host": three.top.name}), "claimed")))
    monkeypatch.setattr(driving, "claim", late)
    monkeypatch.setattr(driving, "require_results", lambda _: False)
    take_up(two, LOOP, PUSHED, held=False)
    ensure_worktree(two, tree(two, state), BRANCH, state.head)
    with pytest.raises(Fenced):
        driving.claimed(str(two.top), read_state(two, LOOP)[0])
    assert read_ref(remote, state_ref(LOOP)) == read_state(one, LOOP)[1]


def test_a_storage_that_is_away_hinders_only_a_loop_that_travels_and_goes_on(
    one: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(loop: str) -> bool:
        raise WorldError(f"away, {loop}")

    monkeypatch.setattr(driving, "require_results", away)
    state = begun(one)
    here = state.model_copy(update={"config": state.config.model_copy(update={"remote": RemoteConfig()})})
    ended = state.model_copy(
        update={
            "ending": Decision(
                kind=DecisionKind.STOP, outcome=Outcome.CANCELLED, rule="cancelled", reason="r", at=state.updated_at
            )
        }
    )
    assert [driving.claimed(str(one.top), other) for other in (here, ended)] == [here, ended]
    with pytest.raises(WorldError, match="away, loop"):
        driving.claimed(str(one.top), state)
