"""The process that tools/fuzz.py starts for each target: what it imports of ours is instrumented, and nothing else."""

import sys

import atheris

with atheris.instrument_imports(include=["helmsman", "tasks", "deployments"]):  # pyright: ignore[reportUnknownMemberType]
    from tools.fuzz_targets import TARGETS

if __name__ == "__main__":
    _, name, *rest = sys.argv
    atheris.Setup([sys.argv[0], *rest], TARGETS[name].read)  # pyright: ignore[reportUnknownMemberType] - it comes without types
    atheris.Fuzz()  # pyright: ignore[reportUnknownMemberType]
