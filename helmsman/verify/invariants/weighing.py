"""From what the rules found to what counts: the loop's diff decides, an iteration's own diff informs, the operator excepts."""

from collections.abc import Iterable

from helmsman.config import InvariantsConfig
from helmsman.records.findings import Finding, Weight
from helmsman.verify.globs import matches_any

KEPT = 30


def weigh(of_loop: Iterable[Finding], of_iteration: Iterable[Finding], config: InvariantsConfig) -> tuple[Finding, ...]:
    """Blocking ones first. What only the iteration's diff shows concerns the loop's own earlier work: it is told, no more."""
    lasting = tuple(of_loop)
    known = {(finding.rule, finding.path, finding.message) for finding in lasting}
    passing = [_warning(one) for one in of_iteration if (one.rule, one.path, one.message) not in known]
    weighed = [_excepted(finding, config) for finding in (*lasting, *passing)]
    return tuple(sorted(weighed, key=lambda finding: finding.weight is not Weight.BLOCK)[:KEPT])


def _excepted(finding: Finding, config: InvariantsConfig) -> Finding:
    off = any(finding.rule == name or finding.rule.startswith(f"{name}.") for name in config.off)
    return _warning(finding) if off or matches_any(finding.path, config.allow) else finding


def _warning(finding: Finding) -> Finding:
    return finding.model_copy(update={"weight": Weight.WARN})
