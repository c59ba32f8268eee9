"""`helmsman config`: every key of the configuration, its value and where that is from."""

from typing import Annotated

import typer

from deployments.options import HERE, ConfigFile, Json, Repo, Settings


def show_config(
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="One key, or a section as `limits`.")] = "",
    repo: Repo = HERE,
    config: ConfigFile = None,
    settings: Settings = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what differs from the default.")] = False,
    as_json: Json = False,
) -> None:
    """Show every configuration value and where it comes from."""
    from deployments.show.configuration import show_configuration

    show_configuration(repo, config, tuple(settings or ()), key=key, changed=changed, as_json=as_json)
