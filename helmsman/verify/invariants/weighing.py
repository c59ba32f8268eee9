"""From what the rules found to what counts: what a text shows is a hint, but for files that the operator protects."""

from collections.abc import Iterable

from helmsman.config import InvariantsConfig
from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import TreeDiff
from helmsman.verify.globs import matches_any

KEPT = 30


def as_hints(found: Iterable[Finding], diff: TreeDiff, config: InvariantsConfig) -> tuple[Finding, ...]:
    """Rules read texts, so they may be wrong: behaviour decides. A file that the operator protects must stay as it is."""
    kept = {name for file in diff for name in (file.path, file.old_path) if name and matches_any(name, config.protect)}
    moved = {file.path for file in diff if file.old_path in kept}
    held = kept | moved | {path for path in diff.left_out if matches_any(path, config.protect)}
    return tuple(one if one.rule == "protected" and one.path in held else _hint(one) for one in found)


def weigh(of_loop: Iterable[Finding], of_iteration: Iterable[Finding], config: InvariantsConfig) -> tuple[Finding, ...]:
    """Blocking ones first. What only the iteration's diff shows concerns the loop's own earlier work: it is told, no more."""
    lasting = tuple(of_loop)
    known = {(finding.rule, finding.path, finding.message) for finding in lasting}
    passing = [_hint(one) for one in of_iteration if (one.rule, one.path, one.message) not in known]
    weighed = [_excepted(finding, config) for finding in (*lasting, *passing)]
    return tuple(sorted(weighed, key=lambda finding: finding.weight is not Weight.BLOCK)[:KEPT])


def _excepted(finding: Finding, config: InvariantsConfig) -> Finding:
    return _hint(finding) if matches_any(finding.path, config.allow) else finding


def _hint(finding: Finding) -> Finding:
    return finding.model_copy(update={"weight": Weight.HINT})
