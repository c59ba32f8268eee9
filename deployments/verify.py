"""`helmsman verify`: the verification of a loop for any change, without a loop, an agent or an engine."""

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from deployments.dialogue import ending_tidily, say
from deployments.output import answer, write_file
from deployments.settings import Said, checks_said
from deployments.trust import consenting, settle
from helmsman.config import LoopConfig
from helmsman.config.layers import Layer, from_assignments, merged
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.parsers.rubric import settings as rubric_settings
from helmsman.plain import clean, clean_lines
from helmsman.records.events import CheckFinished, Event, PreparationStarted
from helmsman.records.request import LoopRequest
from helmsman.records.verification import Verification
from helmsman.render.verification import MARK, junit_of, sarif_of, verification_lines, verification_markdown
from helmsman.texts import check_text
from tasks.checks.targets import Range
from tasks.checks.verify import verify
from tasks.loop.configure import configure, flawed, read_rubric_file
from tasks.repository.clean_checkout import CleanCheckout, clean_checkout_of
from tasks.repository.git import Repository, open_repository
from tasks.repository.ranges import commits_of
from tasks.system.environment import ours
from tasks.system.journal import listening
from tasks.system.secrets import redact
from tasks.system.trust import consent_of

NO_GOAL = "The change does what its tests ask for."
GOAL_MET = "The change reaches the goal, wholly and without breaking what was there."
FROM_CHECKOUT = "helmsman.toml and what else configures the checks: the base has no checks, so those of the checkout were run"


def verify_change(repo: Path, *, yes: bool, as_json: bool, commits: str = "", comment: bool = False, **said: Any) -> int:
    """Verify, print, write the files that were asked for. Returns 0 verified, 1 not verified, 2 cannot tell."""

    def tell(event: Event) -> None:
        if isinstance(event, PreparationStarted):
            say(f"preparing  {clean(event.what)}")
        elif isinstance(event, CheckFinished):
            say(f"           {check_text(event.result)}")

    def credentials() -> Mapping[str, str]:
        from tasks.credentials import judge_credentials  # and Prefect, only where a judge is asked whose keys a block may hold

        return judge_credentials(config)

    repository = open_repository(repo)
    base, head = commits_of(repository, commits)
    ask = settle(repository, yes=yes, as_json=as_json)
    with ending_tidily(), clean_checkout_of(repository, base) as checkout, listening(tell):
        config, further = consenting(repository, lambda: _configured(repository, checkout, base, said), ask=ask)
        work, checking = Range(repository, base, head, config), "checking   {}".format
        found = verify(checkout, work, credentials=credentials, say=lambda what: say(checking(clean(what))), further=further)
    answer(found, verification_lines(found), as_json=as_json)
    for path, content in ((said.get("junit"), junit_of), (said.get("sarif"), sarif_of)):
        if path:  # after the result is printed: a file that cannot be written does not cost it
            write_file(path, content(found), "a file of the result", "name a file in a folder that is there")
    if comment:
        _comment(found)
    return found.exit_status


def _configured(repository: Repository, checkout: CleanCheckout, base: str, said: Said) -> tuple[LoopConfig, Sequence[str]]:
    """The base's configuration: a change does not choose what it is judged by. Without checks there, the checkout's."""
    checkout.prepare(base)
    config = _read(repository, checkout.root, said)
    if config.checks:
        return config, ()
    config = config if repository.bare else _read(repository, repository.top, said)
    if not config.checks:
        raise OperatorError(
            "nothing can be verified: no check is configured",
            expected="checks in helmsman.toml, or --check CMD",
            found=clean(str(repository.top)),
            remedy="`helmsman init` finds the commands of a project; or for example --check 'pytest -q'",
        )
    return config, (FROM_CHECKOUT,)


def _read(repository: Repository, folder: Path, said: Said) -> LoopConfig:
    """As a loop there would be configured, but for judge and probes: they cost money, so an option has to name a goal."""
    goal = {"goal": said["goal"], "judge": {"criteria": [GOAL_MET]}} if said.get("goal") else {}
    given = from_assignments(said.get("settings") or ())
    probes = {"proof": {"probes": said["probes"]}} if said.get("probes") else {}
    settings = reduce(merged, (goal, _rubric(said.get("rubric")), given, checks_said(said), probes))
    request = LoopRequest(repository=str(repository.top), settings=settings)
    weakest = [Layer("no goal", {"goal": NO_GOAL})]
    config = configure(folder, request, consent=consent_of(repository.common), weaker=weakest).config
    if said.get("goal") or said.get("rubric"):
        return config
    if probes:
        remedy = "say what the change is for: --goal TEXT"
        raise OperatorError("--probes has nothing to write cases from", expected="a goal", remedy=remedy)
    judge, proof = config.judge.model_copy(update={"criteria": ()}), config.proof.model_copy(update={"probes": 0})
    return config.model_copy(update={"judge": judge, "proof": proof})


def _rubric(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    read = read_rubric_file(path)
    if read.flaws:
        raise flawed(path, read.flaws, "fix the file; `helmsman rubric check` shows what is understood")
    said = merged(dict(read.front), rubric_settings(read.rubric))
    if not said.get("judge", {}).get("criteria"):
        raise OperatorError("the rubric has no criterion", expected="a section `## Judge criteria`", found=str(path))
    return said


def _comment(found: Verification) -> None:
    """On the pull request and in the job's summary. Whatever is wrong there changes no verdict."""
    from tasks.trackers.pull_comment import keep_comment, thread_of

    body = verification_markdown(found)
    try:
        if summary := ours().get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a") as page:
                page.write(body)
        say(f"comment    {keep_comment(thread_of(ours()), MARK, body)}")
    except (HelmsmanError, OSError) as error:
        say(f"comment    none: {redact(clean_lines(str(error)))}")
