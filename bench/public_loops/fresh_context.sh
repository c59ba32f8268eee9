#!/usr/bin/env bash
# The widespread loop: a fresh session of the agent again and again until its last words promise that it is done.
# Usage: fresh_context.sh AGENT PROMPT_FILE MOST
set -u
for _ in $(seq "$3"); do
	said=$("$1" -p --dangerously-skip-permissions < "$2")
	case "$said" in *'<promise>COMPLETE</promise>'*) exit 0 ;; esac
done
exit 1
