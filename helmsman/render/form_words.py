"""What is wrong with a request, in the words of the form that it was filled in with: fields instead of options."""

import re
from collections.abc import Mapping

from helmsman.records.request import KEYS, LoopRequest, title

_FIELDS: Mapping[str, str] = {"goal": "Goal", "checks": "Checks", **{key: title(field) for field, key in KEYS.items()}}
_LOOP_ID = LoopRequest.model_fields["loop"].title or ""
_WORDS: Mapping[str, str] = {
    "goal: missing;": "Goal: missing;",
    "give it on the command line, or in the environment as HELMSMAN_GOAL, or": "fill it in, or give it",
    "--check 'make test' (repeatable)": f"a command under {_FIELDS['checks']}",
    "--no-checks": '{"allow_no_checks": true} under Settings',
    "--name": _LOOP_ID,
    "give --repo DIR": "correct Repository",
    "--in-place": "workspace.in_place",
    "--agent NAME": "agent.kind under Settings",
    "helmsman run --preset NAME": f"an empty {_LOOP_ID} and another {_FIELDS['preset']}",
    "helmsman run --agent NAME": f"an empty {_LOOP_ID} and another agent.kind under Settings",
}
"""What errors say to somebody in a shell -> what the form calls that."""
_PLACE = re.compile(r"^(\s*)(\w[\w.-]*)((?:\[\d+\])?[\w.]*) \((?:command line|your answer)\):", re.MULTILINE)
_RAISE = re.compile(r"helmsman resume (\S+) --set (\S+)=VALUE")


def in_form_words(error: str) -> str:
    """The text of an error about a request, for whoever filled in the form."""
    told = _PLACE.sub(lambda at: f"{at[1]}{_FIELDS.get(at[2], f'Settings, {at[2]}')}{at[3]}:", error)
    told = _RAISE.sub(lambda at: f"run again with {_LOOP_ID} {at[1]}, Reopen and a higher {_FIELDS.get(at[2], at[2])}", told)
    for words, ours in sorted(_WORDS.items(), key=lambda pair: -len(pair[0])):
        told = told.replace(words, ours)
    return told
