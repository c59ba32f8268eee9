"""What an iteration is told whose task is a merge: both sides, what each wanted, and that the result has to prove both."""

from collections.abc import Sequence

from helmsman.plain import clean
from helmsman.prompts import Piece, render_pieces
from helmsman.records.evidence import Commit
from helmsman.records.merging import Trouble
from helmsman.texts import counted


def merge_section(trouble: Trouble | None) -> Sequence[Piece]:
    """Nothing where there is nothing to merge."""
    if trouble is None:
        return ()
    return render_pieces(
        "merge",
        conflict=trouble.kind == "conflict",
        into=clean(trouble.into),
        head=trouble.head[:12],
        work=trouble.work[:12],
        base=trouble.base[:12],
        count=counted(len(trouble.files), "file"),
        files="\n".join(f"{clean(one.path)}: {one.how}" for one in trouble.files),
        ours=_commits(trouble.ours),
        theirs=_commits(trouble.theirs),
    )


def _commits(commits: Sequence[Commit]) -> str:
    return "\n".join(f"{commit.id[:10]} {clean(commit.subject)}" for commit in commits)
