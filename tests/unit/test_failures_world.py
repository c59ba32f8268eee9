"""What the CLI, the shell, git, the network and programs themselves refuse is read as a class and a place."""

# ruff: noqa: E501, RUF001 - outputs stand as tools print them

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails import Rule, ToolCall
from helmsman.guardrails.failure_patterns import FailureState, fold_edit, fold_failure, fold_success, stuck_reason
from helmsman.parsers.failures import failure_of
from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.agent import FailureClass as Class

pytestmark = pytest.mark.feature("A3")

A = "/nest/dev/src/a.py"
CLI = [
    (Class.EDIT, "Edit", A, "<tool_use_error>String to replace not found in file.\nString: x = 1</tool_use_error>", A),
    (Class.EDIT, "Edit", A, "File has not been read yet. Read it first before writing to it.", A),
    (Class.EDIT, "Edit", A, "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.", A),
    (Class.EDIT, "Edit", A, "Found 3 matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true.", A),
    (Class.USAGE, "Bash", "", "<tool_use_error>InputValidationError: Bash failed due to the following issue:\nThe required parameter `command` is missing</tool_use_error>", "Bash"),
    (Class.USAGE, "Read", "/nest/dev", "EISDIR: illegal operation on a directory, read", "/nest/dev"),
    (Class.USAGE, "Read", "/nest/dev/big.txt", "File content (31234 tokens) exceeds maximum allowed tokens (25000). Use offset and limit parameters.", "/nest/dev/big.txt"),
    (Class.MISSING_FILE, "Read", "/nest/dev/b.py", "File does not exist. Note: your current working directory is /nest/dev.", "/nest/dev/b.py"),
    (Class.PERMISSION, "Bash", "touch x", "Permission to use Bash has been denied because Claude Code is running in don't ask mode.", "touch"),
    (Class.PERMISSION, "Write", "/etc/x", "Claude requested permissions to write to /etc/x, but you haven't granted it yet.", "/etc/x"),
    (Class.OTHER, "Bash", "git push", "PreToolUse:Bash hook error: [guard]: `git push` is the loop's own work", "denied"),
    (Class.OTHER, "Bash", "sleep 9", "The user doesn't want to proceed with this tool use. The tool use was rejected", "denied"),
    (Class.TIMEOUT, "Bash", "pytest -q", "Exit code 143\nCommand timed out after 2m 0.0s\n....F", "pytest"),
]  # fmt: skip

EXITS = [
    (Class.TIMEOUT, "python serve.py", 143, "listening", "python"),
    (Class.TIMEOUT, "timeout 5 ./run.sh", 124, "", "run.sh"),
    (Class.RESOURCES, "python big.py", 137, "", "python"),
    (Class.MISSING_COMMAND, "foo --bar", 127, "/bin/bash: line 1: foo: command not found", "foo"),
    (Class.MISSING_COMMAND, "make lint", 2, "/bin/sh: 1: golint: not found\nmake: *** [Makefile:3: lint] Error 127", "golint"),
    (Class.MISSING_COMMAND, "./run.sh", 127, "/usr/bin/env: ‘node’: No such file or directory", "node"),
    (Class.MISSING_COMMAND, "make", 2, "make: gcc: No such file or directory\nmake: *** [Makefile:2: a] Error 127", "gcc"),
    (Class.MISSING_COMMAND, "cargo nextest run", 101, "error: no such command: `nextest`\n\nhelp: view all installed commands with `cargo --list`", "nextest"),
    (Class.PERMISSION, "./run.sh", 126, "/bin/bash: line 1: ./run.sh: Permission denied", "./run.sh"),
    (Class.EXCEPTION, "./a.out", 139, "/bin/bash: line 1: 34567 Segmentation fault      (core dumped) ./a.out", "a.out"),
    (Class.EXCEPTION, "./a.out", 134, "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no\nAborted (core dumped)", "a.out"),
    (Class.OTHER, "grep -q x a.py", 1, "", "grep"),
]  # fmt: skip

