"""Going on with a state that is not verified: a person looks at it once, and agrees to exactly that one."""

from deployments.dialogue import YES, is_anybody_there, say, typed
from helmsman.errors import OperatorError
from helmsman.records.result import result_of
from helmsman.texts import result_lines
from tasks.repository.git import Repository
from tasks.repository.state_ref import Shown, accept_state, refused, show_state, state_ref
from tasks.repository.state_signature import Doubt

SHORTEST = 7
"""Digits of a commit's id that tell it from others, as git shows it."""


def require_verified(repository: Repository, loop: str, accepted: str) -> None:
    """Sign the state anew where a person agrees to it. The caller holds the lock.

    `accepted`: the commit that was named on the command line. A script that always names one accepts no other with it.
    Raises Unverified where nobody agrees, and OperatorError where that commit is not the loop's state.
    """
    shown = show_state(repository, loop)
    problem = refused(repository, shown)
    if accepted and not (len(accepted) >= SHORTEST and shown.commit.startswith(accepted.lower())):
        raise OperatorError(
            f"--accept-state names another state than that of loop {loop}",
            expected=shown.commit[:12],
            found=accepted[:80],
            remedy=f"look at it first: git show {state_ref(loop)}:state.json",
        )
    if problem is None:
        return
    if not accepted and not _agreed(shown):
        raise problem
    accept_state(repository, loop)


def _agreed(shown: Shown) -> bool:
    """What this machine knows to be forged is not accepted by a key that is pressed."""
    if shown.doubt is None or shown.doubt[0] is Doubt.FORGED or not is_anybody_there():
        return False
    result = result_of(shown.state, state_ref(shown.state.loop), shown.unverified)
    say(*result_lines(result), f"settings   git show {result.state_ref}:state.json")
    return (typed("Go on from this state, and sign it with the key of this machine? [y/N]") or "").lower() in YES
