"""What an iteration is told whose task is a merge: both sides, what each wanted, and that the result has to prove both."""

from collections.abc import Sequence
from string import Template

from helmsman.orient.budget import Foreign, Piece
from helmsman.plain import clean
from helmsman.records.evidence import Commit
from helmsman.records.merging import Trouble
from helmsman.texts import counted

CONFLICT = Template("""\
# Your task now: merge two intents
The work of this branch was proven, and `$into` has moved on meanwhile. Your first commit, $head, holds both, with conflict
markers where both changed the same places: between `<<<<<<<` and `|||||||` stands this branch ($work), then what both began with,
and between `=======` and `>>>>>>>` stands `$into` ($base).
1. Find out what each side wanted, from the commits below: `git show ID`, `git log -p $base..$work -- FILE` for this branch,
   `git log -p $work..$base -- FILE` for `$into`.
2. Merge the intents and not the lines: afterwards what either side wanted holds. Neither side's work or tests are dropped. Where
   both cannot hold as they stand, what `$into` does goes on working, and this branch's work adapts to it.
3. Prove it: every test of both sides passes, and where the two meet a test fails if either intent is lost. Write those that are
   missing.
4. Leave no marker behind, commit, and ask to be done as ever.""")

CHECKS = Template("""\
# Your task now: the work beside what others did
The work of this branch was proven on commit $work, and `$into` has moved on meanwhile, to $base. Put together without a conflict,
as they are in your first commit $head, they do not pass the checks any more; what failed is below.
1. Find out what the other side wanted, from its commits below and from `git log -p $work..$base`.
2. Mend it so that both intents hold; what `$into` does goes on working.
3. Prove it: where the two meet, a test fails if either intent is lost. Write those that are missing. Commit, and ask to be done
   as ever.""")


def merge_section(trouble: Trouble | None) -> Sequence[Piece]:
    """Nothing where there is nothing to merge."""
    if trouble is None:
        return ()
    template = CONFLICT if trouble.kind == "conflict" else CHECKS
    into = clean(trouble.into)
    names = {"head": trouble.head[:12], "work": trouble.work[:12], "base": trouble.base[:12]}
    files = "\n".join(f"{clean(one.path)}: {one.how}" for one in trouble.files)
    return (
        template.substitute(into=into, **names),
        *((f"In conflict ({counted(len(trouble.files), 'file')}):", Foreign(files)) if files else ()),
        *_commits("What this branch did there, newest first:", trouble.ours),
        *_commits(f"What `{into}` got meanwhile, newest first:", trouble.theirs),
    )


def _commits(heading: str, commits: Sequence[Commit]) -> Sequence[Piece]:
    lines = "\n".join(f"{commit.id[:10]} {clean(commit.subject)}" for commit in commits)
    return (heading, Foreign(lines)) if lines else ()
