"""Processes of commands: their end, what is left of them, and their output."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.errors import OperatorError, TransientError
from tasks.system.process import TAG, Excerpt, Lines, end_tagged, run
from tests.fakes.processes import (
    ENV,
    ROOT,
    SOON,
    STUBBORN,
    eventually,
    run_driver,
    sh,
    sleeper,
    sleeping_pids,
    start_driver,
    tagged_pids,
)

STREAMS = st.lists(st.binary(max_size=9) | st.sampled_from([b"\n", b"a\n", b"\n\n"]), max_size=12)


def test_a_command_that_ends_by_itself_gives_its_exit_code_and_both_streams(tag: str) -> None:
    ended = sh("echo out; echo err >&2; exit 3", tag)
    assert (ended.exit_code, ended.by) == (3, "itself")
    assert (ended.head, ended.tail, ended.stderr, ended.output_bytes) == ("out\n", "", "err\n", 4)


def test_a_command_that_died_of_a_signal_has_a_negative_exit_code(tag: str) -> None:
    assert sh("kill -SEGV $$", tag).exit_code == -signal.SIGSEGV


@pytest.mark.feature("E5")
def test_the_deadline_ends_a_command_that_goes_on_talking(tag: str) -> None:
    ended = sh("while :; do echo again; sleep 0.1; done", tag, deadline=1, idle=SOON)
    assert (ended.by, ended.exit_code) == ("deadline", -signal.SIGTERM)
    assert 1 <= ended.seconds < SOON


@pytest.mark.feature("E5")
def test_silence_ends_a_command_long_before_its_deadline(tag: str) -> None:
    ended = sh("echo once; sleep 300", tag, idle=1)
    assert (ended.by, ended.head) == ("idle", "once\n")
    assert 1 <= ended.seconds < SOON


@pytest.mark.feature("E5")
def test_output_on_stderr_counts_as_activity(tag: str) -> None:
    ended = sh("for i in 1 2 3 4 5 6; do echo $i >&2; sleep 0.5; done", tag, idle=2.5)
    assert (ended.by, ended.exit_code) == ("itself", 0)
    assert ended.seconds > 2.5


def test_a_slow_reader_is_not_the_silence_of_the_command(tag: str) -> None:
    ended = sh("echo one; sleep 0.2; echo two; sleep 0.2", tag, idle=1, on_line=lambda _: time.sleep(1.5))
    assert ended.by == "itself"


@pytest.mark.feature("E5")
def test_a_command_is_stopped_when_asked(tag: str) -> None:
    asked = threading.Event()
    ended = sh("echo ready; sleep 300", tag, on_line=lambda _: asked.set(), stop=asked.is_set)
    assert (ended.by, ended.exit_code) == ("stop", -signal.SIGTERM)
    assert ended.seconds < SOON


@pytest.mark.feature("E5")
def test_a_command_that_ignores_term_is_killed_after_the_grace(tag: str) -> None:
    ended = sh(STUBBORN, tag, deadline=1, grace=1)
    assert (ended.by, ended.exit_code) == ("deadline", -signal.SIGKILL)
    assert ended.seconds >= 2


def test_the_last_output_of_a_terminated_command_is_read(tag: str) -> None:
    ended = sh("trap 'echo bye; exit 7' TERM; echo hello; while :; do sleep 0.1; done", tag, deadline=1, grace=SOON)
    assert (ended.by, ended.exit_code, ended.head) == ("deadline", 7, "hello\nbye\n")


def test_a_command_that_closes_its_output_is_still_waited_for(tag: str) -> None:
    assert sh("exec >&- 2>&-; sleep 0.5; exit 4", tag).exit_code == 4


# --- what it leaves behind


@pytest.mark.feature("E5")
@pytest.mark.parametrize(
    "child",
    [
        pytest.param("{} &", id="in-the-same-group"),
        pytest.param("env -i {} &", id="in-the-same-group-without-the-tag"),
        pytest.param("setsid {} &", id="in-its-own-session"),
        pytest.param("setsid sh -c '{0} & {0}' &", id="in-its-own-session-with-children"),
        pytest.param("setsid {} >/dev/null 2>&1 &", id="without-our-pipes"),
    ],
)
def test_a_background_child_is_gone_after_a_normal_end_and_does_not_hold_it_up(child: str, tag: str) -> None:
    ended = sh(f"{child.format(sleeper(tag))} echo done", tag, deadline=60, grace=60)
    assert (ended.by, ended.exit_code, ended.head) == ("itself", 0, "done\n")
    assert ended.seconds < SOON
    assert not sleeping_pids(tag)


@pytest.mark.feature("E5")
def test_a_child_that_is_just_being_started_when_its_parent_ends_does_not_slip_through(tag: str) -> None:
    for _ in range(20):
        sh("setsid sleep 300 >/dev/null 2>&1 & exit", tag)
        assert not tagged_pids(tag)


def test_an_unreaped_zombie_does_not_block(tag: str) -> None:
    code = """
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        os._exit(0)  # a zombie in the group of the command, whose parent ...
    os.setsid()
    time.sleep(300)  # ... has left it and goes on
