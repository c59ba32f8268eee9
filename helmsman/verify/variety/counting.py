"""Adds up what the files of a tree contribute."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from helmsman.records.oversight import Variety
from helmsman.records.variety_facts import FileFacts
from helmsman.verify.variety.graph import cyclic, modules

MOST_IMPORTS = 200_000
"""That are looked up in one tree; 5,000 files have a fifth of it."""


def variety_of(files: Mapping[str, FileFacts]) -> Variety:
    """Counts of a whole tree, by path. Tests add tests and skips; everything else is counted in the source alone."""
    source = {path: facts for path, facts in files.items() if facts.role == "source"}
    counted = [facts for facts in files.values() if facts.role != "other"]
    at_once, late = _edges(source)
    return Variety(
        files=len(source),
        lines=sum(facts.lines for facts in source.values()),
        suppressions=sum(facts.suppressions for facts in source.values()),
        skips=sum(facts.skips for facts in counted),
        casts=sum(facts.casts for facts in source.values()),
        imports=sum(len(at_once[path] | late[path]) for path in source),
        cycles=len(cyclic(at_once)),
        public_names=sum(facts.public_names for facts in source.values()),
        dead=_dead(source.values(), counted),
        tests=sum(facts.tests for facts in counted),
    )


def _edges(source: Mapping[str, FileFacts]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """For each file the files of the project that it imports when it is loaded, and those that it imports later."""
    known = modules(source)
    found: tuple[dict[str, set[str]], dict[str, set[str]]] = ({path: set() for path in source}, {path: set() for path in source})
    for path, name, late in islice(_named(source), MOST_IMPORTS):
        target = known.target(path, name)
        if target is not None:
            found[late][path].add(target)
    return found


def _named(source: Mapping[str, FileFacts]) -> Iterator[tuple[str, str, bool]]:
    """In the order of paths: what is beyond the limit must not depend on what was in a cache."""
    for path in sorted(source):
        yield from ((path, name, False) for name in source[path].imports)
        yield from ((path, name, True) for name in source[path].late)


def _dead(source: Iterable[FileFacts], counted: Iterable[FileFacts]) -> int:
    """Private names that no text mentions but where they are defined. What is public may serve somebody else."""
    mentioned = {word for facts in counted for word in facts.mentions}
    return sum(name not in mentioned for facts in source if not facts.reads_names for name in facts.lonely)
