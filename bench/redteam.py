"""Count the attacks on Helmsman by scope of tests/security/: attempted and repelled.

One file is one scope, named by the first line of its docstring; each test case is one attempt. A failing test is a successful
attack.

    python -m bench.redteam [PYTEST OPTION …]

Options are passed to pytest, such as `-k "stops or receiver"`.
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
SECURITY_TESTS = ROOT / "tests" / "security"
WIDTH = 76
FIGURES = ("attempted", "repelled", "skipped")


@dataclass
class Scope:
    """Attempts of one file."""

    title: str
    attempted: int = 0
    skipped: int = 0
    successful: list[str] = field(default_factory=list[str])

    @property
    def repelled(self) -> int:
        return self.attempted - len(self.successful)

    def count(self, case: ET.Element) -> None:
        """Count a test case. A skipped one attempted nothing; one with an error, as in a fixture, counts as successful."""
        if case.find("skipped") is not None:
            self.skipped += 1
            return
        self.attempted += 1
        if case.find("failure") is not None or case.find("error") is not None:
            self.successful.append(case.get("name", "?"))


def title_of(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or file.stem
    return docstring.splitlines()[0].rstrip(".")


def run(folder: Path, arguments: Sequence[str]) -> ET.Element:
    """Run pytest on the tests of a folder and return its report. Exits if the run could not start."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        command = [sys.executable, "-m", "pytest", str(folder), "-q", f"--junitxml={report}", *arguments]
        completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not report.is_file():
            sys.exit(f"pytest did not run:\n{completed.stdout}{completed.stderr}")
        return ET.parse(report).getroot()


def scopes(folder: Path, report: ET.Element) -> list[Scope]:
    by_file = {file.stem: Scope(title_of(file)) for file in sorted(folder.glob("test_*.py"))}
    for case in report.iter("testcase"):
        module = f"{case.get('classname')}.{case.get('name')}".split(".")  # an unreadable file is a case without a class
        scope = next((by_file[part] for part in module if part in by_file), None)
        if scope is not None:
            scope.count(case)
    return list(by_file.values())


def report_lines(all_scopes: Sequence[Scope]) -> Iterator[str]:
    """The table, with the successful attacks below each scope."""
    yield f"{'scope':<{WIDTH}} attempted  repelled  skipped"
    for scope in all_scopes:
        yield f"{scope.title[:WIDTH]:<{WIDTH}} {scope.attempted:>9} {scope.repelled:>9} {scope.skipped:>8}"
        yield from (f"    SUCCESSFUL ATTACK  {name}" for name in scope.successful)
    attempted, repelled, skipped = (sum(getattr(scope, name) for scope in all_scopes) for name in FIGURES)
    yield f"{'all':<{WIDTH}} {attempted:>9} {repelled:>9} {skipped:>8}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.redteam", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _, options = parser.parse_known_args()
    all_scopes = scopes(SECURITY_TESTS, run(SECURITY_TESTS, options))
    print("\n".join(report_lines(all_scopes)))
    sys.exit(any(scope.successful for scope in all_scopes))


if __name__ == "__main__":
    main()
