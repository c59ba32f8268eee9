"""Count the attacks on Helmsman by scope of tests/security/: attempted and repelled.

One file is one scope, named by the first line of its docstring; each test case is one attempt. A failing test is a successful
attack. Arguments are passed to pytest: `python -m bench.redteam -k "stops or receiver"`.
"""

import argparse
import ast
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET  # trusted: the report of our own pytest run
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
ATTACKS = ROOT / "tests" / "security"
WIDTH = 76


@dataclass
class Scope:
    """Attempts of one file."""

    title: str
    attempted: int = 0
    skipped: int = 0
    fell: list[str] = field(default_factory=list[str])

    @property
    def held(self) -> int:
        return self.attempted - len(self.fell)

    def count(self, case: ET.Element) -> None:
        """Count a test case. A skipped one attempted nothing; one with an error, as in a fixture, does not prove that it held."""
        if case.find("skipped") is not None:
            self.skipped += 1
            return
        self.attempted += 1
        if case.find("failure") is not None or case.find("error") is not None:
            self.fell.append(case.get("name", "?"))


def title_of(file: Path) -> str:
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or file.stem
    return words.splitlines()[0].rstrip(".")


def run(folder: Path, arguments: Sequence[str]) -> ET.Element:
    """Run pytest on the tests of a folder and return its report. Exits if the run could not start."""
    with tempfile.TemporaryDirectory() as made:
        report = Path(made) / "report.xml"
        command = [sys.executable, "-m", "pytest", str(folder), "-q", f"--junitxml={report}", *arguments]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not report.is_file():
            sys.exit(f"pytest did not run:\n{ended.stdout}{ended.stderr}")
        return ET.parse(report).getroot()


def scopes(folder: Path, report: ET.Element) -> list[Scope]:
    found = {file.stem: Scope(title_of(file)) for file in sorted(folder.glob("test_*.py"))}
    for case in report.iter("testcase"):
        module = f"{case.get('classname')}.{case.get('name')}".split(".")  # an unreadable file is a case without a class
        scope = next((found[part] for part in module if part in found), None)
        if scope is not None:
            scope.count(case)
    return list(found.values())


def lines(found: Sequence[Scope]) -> Iterator[str]:
    """The table, with the successful attacks below each scope."""
    yield f"{'scope':<{WIDTH}} attempted  held  skipped"
    for scope in found:
        yield f"{scope.title[:WIDTH]:<{WIDTH}} {scope.attempted:>9} {scope.held:>5} {scope.skipped:>8}"
        yield from (f"    FELL  {name}" for name in scope.fell)
    attempted, held, skipped = (sum(getattr(scope, name) for scope in found) for name in ("attempted", "held", "skipped"))
    yield f"{'all':<{WIDTH}} {attempted:>9} {held:>5} {skipped:>8}"


def main() -> None:
    usage = "python -m bench.redteam [-h] [OPTION OF PYTEST ...]"
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(usage=usage, description=__doc__, formatter_class=raw, allow_abbrev=False)
    found = scopes(ATTACKS, run(ATTACKS, parser.parse_known_args()[1]))
    print("\n".join(lines(found)))
    sys.exit(any(scope.fell for scope in found))


if __name__ == "__main__":
    main()
