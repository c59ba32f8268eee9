"""`helmsman verify`: verify any change as a loop would, without a loop, an agent or an engine."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from deployments.dialogue import exiting_cleanly, say
from deployments.output import print_result, write_file
from deployments.settings import Options, check_settings
from deployments.trust import require_consent, with_consent
from helmsman.config import LoopConfig
from helmsman.config.layers import Layer, from_assignments, merge_tables
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.parsers.rubric import settings as rubric_settings
from helmsman.plain import clean, clean_lines
from helmsman.records.events import CheckFinished, Event, PreparationStarted
from helmsman.records.request import LoopRequest
from helmsman.records.verification import Verification
from helmsman.render.verification import MARK, error_markdown, junit_of, sarif_of, verification_lines, verification_markdown
from helmsman.texts import check_text
from tasks.checks.targets import Range
from tasks.checks.verify import verify
from tasks.loop.configure import configure, problems_error, read_rubric_file
from tasks.repository.clean_checkout import CleanCheckout, clean_checkout_of
from tasks.repository.git import Repository, open_repository
from tasks.repository.ranges import commits_of
from tasks.system.environment import own_environment
from tasks.system.journal import listening
from tasks.system.secrets import redact
from tasks.system.trust import consent_of

NO_GOAL = "Everything works."  # a placeholder: it asks for no test and for no change of one
GOAL_MET = "The change reaches the goal, completely and without breaking existing behaviour."
FROM_CHECKOUT = "the configuration of the checks: the base has none, so those of the checkout were run"


def verify_change(repo: Path, *, yes: bool, as_json: bool, commits: str = "", comment: bool = False, **options: Any) -> int:
    """Verify, print the result, write the requested files. Returns 0 verified, 1 not verified, 2 inconclusive."""
    try:
        verification = _verify(repo, yes=yes, as_json=as_json, commits=commits, **options)
    except Exception as error:
        if comment:
            _post_comment(error_markdown(redact(str(error) or type(error).__name__)))
        raise
    print_result(verification, verification_lines(verification), as_json=as_json)
    for path, content in _result_files(options):
        # after the result is printed, so a write error does not lose it
        write_file(path, content(verification), "the result file", "choose a file in an existing folder")
    if comment:
        _post_comment(verification_markdown(verification))
    return verification.exit_status


def _result_files(options: Options) -> Sequence[tuple[Path, Callable[[Verification], str]]]:
    files = (options.get("junit"), junit_of), (options.get("sarif"), sarif_of)
    return [(path, content) for path, content in files if path]


def _verify(repo: Path, *, yes: bool, as_json: bool, commits: str, **options: Any) -> Verification:
    def tell(event: Event) -> None:
        if isinstance(event, PreparationStarted):
            say(f"preparing  {clean(event.what)}")
        elif isinstance(event, CheckFinished):
            say(f"           {check_text(event.result)}")

    def credentials() -> Mapping[str, str]:
        from tasks.credentials import judge_credentials  # imports Prefect, which only a judge with keys in a block needs

        return judge_credentials(config)

    if missing := next((path for path, _ in _result_files(options) if not path.absolute().parent.is_dir()), None):
        remedy = "create the folder, or choose a file in an existing one"
        raise OperatorError("the result file cannot be written", expected="an existing folder", found=str(missing), remedy=remedy)
    repository = open_repository(repo)
    base, head = commits_of(repository, commits)
    ask = require_consent(repository, yes=yes, as_json=as_json)
    with exiting_cleanly(), clean_checkout_of(repository, base) as checkout, listening(tell):
        config, further = with_consent(repository, lambda: _resolve_config(repository, checkout, base, options), ask=ask)
        work, checking = Range(repository, base, head, config), "checking   {}".format
        return verify(checkout, work, credentials=credentials, say=lambda text: say(checking(clean(text))), further=further)


def _resolve_config(
    repository: Repository, checkout: CleanCheckout, base: str, options: Options
) -> tuple[LoopConfig, Sequence[str]]:
    """Configuration of the base, so that a change cannot choose its own checks; if the base has none, of the checkout."""
    checkout.prepare(base)
    config = _read_config(repository, checkout.root, options)
    if config.checks:
        return config, ()
    config = config if repository.bare else _read_config(repository, repository.top, options)
    if not config.checks:
        raise OperatorError(
            "nothing can be verified: no check is configured",
            expected="checks in helmsman.toml, or --check CMD",
            found=clean(str(repository.top)),
            remedy="`helmsman init` finds the commands of a project; or for example --check 'pytest -q'",
        )
    return config, (FROM_CHECKOUT,)


def _read_config(repository: Repository, folder: Path, options: Options) -> LoopConfig:
    """Configuration of a loop in that folder. Judge and probes cost money, so they need a goal from an option."""
    goal = {"goal": options["goal"], "judge": {"criteria": [GOAL_MET]}} if options.get("goal") else {}
    given = from_assignments(options.get("settings") or ())
    probes = {"proof": {"probes": options["probes"]}} if options.get("probes") else {}
    settings = reduce(merge_tables, (goal, _rubric_settings(options.get("rubric")), given, check_settings(options), probes))
    request = LoopRequest(repository=str(repository.top), settings=settings)
    weakest = [Layer("no goal", {"goal": NO_GOAL})]
    config = configure(folder, request, consent=consent_of(repository.consent_key), weaker=weakest).config
    if options.get("goal") or options.get("rubric"):
        return config
    if probes:
        remedy = "describe the change: --goal TEXT"
        raise OperatorError("--probes needs a goal", remedy=remedy)
    judge, proof = config.judge.model_copy(update={"criteria": ()}), config.proof.model_copy(update={"probes": 0})
    return config.model_copy(update={"judge": judge, "proof": proof})


def _rubric_settings(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    read = read_rubric_file(path)
    if read.flaws:
        raise problems_error(path, read.flaws, "fix the file; `helmsman rubric check` shows what is understood")
    result = merge_tables(dict(read.front), rubric_settings(read.rubric))
    if not result.get("judge", {}).get("criteria"):
        raise OperatorError("the rubric has no criterion", expected="a section `## Judge criteria`", found=str(path))
    return result


def _post_comment(body: str) -> None:
    """Post it on the pull request and in the job's summary. Errors do not change the verdict."""
    from tasks.trackers.pull_request import thread_of, update_comment

    try:
        if summary := own_environment().get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a") as page:
                page.write(body)
        say(f"comment    {update_comment(thread_of(own_environment()), MARK, body)}")
    except (HelmsmanError, OSError) as error:
        say(f"comment    none: {redact(clean_lines(str(error)))}")
