"""What an iteration is told of a plan: the one item in hand, what proves it, and that the loop ticks it. Bounded by the item."""

from collections.abc import Iterator, Sequence
from string import Template

from helmsman.orient.budget import Piece
from helmsman.orient.checks_told import commands, failed
from helmsman.plain import clean, clean_lines
from helmsman.records.plan import InHand, PlanItem
from helmsman.records.state import LoopState
from helmsman.texts import counted

LONGEST_DETAILS = 3_000
MOST_ACCEPTANCE = 20
LONGEST_LINE = 400
LONGEST_MISSING = 600

ITEM = Template("""\
# The item in hand: $id of `$file`
The work is split into a plan, `$file`: $done of $items are done. This iteration is for one item. $others
<item>
$id: $title$details
</item>""")
PROVEN_BY_CHECK = Template("""\
It is proven when this command exits with 0 on your last commit and nothing that passed before fails:
$check""")
PROVEN_BY_ALL = Template("""\
It is proven when every check passes on your last commit, $changed, and a test that has `$id` in its name fails without your
change and passes with it. If no test can show it, write a line `$id: done` into your notes, and $who will look at it.""")
TICKS = Template("The loop ticks it in `$file` once it is proven. What you change in that file is put back.")
VERIFIES = """\
It asks for verification, not for a change of the source: run what it names, and fix what you find broken."""
MORE = "Do not ask for completion of the whole: other items remain after this one."
LAST = "It is the last item: if the goal is true as well, ask for completion."
TRIES = Template("$spent of $allowed iterations were spent on it. After the last one this was missing: $missing")
ALL_DONE = Template("""\
# The plan is done
Every item of `$file` that this loop is for is ticked. What remains is the goal itself: fix what the checks or the findings still
show, then ask for completion.""")
ANEW = Template("""\
The approach so far has failed, so the plan may be changed in this iteration: if the open items of `$file` are cut wrongly,
rewrite them from the goal and the present code, and commit. Leave what is done and the check of each item as they are; tick
nothing and add no checks. A plan that cannot be followed is put back.""")
TOUCHED = Template("In the last iteration `$file` was changed, and it was put back: $why.")


def plan_sections(state: LoopState, hand: InHand | None) -> Iterator[tuple[str, str]]:
    """The operator wrote the plan, so it stands as an order."""
    if hand is None:
        return
    file = state.config.plan.file
    parts = _item(state, hand, hand.item) if hand.item else [ALL_DONE.substitute(file=file)]
    touched = state.plan.touched
    put_back = [TOUCHED.substitute(file=file, why=clean(touched.why))] if touched and not touched.kept else []
    yield "plan", "\n".join((*parts, *put_back))


def own_check_section(state: LoopState, hand: InHand | None) -> Sequence[Piece]:
    """What the item's own check printed when it failed last."""
    item, own = hand.item if hand else None, state.plan.own
    if item is None or own is None or own.passed or state.plan.now != item.id or own.command != item.check:
        return ()
    heading, *rest = failed(own)
    return (f"# The check of item {item.id}\n{heading}", *rest)


def _item(state: LoopState, hand: InHand, item: PlanItem) -> list[str]:
    file = state.config.plan.file
    said = ITEM.substitute(
        id=item.id,
        file=file,
        done=hand.done,
        items=counted(hand.total, "item"),
        others=f"It is followed by {counted(hand.remaining - 1, 'other')}." if hand.remaining > 1 else "",
        title=clean(item.title),
        details=_details(item),
    )
    return [
        said,
        *([VERIFIES] if item.verify else []),
        _proof(item, judged=bool(state.config.judge.criteria)),
        TICKS.substitute(file=file),
        MORE if hand.remaining > 1 else LAST,
        *_earlier(state, item),
        *([ANEW.substitute(file=file)] if hand.anew else []),
    ]


def _details(item: PlanItem) -> str:
    details = clean_lines(item.details)
    cut = f"{details[:LONGEST_DETAILS]} […]" if len(details) > LONGEST_DETAILS else details
    wanted = [f"- {clean(line)[:LONGEST_LINE]}" for line in item.acceptance[:MOST_ACCEPTANCE]]
    more = len(item.acceptance) - MOST_ACCEPTANCE
    left_out = [f"- and {more} more, in the file"] if more > 0 else []
    return "".join(f"\n{part}" for part in (cut, *(("It is done when:", *wanted, *left_out) if wanted else ())) if part)


def _proof(item: PlanItem, *, judged: bool) -> str:
    if item.check:
        return PROVEN_BY_CHECK.substitute(check=commands([item.check]))
    changed = "what it names was looked at" if item.verify else "something was changed for it"
    return PROVEN_BY_ALL.substitute(id=item.id, changed=changed, who="a judge" if judged else "a person")


def _earlier(state: LoopState, item: PlanItem) -> Iterator[str]:
    spent = state.plan.tries.get(item.id, 0)
    if spent and state.plan.now == item.id:
        missing = clean(state.plan.missing)[:LONGEST_MISSING]
        yield TRIES.substitute(spent=spent, allowed=state.config.plan.tries, missing=missing)
