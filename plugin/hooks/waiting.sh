# Which loops of the repository that the session stands in wait for an answer. It reads git alone, because starting `helmsman`
# would take a second of every session. Silent where nothing waits, where git or the repository is missing, and inside of a
# loop's own agent. Names alone are told: a question may hold words of an agent, and would be read here as somebody's orders.
[ -z "${HELMSMAN_DEPTH:-}" ] || exit 0
export GIT_NO_LAZY_FETCH=1 # nothing is fetched for a look
states=$(git for-each-ref --sort=-committerdate --count=200 --format='%(refname)' 'refs/helmsman/*/state' 2>/dev/null)
[ -n "$states" ] || exit 0
set -f
# shellcheck disable=SC2086 # one word a ref; git allows none with a space or a pattern in it
asking=$(git --no-pager grep --full-name -l -e '^ "gate": {' $states -- :/state.json 2>/dev/null |
  sed -n 's|^refs/helmsman/\([a-z0-9][a-z0-9-]\{0,62\}\)/state:state\.json$|\1|p' | head -n 20 | tr '\n' ' ')
[ -n "$asking" ] || exit 0
said="Helmsman: waiting for an answer: ${asking% }. /helmsman:answer LOOP shows what is asked and answers it."
printf '{"systemMessage":"%s","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"%s"}}\n' "$said" "$said"
