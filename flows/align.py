"""Before a loop: what nobody has said yet is found out, asked for and written down. Start it with an AlignRequest."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from helmsman.records.alignment import AlignRequest
from tasks.alignment.run import STOPPED, advanced, concluded, making, started
from tasks.engine.runs import ending_with_reason


@flow(name="align", persist_result=False)
@ending_with_reason
def align(request: AlignRequest) -> State[dict[str, Any]]:
    """Surface the gaps between what is wanted, what is asked for and what can be verified; ask what only a person can say."""
    with making(request) as work:
        try:
            alignment = started(work)
            while alignment.due and (request.ask or alignment.due == "folding"):
                alignment = advanced(work, alignment)
        except STOPPED as why:
            return concluded(work, why)
        return concluded(work)