"""
    ended = run([sys.executable, "-c", code], cwd=ROOT, env=ENV, tag=tag, deadline=60, grace=60)
    assert ended.by == "itself"
    assert ended.seconds < SOON


@pytest.mark.feature("E5")
def test_a_stubborn_child_in_its_own_session_is_gone_after_a_stop(tag: str) -> None:
    asked = threading.Event()
    sh(f'setsid sh -c "{STUBBORN}" & wait', tag, grace=1, on_line=lambda _: asked.set(), stop=asked.is_set)
    assert not tagged_pids(tag)


@pytest.mark.feature("E5")
def test_an_exception_in_the_reader_ends_the_command_and_comes_through(tag: str) -> None:
    def refuse(_: bytes) -> None:
        raise LookupError("not mine")

    with pytest.raises(LookupError, match="not mine"):
        sh("setsid sleep 300 & echo ready; sleep 300", tag, on_line=refuse)
    assert not tagged_pids(tag)


@pytest.mark.feature("E5")
def test_ctrl_c_ends_the_command_and_comes_through(tag: str) -> None:
    code = """
try:
    run(["sh", "-c", "setsid sleep 300 & echo; sleep 300"], cwd=here, env=env, tag=tag, deadline=60,
        on_start=lambda pid: print(pid, flush=True))
except KeyboardInterrupt:
    print("interrupted")
"""
    with start_driver(code, tag) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=SOON)[0] == "interrupted\n"
    assert not tagged_pids(tag)


def test_the_supervisor_holds_none_of_our_own_output_open(tag: str) -> None:
    code = f"""
run(["sh", "-c", "{STUBBORN}"], cwd=here, env=env, tag=tag, deadline=60, grace=3,
    on_line=lambda line: os.kill(os.getpid(), signal.SIGKILL))
