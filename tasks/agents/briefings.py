"""What agent and judge were sent, kept in the folder of the call for people; nothing is decided by it."""

from helmsman.records.briefing import Briefing
from helmsman.tokens import tokens
from helmsman.verify.judge.request import JudgeRequest
from tasks.agents.call_folder import CallFolder
from tasks.system.files import write_atomic
from tasks.system.secrets import without_secrets

_FOLLOWS = "\n\n"


def keep_briefing(folder: CallFolder, briefing: Briefing) -> None:
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.briefing, briefing.model_dump_json(indent=1))


def keep_request(folder: CallFolder, request: JudgeRequest) -> None:
    """Keep what the judge is sent; of one that is asked again, what is new, behind what was there."""
    request = without_secrets(request)
    asked, more, before = request.briefing, request.more, kept(folder, judge=True)
    if before is not None and before.prompt.startswith(asked.prompt.removesuffix(f"{_FOLLOWS}{more}")):
        if more in before.prompt:
            return
        sections = (*before.sections, ("asked again", tokens(more)))
        asked = before.model_copy(update={"prompt": f"{before.prompt}{_FOLLOWS}{more}", "sections": sections})
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.judge, asked.model_dump_json(indent=1))


def kept(folder: CallFolder, *, judge: bool) -> Briefing | None:
    """What was sent to the agent, or to the judge of its work; None where nothing was, or by an earlier version."""
    try:
        return Briefing.model_validate_json((folder.judge if judge else folder.briefing).read_bytes())
    except FileNotFoundError:
        return None
