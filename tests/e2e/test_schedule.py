"""What `helmsman deploy` leaves on a server: deployments whose schedules fire, and automations under their names."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from deployments.deploy import CRASHED_RUN, SILENT_RUN, automations, project, update_automations, with_work_pool
from helmsman.records.decision import Outcome
from tasks.repository.git import open_repository
from tasks.repository.state_ref import list_loops
from tests.fakes.processes import ROOT
from tests.fakes.team_engine import ENDED, Team

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("team")]


@pytest.mark.feature("D1", "D9")
def test_each_firing_of_a_schedule_drives_a_loop_of_its_own_even_within_one_second(team: Team, tmp_path: Path) -> None:
    bench, loop = team.bench(tmp_path / "a"), team.id_of("loop/loop")
    request = {"repository": str(bench.repository), "goal": "an answer", "checks": ["test -e answer"]}

    def hourly(seconds: float) -> dict[str, Any]:
        anchor = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        schedule = {"interval": 3600, "anchor_date": anchor}
        return {"schedule": schedule, "active": True, "parameters": {"request": request}, "slug": f"after-{seconds:g}"}

    team.set_deployment(loop, schedules=[hourly(12), hourly(12.1), hourly(13)])

    def fired() -> list[Mapping[str, Any]]:
        of = {"deployment_id": {"any_": [loop]}, "state": {"type": {"any_": list(ENDED)}}}
        found = team.post("/flow_runs/filter", {"flow_runs": of}).raise_for_status().json()
        return [run for run in found if run["auto_scheduled"] and run["parameters"]["request"] == request]

    assert team.eventually(lambda: len(fired()) == 3), team.log
    team.set_deployment(loop, schedules=[])
    runs, loops = fired(), {one.state.loop: one.state.outcome for one in list_loops(open_repository(bench.repository))}
    assert {run["state_type"] for run in runs} == {"COMPLETED"}, ([run["state"]["message"] for run in runs], team.log)
    assert loops == {run["name"]: Outcome.COMPLETED for run in runs}
    assert len(loops) == 3


@pytest.mark.feature("D1", "D3")
def test_deploying_prints_the_deployments(team: Team) -> None:
    told = team.deployed
    assert (told["pool"], told["pool_type"]) == ("helmsman", "process")
    assert {"loop/loop", "on_push/on-push", "sweep/sweep"} <= set(told["deployments"])
    assert told["automations"] == [SILENT_RUN, CRASHED_RUN, "helmsman: a run that was cancelled says how to go on"]
    for name in told["deployments"]:
        assert team.api.get(f"/deployments/name/{name}").json()["work_pool_name"] == "helmsman"
    sweep = team.api.get("/deployments/name/sweep/sweep").json()
    assert [schedule["active"] for schedule in sweep["schedules"]] == [True]


@pytest.mark.feature("D3")
def test_unchanged_automations_are_not_updated(team: Team) -> None:
    wanted, *_ = automations(uuid4(), silence_seconds=1000)
    mine = wanted.model_copy(update={"name": "one of a test"})
    with temporary_settings({PREFECT_API_URL: team.server.url}), get_client(sync_client=True) as client:

        def stored() -> dict[str, Any]:
            (found,) = team.post("/automations/filter", {"automations": {"name": {"any_": [mine.name]}}}).json()
            return found

        update_automations(client, [mine])
        first = stored()
        update_automations(client, [mine])
        assert stored() == first
        client.create_automation(mine)  # somebody's second one of the same name
        team.api.patch(f"/automations/{first['id']}", json={"enabled": False}).raise_for_status()
        update_automations(client, [mine.model_copy(update={"description": "another"})])
        last = stored()
        assert (last["id"], last["description"], last["enabled"]) == (first["id"], "another", False)
        client.delete_automation(first["id"])


def test_a_deployment_has_the_given_work_pool_and_the_path_of_the_flows() -> None:
    folder, described = project()
    assert folder == ROOT
    for_others = with_work_pool(described, folder, "others")
    assert {one["work_pool"]["name"] for one in for_others["deployments"]} == {"others"}
    assert str(ROOT) in str(for_others["pull"])
    assert [one["entrypoint"] for one in for_others["deployments"]] == [one["entrypoint"] for one in described["deployments"]]
    assert {one["work_pool"]["name"] for one in described["deployments"]} == {"helmsman"}
