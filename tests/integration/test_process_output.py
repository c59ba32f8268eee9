"""What goes into a command and what comes out of it: whole where it must be, bounded where it may be huge."""

import sys
from pathlib import Path

import pytest

from helmsman.errors import TransientError
from tasks.system.process import TAG, run
from tests.fakes.processes import ENV, ROOT, eventually, run_driver, sh, start_driver, tagged_pids


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
def test_output_that_has_come_survives_our_own_death(tag: str, tmp_path: Path) -> None:
    code = f"""
run(["sh", "-c", "echo paid for; sleep 300"], cwd=here, env=env, tag=tag, deadline=60, grace=1,
    output_file=Path({str(tmp_path)!r}) / "output", on_line=lambda line: os.kill(os.getpid(), signal.SIGKILL))
"""
    with start_driver(code, tag) as process:
        process.communicate(timeout=100)
    assert (tmp_path / "output").read_text() == "paid for\n"
    assert eventually(lambda: not tagged_pids(tag))
