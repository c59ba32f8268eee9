"""Faulty agents: healthy up to the onset, then faulty until a redirection cures them, if one does."""

from collections.abc import Callable
from dataclasses import replace

from bench.simulation.healthy_agents import Behaviour, StartBehaviour, edit, make_step, steady, work_step
from bench.simulation.model import AgentProfile, Feedback, Step, Tree

FaultyStep = Callable[[AgentProfile, Feedback, Tree], Step]
"""Function that makes one faulty iteration; the tree is that of the onset."""

CURED_PACE = 0.2


def with_fault(make_fault: FaultyStep) -> StartBehaviour:
    """Behaviour of a healthy agent that gets this fault."""

    def start(profile: AgentProfile, feedback: Feedback) -> Behaviour:
        feedback = yield from _healthy(profile, feedback)
        onset, first_call = feedback.tree, feedback.call
        while feedback.call == first_call or not _is_cured(profile, feedback):
            feedback = yield replace(make_fault(profile, feedback, onset), is_faulty=True)
        profile.pace = CURED_PACE
        honest_tree = replace(feedback.tree, is_gamed=False)
        return (yield from steady(profile, replace(feedback, tree=honest_tree)))

    return start


def _healthy(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Make progress up to the onset, but never so much that everything passes."""
    for _ in range(profile.onset):
        worked = work_step(profile, feedback)
        if not worked.tree.is_red:
            break
        feedback = yield worked
    return feedback


def _is_cured(profile: AgentProfile, feedback: Feedback) -> bool:
    return feedback.redirected and profile.rng(feedback).random() < profile.response


def no_change(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Only read."""
    return make_step(profile, feedback, feedback.tree)


def ineffective_edits(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Create a new tree each time, without effect."""
    return make_step(profile, feedback, edit(feedback))


def varying_messages(profile: AgentProfile, feedback: Feedback, onset: Tree) -> Step:
    """Like `ineffective_edits`, but one failing test has another message each time, out of a few."""
    rng, tree = profile.rng(feedback), edit(feedback)
    test = rng.choice([name for name, _ in onset.failing])
    failing = tuple((name, rng.randrange(5) if name == test else point) for name, point in tree.failing)
    return make_step(profile, feedback, replace(tree, failing=failing))


def repeated_edit(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Repeat an edit to a file, which mostly exists already or is reverted."""
    if profile.rng(feedback).random() < 0.5:
        return make_step(profile, feedback, feedback.tree, reverted=2)
    return make_step(profile, feedback, edit(feedback), changed=1, insertions=4, deletions=4, file_id=0)


def oscillating_trees(profile: AgentProfile, feedback: Feedback, onset: Tree) -> Step:
    """A, B, A, B: revert the previous edit exactly."""
    alternative = replace(onset, revision=onset.revision + 1_000)
    return make_step(
        profile, feedback, onset if feedback.tree == alternative else alternative, changed=2, insertions=9, deletions=9, file_id=0
    )


def oscillating_tests(profile: AgentProfile, feedback: Feedback, onset: Tree) -> Step:
    """Alternately fix some tests and break others, with a new tree each time."""
    failing = sorted(test for test, _ in onset.failing)
    passing = sorted(set(range(onset.tests)) - set(failing))
    fixed = failing[: max(1, len(failing) // 4)]
    broken = passing[: max(1, len(passing) // 4)] if passing else []
    swapped = onset.with_fixed(fixed).with_failing(broken)
    is_at_onset = {test for test, _ in feedback.tree.failing} == set(failing)
    return make_step(profile, feedback, edit(feedback, swapped if is_at_onset else onset))


def regressing(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Break passing tests in each iteration."""
    rng, failing = profile.rng(feedback), {test for test, _ in feedback.tree.failing}
    passing = sorted(set(range(feedback.tree.tests)) - failing)
    count = min(len(passing), rng.randint(1, max(1, feedback.tree.tests // 10)))
    return make_step(profile, feedback, edit(feedback, feedback.tree.with_failing(rng.sample(passing, count))))


def false_claims(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Claim completion with failing checks every time, sometimes after an edit."""
    return make_step(
        profile, feedback, edit(feedback) if profile.rng(feedback).random() < 0.5 else feedback.tree, claims_completion=True
    )


def weakened_tests(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Weaken the tests until they pass, and claim completion."""
    tree = replace(feedback.tree, is_gamed=True)
    return make_step(
        profile, feedback, edit(feedback, tree) if profile.rng(feedback).random() < 0.5 else tree, claims_completion=True
    )


def off_task(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Build something that the task does not ask for."""
    actions = profile.rng(feedback).randint(5, 20)
    return make_step(
        profile,
        feedback,
        edit(feedback),
        folder="tools/telemetry",
        actions=actions,
        related_actions=profile.rng(feedback).randint(0, actions // 6),
    )


def expensive_reads(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Only read, at ten times the usual cost."""
    return make_step(
        profile,
        feedback,
        feedback.tree,
        dollars=10 * profile.dollars * profile.rng(feedback).lognormvariate(0, 0.35),
        tool_calls=200,
    )


def permission_denied(profile: AgentProfile, feedback: Feedback, _onset: Tree) -> Step:
    """Lack a permission."""
    tree = edit(feedback) if profile.rng(feedback).random() < 0.3 else feedback.tree
    return make_step(profile, feedback, tree, denials=profile.rng(feedback).randint(1, 5))