TRACE = 'Traceback (most recent call last):\n  File "/nest/dev/app.py", line 7, in main\n    go()\n  File "/somewhere/site-packages/lib.py", line 99, in go\n    raise\n'
REFUSALS = [
    (Class.RESOURCES, "npm run build", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "npm"),
    (Class.RESOURCES, "python a.py", f"{TRACE}OSError: [Errno 24] Too many open files: 'x'", "/nest/dev/app.py:7"),
    (Class.RESOURCES, "python a.py", f"{TRACE}MemoryError", "/nest/dev/app.py:7"),
    (Class.RESOURCES, "make -j64", "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.", "make"),
    (Class.TIMEOUT, "python a.py", f"{TRACE}subprocess.TimeoutExpired: Command '['x']' timed out after 5 seconds", "/nest/dev/app.py:7"),
    (Class.TIMEOUT, "go test ./...", "panic: test timed out after 10m0s\nrunning tests:\n\tTestSlow (10m0s)\nFAIL\texample.com/a\t600.0s", "example.com/a"),
    (Class.PERMISSION, "git push", "git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.", "git"),
    (Class.PERMISSION, "npm i -g x", "npm error code EACCES\nnpm error syscall mkdir\nnpm error path /usr/lib/node_modules", "npm"),
    (Class.PERMISSION, "python a.py", f"{TRACE}PermissionError: [Errno 13] Permission denied: '/somewhere/x'", "/nest/dev/app.py:7"),
    (Class.PERMISSION, "sudo apt install x", "sudo: a password is required", "apt"),
    (Class.GIT, "git merge main", "Auto-merging a.py\nCONFLICT (content): Merge conflict in src/a.py\nAutomatic merge failed; fix conflicts and then commit the result.", "src/a.py"),
    (Class.GIT, "git commit -m x", "On branch main\nnothing to commit, working tree clean", "git"),
    (Class.GIT, "git checkout nosuch", "error: pathspec 'nosuch' did not match any file(s) known to git", "nosuch"),
    (Class.GIT, "git status", "fatal: not a git repository (or any of the parent directories): .git", "git"),
    (Class.GIT, "git push", "To example.com:x/y.git\n ! [rejected]        main -> main (non-fast-forward)\nerror: failed to push some refs to 'example.com:x/y.git'", "git"),
    (Class.GIT, "git apply a.patch", "error: patch failed: src/a.py:3\nerror: src/a.py: patch does not apply", "git"),
    (Class.GIT, "git commit -m x", "fatal: Unable to create '/nest/dev/.git/index.lock': File exists.", "git"),
    (Class.NETWORK, "git fetch", "fatal: unable to access 'https://git.example/x.git/': Could not resolve host: git.example", "git.example"),
    (Class.NETWORK, "curl localhost:8080", "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server", "localhost"),
    (Class.NETWORK, "curl https://a.example", "curl: (60) SSL certificate problem: self-signed certificate", "curl"),
    (Class.NETWORK, "pip install x", "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution': /simple/x/\nERROR: No matching distribution found for x", "pip"),
    (Class.NETWORK, "node a.js", "Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1606:16)", "127.0.0.1"),
    (Class.NETWORK, "docker ps", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "docker"),
    (Class.NETWORK, "go run .", "2026/01/02 10:11:12 dial tcp 127.0.0.1:5432: connect: connection refused\nexit status 1", "127.0.0.1"),
    (Class.MISSING_FILE, "cat nosuch.txt", "cat: nosuch.txt: No such file or directory", "nosuch.txt"),
    (Class.MISSING_FILE, "head -5 x", "head: cannot open 'x' for reading: No such file or directory", "x"),
    (Class.USAGE, "cp a.c", "cp: missing destination file operand after 'a.c'\nTry 'cp --help' for more information.", "cp"),
    (Class.MISSING_FILE, "python a.py", f"{TRACE}FileNotFoundError: [Errno 2] No such file or directory: 'x.json'", "/nest/dev/app.py:7"),
    (Class.MISSING_FILE, "pytest tests/x.py", "ERROR: file or directory not found: tests/x.py\n\nno tests ran in 0.00s", "tests/x.py"),
    (Class.MISSING_FILE, "gcc a.c", "a.c:1:10: fatal error: foo.h: No such file or directory\ncompilation terminated.", "a.c:1"),
    (Class.MISSING_FILE, "npm test", "npm error code ENOENT\nnpm error syscall open\nnpm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/nest/app/package.json'", "/nest/app/package.json"),
    (Class.MISSING_FILE, "cargo build", "error: could not find `Cargo.toml` in `/nest/app` or any parent directory", "Cargo.toml"),
    (Class.MISSING_FILE, "make", "make: *** No targets specified and no makefile found.  Stop.", "make"),
    (Class.USAGE, "pytest --foo", "ERROR: usage: pytest [options] [file_or_dir] [file_or_dir] [...]\npytest: error: unrecognized arguments: --foo\n  inifile: None", "pytest"),
    (Class.USAGE, "python cli.py zip", "usage: cli.py [-h] {a,b}\ncli.py: error: argument cmd: invalid choice: 'zip' (choose from 'a', 'b')", "python"),
    (Class.USAGE, "git log --foo", "fatal: unrecognized argument: --foo", "git"),
    (Class.USAGE, "npm run nosuch", 'npm error Missing script: "nosuch"\nnpm error\nnpm error To see a list of scripts, run:', "nosuch"),
    (Class.USAGE, "make nosuch", "make: *** No rule to make target 'nosuch'.  Stop.", "nosuch"),
    (Class.USAGE, "cargo test --foo", "error: unexpected argument '--foo' found\n\nUsage: cargo test [OPTIONS]", "cargo"),
    (Class.USAGE, "rm build", "rm: cannot remove 'build': Is a directory", "rm"),
    (Class.EXCEPTION, "python a.py", f"{TRACE}ValueError: invalid literal for int() with base 10: 'x'", "/nest/dev/app.py:7"),
    (Class.EXCEPTION, "python a.py", f"{TRACE}KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACE}app.errors.Broken: too many arguments", "/nest/dev/app.py:7"),
    (Class.EXCEPTION, "node a.js", "/nest/app/a.js:3\n  x.foo();\n    ^\n\nTypeError: Cannot read properties of undefined (reading 'foo')\n    at main (/nest/app/a.js:3:5)\n    at node:internal/main/run_main_module:28:49\n\nNode.js v22.3.0", "/nest/app/a.js:3"),
    (Class.EXCEPTION, "cargo run", "thread 'main' panicked at src/main.rs:3:5:\nindex out of bounds: the len is 3 but the index is 9", "src/main.rs:3"),
    (Class.EXCEPTION, "go run .", "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/nest/app/main.go:8 +0x1d\nexit status 2", "/nest/app/main.go:8"),
    (Class.EXCEPTION, "java A", 'Exception in thread "main" java.lang.NullPointerException: x is null\n\tat java.base/java.util.Objects.f(Objects.java:1)\n\tat A.main(A.java:5)', "A.java:5"),
    (Class.EXCEPTION, "ruby a.rb", "a.rb:3:in `foo': undefined method `bar' for nil:NilClass (NoMethodError)\n\tfrom a.rb:6:in `<main>'", "a.rb:3"),
    (Class.EXCEPTION, "dotnet run", "Unhandled exception. System.InvalidOperationException: no\n   at Program.Main() in /nest/app/Program.cs:line 4", "/nest/app/Program.cs:4"),
    (Class.EXCEPTION, "php a.php", "PHP Fatal error:  Uncaught Error: Call to undefined function foo() in /nest/app/a.php:3", "/nest/app/a.php:3"),
]  # fmt: skip


