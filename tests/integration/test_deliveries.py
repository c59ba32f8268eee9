"""Deliveries of pushes are kept until their runs are known, and start loops in every kind of repository."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import TransientError
from helmsman.records.triggers import Push
from tasks.loop.recover import repair
from tasks.repository.loop_context import loop_context
from tasks.triggers.deliveries import FORGET_AFTER, Deliveries
from tests.fakes.processes import ROOT
from tests.fakes.push_receiver import ServedRepository
from tests.fakes.repositories import make_repository, sh
from tests.integration.test_pushed import CONFIGURATION, push_of, served, started

__all__ = ["served"]

pytestmark = pytest.mark.feature("D2")

NOW = datetime(2026, 11, 22, tzinfo=UTC)
RACER = """
import sys
from pathlib import Path
from tasks.triggers.deliveries import Deliveries
from helmsman.records.triggers import Push
from datetime import datetime
push = Push.model_validate_json(sys.argv[2])
deliveries = Deliveries(Path(sys.argv[1]))
sys.stdin.read()
new = 0
for number in range(40):
    one = push.model_copy(update={"commit": f"{number + 1:040x}"})
    new += len(deliveries.accept(f"{sys.argv[3]}-{number}", [one], push.received_at))
print(new)
"""


def push(commit: str = "a1" * 20, **changes: Any) -> Push:
    known = {"repository": "name", "location": "/srv/name.git", "branch": "main", "source": "git", "delivery": "delivery-1"}
    return Push.model_validate({**known, "commit": commit, "received_at": NOW, **changes})


@pytest.fixture
def deliveries(tmp_path: Path) -> Deliveries:
    return Deliveries(tmp_path / "state" / "deliveries.sqlite")


def test_a_push_waits_until_its_run_is_known(deliveries: Deliveries) -> None:
    first, second = push("a1" * 20), push("b2" * 20)
    assert deliveries.accept("one", [first], NOW) == [first]
    assert deliveries.accept("two", [second], NOW + timedelta(seconds=1)) == [second]
    assert deliveries.waiting() == [first, second]
    deliveries.started(first, "a-run")
    assert deliveries.waiting() == [second]


def test_a_delivery_counts_once_and_a_commit_once_by_whichever_delivery(deliveries: Deliveries) -> None:
    deliveries.accept("one", [push()], NOW)
    assert deliveries.accept("one", [push("b2" * 20)], NOW) == []
    assert deliveries.accept("two", [push(source="github"), push("c3" * 20)], NOW) == [push("c3" * 20)]
    deliveries.started(push(), "a-run")
    assert deliveries.accept("three", [push()], NOW) == []
    assert deliveries.waiting() == [push("c3" * 20)]


def test_old_deliveries_are_deleted(deliveries: Deliveries, tmp_path: Path) -> None:
    deliveries.accept("one", [push()], NOW)
    deliveries.started(push(), "a-run")
    deliveries.accept("two", [], NOW + FORGET_AFTER)
    assert deliveries.accept("one", [push()], NOW + FORGET_AFTER) == []
    later = NOW + FORGET_AFTER + timedelta(seconds=1)
    assert deliveries.accept("one", [push()], later) == [push()]
    with sqlite3.connect(tmp_path / "state" / "deliveries.sqlite") as database:
        assert database.execute("SELECT count(*) FROM deliveries").fetchone() == (2,)


def test_what_waits_for_its_run_is_never_forgotten(deliveries: Deliveries) -> None:
    deliveries.accept("one", [push()], NOW)
    deliveries.accept("two", [push("b2" * 20)], NOW + 2 * FORGET_AFTER)
    assert deliveries.waiting() == [push(), push("b2" * 20)]


def test_of_several_receivers_at_once_exactly_one_takes_each_push(deliveries: Deliveries, tmp_path: Path) -> None:
    file = str(tmp_path / "state" / "deliveries.sqlite")
    racers = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", RACER, file, push().model_dump_json(), f"racer-{number}"],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
        racer.stdin = None
    told = [racer.communicate(timeout=60)[0] for racer in racers]
    assert sum(map(int, told)) == len(deliveries.waiting()) == 40


def test_a_file_that_cannot_be_used_is_the_world_s_fault(tmp_path: Path) -> None:
    file = tmp_path / "deliveries.sqlite"
    file.write_bytes(b"this is no database at all, and longer than a header" * 20)
    for place in (file, file / "below" / "deliveries.sqlite"):
        with pytest.raises(TransientError, match="webhook deliveries cannot be stored"):
            Deliveries(place)


@pytest.mark.feature("X2")
def test_nobody_else_on_the_machine_may_read_it(deliveries: Deliveries, tmp_path: Path) -> None:
    deliveries.accept("one", [push()], NOW)
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def a_shallow_clone(served: ServedRepository, folder: Path) -> Path:
    served.commit("later", {"later": "1"})
    served.push("main")
    sh(folder, "clone", "--quiet", "--branch=main", "--depth=1", f"file://{served.bare}", "shallow")
    return folder / "shallow"


def a_clone_with_nothing_checked_out(served: ServedRepository, folder: Path) -> Path:
    sh(folder, "clone", "--quiet", str(served.bare), "empty")
    return folder / "empty"


def a_linked_worktree(served: ServedRepository, folder: Path) -> Path:
    sh(served.clone, "worktree", "add", "--quiet", "--detach", str(folder / "linked"))
    return folder / "linked"


def a_bare_repository_with_sha256(_: ServedRepository, folder: Path) -> Path:
    sh(folder, "init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=master", "other.git")
    source = make_repository(folder / "source", {"helmsman.toml": CONFIGURATION}, "--object-format=sha256")
    sh(source, "push", "--quiet", str(folder / "other.git"), "HEAD:refs/heads/main")
    return folder / "other.git"


@pytest.mark.parametrize(
    "make", [a_shallow_clone, a_clone_with_nothing_checked_out, a_linked_worktree, a_bare_repository_with_sha256]
)
def test_a_push_starts_a_loop_in_every_kind_of_repository(
    make: Callable[[ServedRepository, Path], Path], served: ServedRepository, tmp_path: Path
) -> None:
    where = make(served, tmp_path)
    commit = sh(where, "for-each-ref", "--count=1", "--format=%(objectname)", "refs/heads/main", "refs/remotes/origin/main")
    state = started(push_of(served, commit, location=str(where)))
    ready = repair(loop_context(str(where), state), state)
    assert (loop_context(str(where), ready).worktree / "helmsman.toml").read_text() == CONFIGURATION
