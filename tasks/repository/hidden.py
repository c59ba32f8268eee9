"""Keep hidden checks, their folders and output from the agent, outside of the repository and its objects.

hidden/LOOP/checks.json    the commands; the loop's state contains only their names
           /probes.json    cases from a model, for the next claim
           /output/        their output, for people
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from helmsman.config import HiddenCheckConfig, LoopConfig
from helmsman.errors import OperatorError
from helmsman.records.checks import CheckResult, Probe
from helmsman.records.state import LoopState
from tasks.repository.git import Repository
from tasks.system.files import lies_within, remove, write_atomic
from tasks.system.paths import state_home

_PROBES = TypeAdapter(tuple[Probe, ...])
_CHECKS = TypeAdapter(tuple[HiddenCheckConfig, ...])
_REMEDY = "correct hidden in your configuration file, in HELMSMAN_HIDDEN, or in --hidden and --hidden-folder"


def hidden_folder(uid: str) -> Path:
    """Folder for a loop's hidden files. Hashed, as the id comes from an untrusted record."""
    return state_home() / "hidden" / hashlib.sha256(uid.encode(errors="replace")).hexdigest()[:32]


def without_hidden(state: LoopState) -> LoopState:
    """The state as stored in the repository, without hidden content, which is written outside if this machine has it."""
    checks = state.config.hidden
    if checks and all(check.is_available for check in checks):
        _write_private(hidden_folder(state.uid) / "checks.json", _CHECKS.dump_json(checks))
    return _with_hidden_config(state, tuple(check.without_content for check in checks))


def with_hidden(state: LoopState) -> LoopState:
    """The state with the commands of its hidden checks, if this machine has them."""
    if all(check.is_available for check in state.config.hidden):
        return state
    try:
        stored = _CHECKS.validate_json((hidden_folder(state.uid) / "checks.json").read_bytes())
    except (OSError, ValidationError):
        return state
    if [check.name for check in stored] == [check.name for check in state.config.hidden]:  # two may have the same name
        return _with_hidden_config(state, stored)
    by_name = {check.name: check for check in stored}
    return _with_hidden_config(state, tuple(by_name.get(check.name, check) for check in state.config.hidden))


def require_known(state: LoopState) -> None:
    """Raise OperatorError if this machine does not have the commands: no task could complete without them."""
    unknown = [check.name for check in state.config.hidden if not check.is_available]
    if unknown:
        raise OperatorError(
            "the hidden checks of this loop are not on this machine: they are never pushed",
            expected=f"{hidden_folder(state.uid) / 'checks.json'}, as on the machine where the loop began",
            found=f"no command for {', '.join(unknown)}",
            remedy="copy that file, and the folders that it names, to this machine; or continue where the loop began",
        )


def require_outside(repository: Repository, config: LoopConfig) -> None:
    """Raise OperatorError if the agent could read the hidden checks."""
    if config.hidden and not config.workspace.clean:
        raise OperatorError(
            "hidden checks need the clean checkout: in the agent's folder the agent could read them",
            expected="workspace.clean = true",
            found="workspace.clean = false",
            remedy="omit one of the two",
        )
    for folder in (Path(check.folder).expanduser() for check in config.hidden if check.folder):
        inside = [top for top in (repository.top, repository.common) if lies_within(top, folder) or lies_within(folder, top)]
        if inside or not folder.is_dir():
            raise OperatorError(
                "the folder of a hidden check cannot be used",
                expected="a folder outside of the repository",
                found=f"{folder}, in the repository or around it" if inside else f"no folder at {folder}",
                remedy=_REMEDY,
            )


def require_folder(folder: Path) -> None:
    if not folder.is_dir():
        problem = "the folder of a hidden check does not exist"
        raise OperatorError(problem, expected="a folder", found=f"none at {folder}", remedy=_REMEDY)


def copy_over(folder: Path, tree: Path) -> None:
    """Copy the files of a folder over those of a checkout, without following links of the commit."""
    require_folder(folder)
    for current, folders, files in os.walk(folder, followlinks=True):  # the operator's links lead to what belongs to the check
        here = Path(current).resolve()
        inner = (name for name in folders if name not in {".git", "__pycache__"})
        folders[:] = sorted(name for name in inner if not here.is_relative_to(Path(current, name).resolve()))  # no link upwards
        for source in (Path(current, name) for name in sorted(files) if name != ".git"):
            parts = source.relative_to(folder).parts
            for above in (tree.joinpath(*parts[:depth]) for depth in range(1, len(parts))):
                if above.is_symlink() or (above.exists() and not above.is_dir()):
                    above.unlink()
                above.mkdir(exist_ok=True)
            remove(tree.joinpath(*parts))
            try:
                shutil.copy2(source, tree.joinpath(*parts))
            except FileNotFoundError:
                problem = "the folder of a hidden check has a link that leads nowhere"
                raise OperatorError(problem, expected="a file", found=str(source), remedy=_REMEDY) from None


def store_output(uid: str, name: str, results: Sequence[CheckResult]) -> None:
    """Write the output of hidden checks to a file for people."""
    text = "\n\n".join(f"{result.name}: {result.command}\n{result.error}{result.head}{result.tail}" for result in results)
    _write_private(hidden_folder(uid) / "output" / f"{name}.log", text)


def stored_probes(uid: str) -> tuple[Probe, ...]:
    """Probes of an earlier claim; empty if there are none on this machine."""
    try:
        return _PROBES.validate_json((hidden_folder(uid) / "probes.json").read_bytes())
    except (OSError, ValidationError):
        return ()


def store_probes(uid: str, probes: Sequence[Probe]) -> None:
    _write_private(hidden_folder(uid) / "probes.json", _PROBES.dump_json(tuple(probes)))


def _write_private(file: Path, content: str | bytes) -> None:
    write_atomic(file, content, mode=0o600)


def _with_hidden_config(state: LoopState, hidden: tuple[HiddenCheckConfig, ...]) -> LoopState:
    if hidden == state.config.hidden:
        return state
    return state.model_copy(update={"config": state.config.model_copy(update={"hidden": hidden})})
