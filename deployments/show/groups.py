"""How a group of loops stands: who drives it, and a line for each of its loops."""

import json

from deployments.choosing import holder_name, listed
from deployments.show.lines import show
from helmsman.plain import clean
from helmsman.records.result import result_of
from helmsman.render import list_lines
from helmsman.texts import counted
from tasks.loops.opening import now_utc
from tasks.places import group_folder
from tasks.repository.git import Repository
from tasks.repository.state_ref import list_loops, state_ref


def show_group(repository: Repository, group: str, *, as_json: bool) -> None:
    """Print it. Its loops are called `GROUP-…`; one whose state cannot be read is in `helmsman list` with the reason."""
    loops = [shown for shown in list_loops(repository, lambda _: None) if shown.state.loop.startswith(f"{group}-")]
    driver = holder_name(group_folder(repository, group).lock)
    if as_json:
        results = [result_of(shown.state, state_ref(shown.state.loop), shown.unverified) for shown in loops]
        told = {"group": group, "driver": driver, "loops": [result.model_dump(mode="json") for result in results]}
        print(json.dumps(told))
        return
    print(f"group      {clean(group)}, {counted(len(loops), 'loop')}")
    print(f"driven by  {clean(driver) if driver else 'nobody now; the command that began it goes on with it'}")
    show(list_lines([listed(repository, shown) for shown in loops], now_utc()))