CALLS = [
    *CLI,
    *((kind, "Bash", command, f"Exit code {code}\n{output}".rstrip(), where) for kind, command, code, output, where in EXITS),
    *((kind, "Bash", command, f"Exit code 1\n{output}", where) for kind, command, output, where in REFUSALS),
]


def test_what_the_cli_says_an_exit_code_that_says_all_and_what_the_world_refuses_are_told_apart() -> None:
    for kind, tool, detail, output, where in CALLS:
        vector = failure_of(tool, detail, output)
        assert (vector.kind, vector.where) == (kind, where), output
        assert vector.message


Step = ToolCall | tuple[ToolCall, ErrorVector]
EDIT = ToolCall("Edit", {"file_path": "app.py"})
READ = ToolCall("Read", {"file_path": "app.py"})
TEST, BUILD, EDITING = FailureClass.TEST, FailureClass.BUILD, FailureClass.EDIT


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


def fails(command: str = "pytest -q", where: str = "test_one", kind: FailureClass = TEST, extent: int = 1) -> Step:
    call = EDIT if kind is EDITING else bash(command)
    return call, ErrorVector(kind=kind, where=where, message="assert 1 == 2", extent=extent)


def run_session(*steps: Step) -> tuple[FailureState, list[str]]:
    """Calls that succeed, and calls with the error that they fail with."""
    trouble, told = FailureState(), list[str]()
    for step in steps:
        if isinstance(step, ToolCall):
            trouble = fold_success(trouble, step)
        else:
            trouble, said = fold_failure(trouble, *step)
            told += [one.rule for one in said]
    return trouble, told


