"""What models are told, as Jinja2 templates. A name that is not filled in is an error, never a blank."""

from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(name: str, /, **values: object) -> str:
    """The template `name`.md.j2, filled in, without a newline at its end."""
    return _environment().get_template(f"{name}.md.j2").render(**values).rstrip("\n")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("helmsman", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - what is made is read by a model, not by a browser
    )
