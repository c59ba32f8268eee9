"""The table of commands names functions; that each is there, and takes what its command gives it, no type checker sees."""

from importlib import import_module
from inspect import signature

from deployments.cli import COMMANDS, Command
from deployments.options import OPTIONS


def mistakes(row: Command) -> list[str]:
    """What would go wrong when the command is called."""
    module, _, name = row.does.partition(":")
    unknown = [option for option in row.parameters.values() if option not in OPTIONS]
    try:
        signature(getattr(import_module(f"deployments.{module}"), name)).bind(**dict.fromkeys(row.parameters))
    except TypeError as error:
        return [*unknown, str(error)]
    return unknown


def test_the_function_of_each_command_takes_what_its_options_give() -> None:
    assert {words: found for words, row in COMMANDS.items() if (found := mistakes(row))} == {}


def test_an_option_that_is_unknown_or_that_no_function_takes_would_be_noticed() -> None:
    assert mistakes(Command("trust:trust", "repo yes forget=revoke as_json", "")) == []
    found = mistakes(Command("trust:trust", "repo yes forget=nonesuch", ""))
    assert found == ["nonesuch", "missing a required argument: 'as_json'"]
