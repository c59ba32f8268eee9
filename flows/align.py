"""Before a loop: find open questions about a goal, ask them, and store the answers. Start it with an AlignRequest."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from helmsman.records.alignment import AlignRequest
from tasks.alignment.run import STOPPED, advance_alignment, exclusive_alignment, final_state, start_alignment
from tasks.engine.runs import ending_with_reason


@flow(name="align", persist_result=False)
@ending_with_reason
def align(request: AlignRequest) -> State[dict[str, Any]]:
    """Find gaps between intent, request and verification, and ask what only a person can answer."""
    with exclusive_alignment(request) as work:
        try:
            alignment = start_alignment(work)
            while alignment.due and (request.ask or alignment.due == "folding"):
                alignment = advance_alignment(work, alignment)
        except STOPPED as reason:
            return final_state(work, reason)
        return final_state(work)