"""
    with start_driver(code, tag) as process:
        process.communicate(timeout=100)
        assert tagged_pids(tag)
    assert eventually(lambda: not tagged_pids(tag))


# --- what cannot be started


@pytest.mark.parametrize(
    ("argv", "directory", "found"),
    [
        (["no-such-command"], ".", "No such file"),
        (["./data"], ".", "Permission denied"),
        (["true"], "missing", "missing"),
        (["true"], "data", "Not a directory"),
        (["true", "a\0b"], ".", "null byte"),
        (["true", "x" * 2**18], ".", "Argument list too long"),
    ],
)
def test_a_command_that_cannot_be_started_is_the_operators_error(
    argv: list[str], directory: str, found: str, tag: str, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(OperatorError) as caught:
        run(argv, cwd=tmp_path / directory, env=ENV, tag=tag, deadline=60)
    assert found in caught.value.found
    assert caught.value.remedy


# --- by tag


@pytest.mark.feature("E5", "E9")
def test_processes_are_ended_by_their_tag_and_only_by_theirs(tag: str) -> None:
    names = (f"{tag}/1", f"{tag}/1", f"{tag}/10", f"{tag}-other")
    sleeping_pids = [subprocess.Popen(["sleep", "300"], env=ENV | {TAG: name}) for name in names]
    assert end_tagged(f"{tag}/1") == 2
    assert [one.poll() for one in sleeping_pids] == [-signal.SIGTERM, -signal.SIGTERM, None, None]
    assert end_tagged(f"{tag}/", prefix=True) == 1
    assert end_tagged(tag, prefix=True) == 1
    assert end_tagged(tag, prefix=True) == 0
    assert [one.wait() for one in sleeping_pids] == [-signal.SIGTERM] * 4


def test_a_process_is_found_while_it_replaces_itself_by_another_program(tag: str) -> None:
    again = 'exec sh -c "$0" "$0" "$@"'
    many = ["0"] * 100_000  # in an execve of so many arguments the environment is empty for some of the time
    for _ in range(20):
        with subprocess.Popen(["sh", "-c", again, again, *many], env=ENV | {TAG: tag}):
            assert end_tagged(tag) == 1


def test_the_one_who_ends_by_tag_is_spared(tag: str) -> None:
    code = "import subprocess\n"
    code += f"child = subprocess.Popen(['sleep', '300'])\nprint(end_tagged({tag!r}), child.wait())"
    process = subprocess.run(
        [sys.executable, "-c", f"from tasks.system.process import end_tagged\n{code}"],
        env=ENV | {"PYTHONPATH": str(ROOT), TAG: tag},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.split() == ["1", str(-signal.SIGTERM)]


def test_the_environment_is_exactly_what_was_given_and_the_tag(tag: str) -> None:
    ended = run(["/usr/bin/env"], cwd=ROOT, env={"A": "b c"}, tag=tag, deadline=60)
    assert sorted(ended.head.splitlines()) == ["A=b c", f"{TAG}={tag}"]


def test_a_prompt_of_a_megabyte_arrives_whole(tag: str) -> None:
    ended = run(["cat"], cwd=ROOT, env=ENV, tag=tag, deadline=60, stdin=b"x" * 2**20 + b"end")
    assert (ended.output_bytes, ended.tail[-4:]) == (2**20 + 3, "xend")


@pytest.mark.feature("E5")
@pytest.mark.parametrize("start", ["true", "head -c 10000 >/dev/null"])
def test_a_prompt_that_is_not_read_to_its_end_holds_nothing_up(start: str, tag: str) -> None:
    prompt = b"x" * 2**20
    asleep = run(["sh", "-c", f"{start}; sleep 300"], cwd=ROOT, env=ENV, tag=tag, deadline=1, stdin=prompt)
    assert asleep.by == "deadline"
    ended = run(["sh", "-c", start], cwd=ROOT, env=ENV, tag=tag, deadline=60, stdin=prompt)
    assert (ended.by, ended.exit_code) == ("itself", 0)


def test_a_command_without_a_prompt_reads_an_end_of_file(tag: str) -> None:
    assert run(["cat"], cwd=ROOT, env=ENV, tag=tag, deadline=60).by == "itself"


def test_merged_streams_keep_their_order(tag: str) -> None:
    ended = run(["sh", "-c", "echo 1; echo 2 >&2; echo 3"], cwd=ROOT, env=ENV, tag=tag, deadline=60, merge_stderr=True)
    assert (ended.head, ended.stderr) == ("1\n2\n3\n", "")


def test_lines_come_without_their_newlines_and_the_last_one_needs_none(tag: str) -> None:
    lines: list[bytes] = []
    sh(r"printf 'one\n\ntwo\r\nthree'", tag, on_line=lines.append)
    assert lines == [b"one", b"", b"two\r", b"three"]


@pytest.mark.feature("X4")
def test_broken_utf_8_is_replaced_in_the_excerpt_and_kept_in_line_and_file(tag: str, tmp_path: Path) -> None:
    lines: list[bytes] = []
    file = tmp_path / "output"
    command = ["printf", r"a\377b\n"]
    ended = run(command, cwd=ROOT, env=ENV, tag=tag, deadline=60, merge_stderr=True, output_file=file, on_line=lines.append)
    assert (ended.head, lines, file.read_bytes()) == ("a\ufffdb\n", [b"a\xffb"], b"a\xffb\n")


@pytest.mark.feature("X4")
def test_the_head_and_tail_of_a_long_output_are_kept_and_the_file_has_it_all(tag: str, tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("before\n")
    ended = run(["seq", "100000"], cwd=ROOT, env=ENV, tag=tag, deadline=60, output_file=file, keep=10)
    assert (ended.head, ended.tail) == ("1\n2\n3\n4\n5\n", "99\n100000\n")
    assert file.read_text() == "before\n" + "".join(f"{number}\n" for number in range(1, 100001))


@pytest.mark.feature("X4")
def test_a_flood_on_stderr_is_cut_in_the_middle(tag: str) -> None:
    ended = run(["sh", "-c", "seq 100000 >&2"], cwd=ROOT, env=ENV, tag=tag, deadline=60, keep=20)
    assert ended.stderr == "1\n2\n3\n4\n5\n\n[588875 bytes left out]\n99\n100000\n"


@pytest.mark.feature("X4")
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize(
    ("command", "size", "megabytes"),
    [
        pytest.param("yes $(seq 100) | head -c 200000000", 200_000_000, 8, id="many-lines"),
        pytest.param("head -c 300000000 /dev/zero", 300_000_000, 80, id="one-line"),
    ],
)
def test_a_huge_output_leaves_our_memory_flat(command: str, size: int, megabytes: int, tag: str, tmp_path: Path) -> None:
    code = f"""
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
def go(command):
    longest = 0
    def measure(line):
        nonlocal longest
        longest = max(longest, len(line))
    file = Path({str(tmp_path)!r}) / "output"
    ended = run(["sh", "-c", command], cwd=here, env=env, tag=tag, deadline=90, output_file=file, on_line=measure)
    return ended.output_bytes, longest