def different(times: int, *between: Step) -> list[Step]:
    return [step for number in range(times) for step in (fails(f"make {number}", f"part-{number}", BUILD), *between)]


EDITED, B = fails("pytest", "a"), fails("pytest", "b")
LOOKED_AT = [step for _ in range(4) for step in (fails(), EDIT)] + [
    fails(f"pytest -q {flag}") for flag in ("-x", "-vv", "--lf", "-s")
]
MISSED = [fails(f"cat part{number}.py", kind=FailureClass.MISSING_FILE) for number in range(5)]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (different(4), []),
        (different(5), ["failures"]),
        (different(11), ["failures"] * 2),
        ([*different(4), bash("pytest"), *different(4)], []),
        ([step for _ in range(5) for step in (fails(), EDIT)], ["same_failure"]),
        (LOOKED_AT, ["same_failure"]),
        (MISSED, ["failures"]),
        ([fails(kind=EDITING)] * 5, ["failures"]),
        ([EDITED, EDIT, B, EDIT, EDITED, EDIT], []),
        ([EDITED, EDIT, B, EDIT, EDITED, EDIT, B, EDIT, EDITED], ["alternating"]),
    ],
)
def test_a_stuck_session_gets_each_advice_once_per_occasion(steps: list[Step], told: list[Rule]) -> None:
    assert run_session(*steps)[1] == told


TURNS = [(left, name) for left in range(12, 0, -1) for name in ("tsc", "pytest")]


@pytest.mark.parametrize(
    ("steps", "in_row"),
    [
        ([step for number in range(20) for step in (fails(where=f"test_{number}"), EDIT)], 1),
        ([step for left in range(20, 0, -1) for step in (fails(extent=left), EDIT)], 1),
        ([fails(f"sed -i s/a/b{number}/ a.go && go build ./...", f"{number}", BUILD) for number in range(20)], 1),
        ([step for _ in range(20) for step in (fails(kind=EDITING), READ, EDIT)], 0),
        ([step for left, name in TURNS for step in (fails(name, f"last of {name}", extent=left), EDIT)], 1),
        ([fails(f"grep -rn word{number} .", kind=FailureClass.OTHER) for number in range(20)], 0),
        ([step for n in range(2) for name in ("make", "pytest") for step in (fails(name, f"{name}-{n}"), EDIT)], 1),
    ],
    ids=["refactoring", "fewer fail", "changed by the command", "edits that miss", "two checks", "searches", "further each time"],
)
def test_slow_progress_gets_no_advice(steps: list[Step], in_row: int) -> None:
    trouble, told = run_session(*steps)
    assert (told, trouble.in_row) == ([], in_row)


def advice_on_edits(contents: str) -> list[str]:
    """Contents that a file is found with before one edit after the other."""
    trouble, told = FailureState(), list[str]()
    for content in contents:
        trouble, said = fold_edit(trouble, "app.py", content)
        told += [one.rule for one in said if "app.py" in one.text and "a third one" in one.text]
    return told


def test_a_file_that_alternates_between_two_contents_gets_advice() -> None:
    """Prints that are put in and taken out again do not, nor edits that are heard of late."""
    quiet = ("aba", "a1a2a3a", "aabbc", "abcdefghijklmnopqrstuvwxyz0123456789")
    assert [advice_on_edits(contents) for contents in quiet] == [[]] * 4
    assert advice_on_edits("abab") == ["reverted"]


def test_a_session_counts_as_stuck_after_three_times_the_limit() -> None:
    assert stuck_reason(run_session(*different(14))[0]) == ""
    assert stuck_reason(run_session(*different(15))[0]) == "15 tool calls failed one after the other (15 are allowed)"


@pytest.mark.parametrize("kind", FailureClass)
def test_advice_ends_with_a_remedy_and_quotes_only_bounded_printable_text(kind: FailureClass) -> None:
    ugly = ErrorVector(kind=kind, where="\x1b[2J\n" * 1000, message="\0" * 5000)
    (advice,) = fold_failure(run_session(*different(4))[0], bash("x"), ugly)[1]
    assert len(advice.text.partition("that tests it. ")[2]) > 20
    assert (advice.text.isprintable(), len(advice.text) < 1000) == (True, True)


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=3))))
def test_the_failure_state_is_bounded(edits: list[tuple[str, str]]) -> None:
    trouble = FailureState()
    for path, content in edits * 20:
        trouble, _ = fold_edit(trouble, path, content)
    assert len(trouble.versions) <= 100
    assert all(len(one) <= 20 for one in trouble.versions.values())
