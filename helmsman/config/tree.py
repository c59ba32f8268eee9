"""The shape of the configuration: its sections, and the fields below each."""

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from helmsman.config.base import Section


def fields(model: type[Section], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field below a section as (dotted key, field), in declaration order; a section comes before its own."""
    for name, field in model.model_fields.items():
        yield prefix + name, field
        section = section_of(field)
        if section:
            yield from fields(section, f"{prefix}{name}.")


def section_of(field: FieldInfo) -> type[Section] | None:
    """The section that a field is, or None for a leaf."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None
