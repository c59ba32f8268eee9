"""The configuration that holds for an alignment."""

from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.config.layers import Layer
from helmsman.errors import OperatorError
from helmsman.records.alignment import LONGEST_GOAL, AlignRequest
from helmsman.records.request import LoopRequest
from tasks.loop.alignment_file import place_of, read_alignment
from tasks.loop.configure import configure
from tasks.repository.git import open_repository
from tasks.system.trust import consent_of


def configured(request: AlignRequest) -> LoopConfig:
    """What holds for an alignment. A goal that nobody names now is that of the file which is gone on with."""
    repository = open_repository(Path(request.repository))
    found = None if request.goal else read_alignment(place_of(repository.top, request.out))
    said = LoopRequest(repository=request.repository, goal=request.goal, settings=request.settings)
    stronger = [Layer(request.out, {"goal": found.goal})] if found else []
    config = configure(repository.top, said, consent=consent_of(repository.common), stronger=stronger).config
    if len(config.goal) > LONGEST_GOAL:
        raise OperatorError(
            "the goal is too long to be aligned",
            expected=f"{LONGEST_GOAL:,} characters at most",
            found=f"{len(config.goal):,}",
            remedy="say it in short, and name the files that say the rest",
        )
    return config
