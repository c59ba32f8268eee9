"""Process that tools/fuzz.py starts for each target. Only the product's imports are instrumented."""

import sys
from typing import Any

import atheris

fuzzer: Any = atheris  # it has no types
with fuzzer.instrument_imports(include=["helmsman", "tasks", "deployments"]):
    from tools.fuzz_targets import TARGETS

if __name__ == "__main__":
    _, name, *rest = sys.argv
    fuzzer.Setup([sys.argv[0], *rest], TARGETS[name].read)
    fuzzer.Fuzz()
