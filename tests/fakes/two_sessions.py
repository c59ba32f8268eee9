"""A goal that a scripted agent reaches in two sessions: the first does half, and commits only a part of that.

A session depends only on the prompt, so that a repeated attempt does the same.
"""

from deployments.demo_model import Request, Turn, bash, call, say

LOOP = "write-answer"
CHECK = "sleep 0.5 && test -s one.txt -a -s two.txt -a -s three.txt"
GOAL = "one.txt, two.txt and three.txt hold something"

HOLDING = "while test -e ~/hold"
"""In the command of the tool that a session stays in for as long as the agent's home has a file `hold`."""

SESSIONS = {
    1: (
        call(bash("echo one > one.txt && git add one.txt && git commit --quiet --message 'Half of it'")),
        call(bash("echo two > two.txt; setsid sleep 300 > /dev/null 2>&1 &")),
        call(bash(f"touch ~/held; {HOLDING}; do sleep 0.1; done")),
        say("Half of it is done, and I take that for all of it.\n<promise>COMPLETE</promise>"),
    ),
    2: (
        call(bash("echo three > three.txt && git add three.txt && git commit --quiet --message 'The rest'")),
        say("All of it is done.\n<promise>COMPLETE</promise>"),
    ),
}
"""By iteration. The first leaves a process behind that has left every process group."""

SENT_BACK = 2
"""Times that the first session is sent back from its end, because it says that it is done while the check fails."""
TWO_WHOLE_SESSIONS = [(1, len(SESSIONS[1]) + SENT_BACK), (2, len(SESSIONS[2]))]
"""Iteration and number of requests of each, where nothing disturbs them."""


def iteration_of(request: Request) -> int:
    return 2 if "Iteration 2 of " in request.prompt else 1


def script(request: Request) -> Turn:
    turns = SESSIONS[iteration_of(request)]
    return turns[min(request.turn, len(turns) - 1)]
