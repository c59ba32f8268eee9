"""The files for containers: valid by the rules of those who read them, closed to the outside, and true to the lock.

There is no Docker here, so no image is built; what its build reads and runs is looked at one by one.
"""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any, cast

import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement

from helmsman.config.layers import from_environment
from helmsman.errors import OperatorError
from tests.contracts.source import ROOT
from tools.locked import direct_dependencies, select, split_entries

pytestmark = pytest.mark.feature("D5")

FOLDER = ROOT / "deployments" / "container"
DOCKERFILE = FOLDER / "Dockerfile"
COMPOSE = FOLDER / "compose.yaml"
EXTRAS = ("team", "telemetry", "claude", "build")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def of_environment(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name(program)), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read(path: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_dockerfile_is_valid_and_a_bad_one_would_not_be(tmp_path: Path) -> None:
    ended = of_environment("hadolint", DOCKERFILE)
    assert (ended.returncode, ended.stdout) == (0, "")
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN cd /x && sudo apt-get install git\n")
    assert of_environment("hadolint", tmp_path / "Dockerfile").returncode == 1


def test_the_compose_file_is_valid_and_a_bad_one_would_not_be(tmp_path: Path) -> None:
    assert of_environment("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE).returncode == 0
    (tmp_path / "compose.yaml").write_text("services: {a: {image: b, port: 1}}\n")
    assert (
        of_environment("check-jsonschema", "--builtin-schema", "vendor.compose-spec", tmp_path / "compose.yaml").returncode == 1
    )


def test_nothing_listens_beyond_loopback_and_every_server_is_asked_whether_it_is_well() -> None:
    services = read(COMPOSE)["services"]
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert {name for name, service in services.items() if "healthcheck" not in service} == {"worker"}
    assert len({service["image"] for name, service in services.items() if "server" in name}) == 1


def test_one_server_makes_the_tables_before_another_program_needs_them() -> None:
    services = read(COMPOSE)["services"]
    healthy = {"server": {"condition": "service_healthy"}}
    later = {name for name, service in services.items() if service.get("depends_on") == healthy}
    assert later == {"second-server", "services", "worker"}


def test_its_servers_share_by_redis_what_those_of_the_runbook_share() -> None:
    runbook = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    shared = dict(re.findall(r"^export (\w+)=(.*redis.*)$", runbook, re.MULTILINE))
    assert "PREFECT_REDIS_MESSAGING_URL" in shared
    services = read(COMPOSE)["services"]
    servers = {name: services[name]["environment"] for name in ("server", "second-server", "services")}
    assert [name for name, variables in servers.items() if not variables.items() >= shared.items()] == []


def test_no_environment_contains_a_password() -> None:
    services = read(COMPOSE)["services"]
    named = {name for service in services.values() for name in service.get("environment", {})}
    assert not [name for name in named if re.search("PASSWORD$|KEY$|TOKEN$|CONNECTION_URL$", name)]


def test_the_job_template_is_a_valid_job_once_its_variables_are_filled_in() -> None:
    template = read(FOLDER / "kubernetes-job.yaml")
    values = {name: told.get("default", "x") for name, told in template["variables"]["properties"].items()}
    values |= {"command": ["prefect", "flow-run", "execute"], "env": [{"name": "A", "value": "b"}]}
    manifest = filled(template["job_configuration"]["job_manifest"], values)
    pod = manifest["spec"]["template"]["spec"]
    assert (pod.pop("parallelism"), pod.pop("completions"), pod["containers"][0]["name"]) == (1, 1, "prefect-job")  # for Prefect
    kubernetes_validate.validate(manifest, "1.31", strict=True)
    manifest["spec"]["template"]["spec"]["contaners"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_a_service_of_our_name_gives_a_pod_no_variables_that_would_be_settings() -> None:
    with pytest.raises(OperatorError, match="HELMSMAN_SERVICE_HOST: unknown variable"):
        from_environment({"HELMSMAN_SERVICE_HOST": "10.0.0.1"})
    job = read(FOLDER / "kubernetes-job.yaml")["job_configuration"]["job_manifest"]
    assert job["spec"]["template"]["spec"]["enableServiceLinks"] is False


def filled(value: Any, values: dict[str, Any]) -> Any:
    """As Prefect fills a template in: a variable that stands alone keeps its kind."""
    if isinstance(value, dict):
        return {key: filled(inner, values) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [filled(inner, values) for inner in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    alone = re.fullmatch(r"\{\{ (\w+) \}\}", value)
    return values[alone[1]] if alone else re.sub(r"\{\{ (\w+) \}\}", lambda match: str(values[match[1]]), value)


def test_everything_that_the_build_copies_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    sources = [source for line in copied for source in line.split()[:-1]]
    assert len(sources) > len(copied)
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_build_does_not_read_what_git_ignores_beside_the_compose_file() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    folders = {str(Path(secret["file"]).parent) for secret in read(COMPOSE)["secrets"].values()}
    assert {f"deployments/container/{folder}" for folder in folders} <= set(ignored)


def test_the_server_of_the_image_writes_its_pages_where_its_user_may() -> None:
    assert "PREFECT_UI_STATIC_DIRECTORY=/data/" in DOCKERFILE.read_text(encoding="utf-8")


def test_the_container_runs_without_root_and_tells_the_agent_about_its_sandbox() -> None:
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 1000:1000"]
    assert any("HELMSMAN_SANDBOX__KIND=container" in line for line in lines)


def test_the_image_installs_the_locked_packages_without_developer_tools() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    kept = split_entries(select(LOCK, direct_dependencies(project, EXTRAS)))
    assert {"prefect", "sqlalchemy", "prefect-redis", "claude-agent-sdk", "hatchling"} <= set(kept)
    assert not {"pytest", "pyright", "ruff", "playwright", "moto"} & set(kept)
    assert all("--hash=sha256:" in entry for entry in kept.values())
    assert {name: lacking for name in kept if (lacking := wanted(name) - set(kept))} == {}


def wanted(name: str) -> set[str]:
    """What an installed package needs here, by its own word."""
    try:
        listed = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:  # of another platform
        return set()
    needs = [one for one in listed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return {re.sub(r"[-_.]+", "-", one.name).lower() for one in needs}


def test_the_command_of_the_build_prints_that_part_of_the_lock() -> None:
    ended = subprocess.run(
        [sys.executable, "-I", ROOT / "tools" / "locked.py", *EXTRAS],
        cwd=ROOT,
        input=LOCK,
        capture_output=True,
        text=True,
        check=True,
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ended.stdout == select(LOCK, direct_dependencies(project, EXTRAS))
