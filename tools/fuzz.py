"""Fuzz every parser with coverage guidance, and keep inputs that break one.

    python -m tools.fuzz [--seconds 60] [--target NAME]... [--jobs 2]

Findings are written to tests/corpus/TARGET/, where tests/unit/test_corpus.py runs them from then on. Exits with 1 if something
was found. An input that takes longer than SLOW seconds, or more than MEMORY_MB, is a finding too. Needs atheris, which exists
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

SLOW = 5
"""Seconds for an input of a few kilobytes; the instrumentation makes Python about five times slower."""
MEMORY_MB = 2048


def main(arguments: Sequence[str] | None = None) -> int:
    said = _options().parse_args(arguments)
    if importlib.util.find_spec("atheris") is None:
        print(f"atheris is not installed; there is none for Python {sys.version_info.major}.{sys.version_info.minor}")
        print("nothing was fuzzed. Use Python 3.11 or 3.12: make PYTHON=python3.12")
        return 2
    with ThreadPoolExecutor(said.jobs) as pool:
        return int(any(list(pool.map(partial(_campaign, seconds=said.seconds), said.target or TARGETS))))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Fuzz every parser, guided by coverage.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", action="append", choices=TARGETS, help="fuzz only this one; repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="concurrent targets")
    return parser


def _campaign(name: str, *, seconds: int) -> bool:
    """Fuzz one target in its own process. Returns whether something was found."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        pool, found = Path(folder, "pool"), Path(folder, "found")
        pool.mkdir()
        found.mkdir()
        for place, seed in enumerate([*seeds(TARGETS[name]), *(path.read_bytes() for path in corpus(name))]):
            (pool / f"seed-{place}").write_bytes(seed)
        ended = subprocess.run(_command(name, pool, found, seconds), cwd=ROOT, capture_output=True, text=True, check=False)
        kept = [_keep(name, path) for path in sorted(found.iterdir())]
        _tell(name, ended, kept)
        return bool(kept) or ended.returncode != 0


def _command(name: str, pool: Path, found: Path, seconds: int) -> list[str]:
    limits = [f"-max_total_time={seconds}", f"-timeout={SLOW}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={TARGETS[name].longest}"]
    ours = [sys.executable, "-m", "tools.fuzz_inside", name]
    return [*ours, str(pool), f"-artifact_prefix={found}/", "-print_final_stats=1", *limits]


def _keep(name: str, path: Path) -> Path:
    kept = ROOT / "tests" / "corpus" / name / path.name
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(path.read_bytes())
    return kept


def _tell(name: str, ended: subprocess.CompletedProcess[str], kept: Sequence[Path]) -> None:
    runs = next((line.split()[-1] for line in ended.stderr.splitlines() if "number_of_executed_units" in line), "?")
    print(
        f"{name:<16} {runs:>9} runs  {'found ' + ', '.join(path.name for path in kept) if kept else 'nothing found'}", flush=True
    )
    if kept or ended.returncode:
        errors = (ended.stdout + ended.stderr).split("Uncaught Python exception")[-1].splitlines()
        print("\n".join(f"    {line}" for line in errors if "INFO" not in line and line.strip())[-3000:], flush=True)


if __name__ == "__main__":
    sys.exit(main())