go("seq 100000")
before = peak()
print(*go({command!r}), peak() - before)
"""
    output_bytes, longest, grown = map(int, run_driver(code, tag).split())
    assert output_bytes == size
    assert longest <= 16 * 2**20
    assert grown < megabytes


@pytest.mark.feature("X4")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_the_worlds_error_and_ends_the_command(tag: str) -> None:
    with pytest.raises(TransientError, match="No space left"):
        run(["yes"], cwd=ROOT, env=ENV, tag=tag, deadline=60, output_file=Path("/dev/full"))
    assert not tagged_pids(tag)


@pytest.mark.feature("X4")
def test_received_output_survives_our_own_kill(tag: str, tmp_path: Path) -> None:
    code = f"""
run(["sh", "-c", "echo paid for; sleep 300"], cwd=here, env=env, tag=tag, deadline=60, grace=1,
    output_file=Path({str(tmp_path)!r}) / "output", on_line=lambda line: os.kill(os.getpid(), signal.SIGKILL))
"""
    with start_driver(code, tag) as process:
        process.communicate(timeout=100)
    assert (tmp_path / "output").read_text() == "paid for\n"
    assert eventually(lambda: not tagged_pids(tag))


@pytest.mark.feature("X4")
@given(chunks=STREAMS, longest=st.integers(1, 12))
def test_lines_are_the_same_however_the_stream_was_cut(chunks: list[bytes], longest: int) -> None:
    seen: list[bytes] = []
    lines = Lines(seen.append, longest)
    for chunk in chunks:
        lines.add(chunk)
    lines.finish()
    whole = b"".join(chunks).split(b"\n")
    expected = whole if whole[-1] else whole[:-1]
    assert seen == [line[:longest] for line in expected]


@pytest.mark.feature("X4")
@given(chunks=STREAMS, keep=st.integers(0, 12))
def test_an_excerpt_is_the_first_and_the_last_bytes_without_overlap(chunks: list[bytes], keep: int) -> None:
    excerpt = Excerpt(keep)
    for chunk in chunks:
        excerpt.add(chunk)
    stream = b"".join(chunks)
    rest = stream[keep:]
    assert excerpt.total == len(stream)
    assert excerpt.head == stream[:keep].decode(errors="replace")
    assert excerpt.tail == rest[max(0, len(rest) - keep) :].decode(errors="replace")


def test_a_text_that_fits_is_whole_even_where_a_character_lies_across_the_middle() -> None:
    excerpt = Excerpt(3)
    excerpt.add("abéde".encode())
    assert excerpt.text == "abéde"
