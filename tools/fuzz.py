"""Fuzz every parser with coverage guidance, and keep inputs that break one.

    python -m tools.fuzz [--seconds 60] [--target NAME]... [--jobs 2]

Findings are written to tests/corpus/TARGET/, where tests/unit/test_corpus.py runs them from then on. Exits with 1 if something
was found. An input that takes longer than MAX_SECONDS, or more than MEMORY_MB, is a finding too. Needs atheris, which exists
for Python 3.11 and 3.12.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.fuzz_targets import ROOT, TARGETS, corpus, seeds

MAX_SECONDS = 5
"""Seconds for an input of a few kilobytes; the instrumentation makes Python about five times slower."""
MEMORY_MB = 2048


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("atheris") is None:
        print(f"atheris is not installed; there is none for Python {sys.version_info.major}.{sys.version_info.minor}")
        print("nothing was fuzzed. Use Python 3.11 or 3.12: make PYTHON=python3.12")
        return 2
    with ThreadPoolExecutor(options.jobs) as pool:
        return int(any(list(pool.map(partial(_fuzz, seconds=options.seconds), options.target or TARGETS))))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Fuzz every parser, guided by coverage.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", action="append", choices=TARGETS, help="fuzz only this one; repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="concurrent targets")
    return parser


def _fuzz(name: str, *, seconds: int) -> bool:
    """Fuzz one target in its own process. Returns whether an input broke it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        inputs, findings = Path(folder, "pool"), Path(folder, "found")
        inputs.mkdir()
        findings.mkdir()
        for number, seed in enumerate([*seeds(TARGETS[name]), *(path.read_bytes() for path in corpus(name))]):
            (inputs / f"seed-{number}").write_bytes(seed)
        completed = subprocess.run(
            _command(name, inputs, findings, seconds), cwd=ROOT, capture_output=True, text=True, check=False
        )
        added = [_add_to_corpus(name, path) for path in sorted(findings.iterdir())]
        _print_result(name, completed, added)
        return bool(added) or completed.returncode != 0


def _command(name: str, inputs: Path, findings: Path, seconds: int) -> list[str]:
    limits = [
        f"-max_total_time={seconds}",
        f"-timeout={MAX_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={TARGETS[name].max_bytes}",
    ]
    program = [sys.executable, "-m", "tools.fuzz_process", name]
    return [*program, str(inputs), f"-artifact_prefix={findings}/", "-print_final_stats=1", *limits]


def _add_to_corpus(name: str, path: Path) -> Path:
    copy = ROOT / "tests" / "corpus" / name / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(path.read_bytes())
    return copy


def _print_result(name: str, completed: subprocess.CompletedProcess[str], findings: Sequence[Path]) -> None:
    runs = next((line.split()[-1] for line in completed.stderr.splitlines() if "number_of_executed_units" in line), "?")
    print(
        f"{name:<16} {runs:>9} runs  {'found ' + ', '.join(path.name for path in findings) if findings else 'nothing found'}",
        flush=True,
    )
    if findings or completed.returncode:
        errors = (completed.stdout + completed.stderr).split("Uncaught Python exception")[-1].splitlines()
        print("\n".join(f"    {line}" for line in errors if "INFO" not in line and line.strip())[-3000:], flush=True)


if __name__ == "__main__":
    sys.exit(main())
