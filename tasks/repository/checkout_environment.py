"""The environment of what runs in a clean checkout: nothing that the agent could have written there since the loop began.

Home, caches and temporary folder are the checkout's own. Folders of programs that the agent can write to are pinned: what lay in
them when they were first seen is offered, as long as it is unchanged; what is new or changed is left out, and named.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

TOOLCHAINS = {
    "RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "RBENV_ROOT": ".rbenv", "NODENV_ROOT": ".nodenv", "GOENV_ROOT": ".goenv",
    "NVM_DIR": ".nvm", "FNM_DIR": ".local/share/fnm", "VOLTA_HOME": ".volta", "ASDF_DIR": ".asdf", "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise", "SDKMAN_DIR": ".sdkman", "DOTNET_ROOT": ".dotnet", "BUN_INSTALL": ".bun",
    "DENO_INSTALL": ".deno", "GHCUP_INSTALL_BASE_PREFIX": "", "GOROOT": "", "JAVA_HOME": "", "ANDROID_HOME": "",
}  # fmt: skip
"""Variables that name where a toolchain's programs lie, and where they lie in a home without them: with another HOME, the small
programs on PATH that lead there (shims) would find nothing."""
REGISTRIES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "NPM_CONFIG_REGISTRY",
    "npm_config_registry", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOSUMDB",
)  # fmt: skip
"""Variables that say where packages come from: the files in the home that say so are out of reach."""

Pins = dict[str, dict[str, list[int]]]
"""By folder and name of each program inode, size, time of change of content and of anything: of the name itself and, for a link,
of what it leads to."""


def own_variables(source: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Variables that give a command a home, caches and a temporary folder in `folder`, and leave toolchains where they are."""
    home, cache = folder / "home", folder / "cache"
    return {
        **toolchains(source),
        **{name: source[name] for name in REGISTRIES if name in source},
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(cache),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONNOUSERSITE": "1",
    }


def toolchains(source: Mapping[str, str]) -> dict[str, str]:
    """Where toolchains lie: as the environment says, else where they lie in the user's home, if they do."""
    home = Path(source.get("HOME", "/"))
    usual = {name: home / where for name, where in TOOLCHAINS.items() if where}
    found = {name: str(path) for name, path in usual.items() if path.is_dir()}
    return found | {name: source[name] for name in TOOLCHAINS if source.get(name)}


def programs(source: Mapping[str, str], folder: Path, inside: Mapping[Path, Path], pins: Pins) -> tuple[str, tuple[str, ...]]:
    """The PATH for what runs in a checkout whose folder that is, and the names of programs that are left out of it.

    What is pinned for the first time is added to `pins`.

    `inside`: folders of the agent's, and what takes their place; an entry below one (`.venv/bin`) is set-up's there.
    """
    offered: list[str] = []
    changed: list[str] = []
    for entry in dict.fromkeys(source.get("PATH", os.defpath).split(os.pathsep)):
        if not os.path.isabs(entry):  # noqa: PTH117 - an empty one is the folder that a command works in
            continue
        instead = _instead(Path(entry), inside)
        if instead is not None:
            offered += [str(instead)] if instead.parts else []
            continue
        real, home = Path(os.path.realpath(entry)), source.get("HOME", "/")
        below_home = real.is_relative_to(os.path.realpath(home)) or Path(entry).is_relative_to(home)
        # root can write everywhere, and changes nothing outside of its home by accident
        if below_home or (os.geteuid() != 0 and os.access(entry, os.W_OK)):
            kept, left_out = _pinned(entry, folder / "path", pins)
            offered.append(kept)
            changed += left_out
        else:
            offered.append(entry)
    return os.pathsep.join(dict.fromkeys(offered)), tuple(changed)


def _instead(entry: Path, inside: Mapping[Path, Path]) -> Path | None:
    """What takes the place of an entry in the agent's folders; an empty path where nothing does. None for other entries."""
    for top, new in inside.items():
        for one in (entry, Path(os.path.realpath(entry))):
            if one.is_relative_to(top):
                return new / one.relative_to(top) if new.parts else Path()
    return None


def _pinned(entry: str, folder: Path, pins: Pins) -> tuple[str, list[str]]:
    """The folder itself where all in it is as it was, else one that has what is; and the names of what is new or changed."""
    now = dict(_stamps(entry))
    then = pins.setdefault(entry, now)
    changed = [f"{entry}/{name}" for name, stamp in now.items() if then.get(name) != stamp]
    if not changed:
        return entry, []
    instead = folder / entry.strip("/").replace("/", "-")
    instead.mkdir(parents=True, exist_ok=True)
    for old in instead.iterdir():
        old.unlink()
    for name, stamp in now.items():
        if then.get(name) == stamp:  # a script, as a link would hide from a program where it lies (venv, busybox)
            (instead / name).write_text(f'#!/bin/sh\nexec {shlex.quote(f"{entry}/{name}")} "$@"\n')
            (instead / name).chmod(0o755)
    return str(instead), changed


def _stamps(folder: str) -> Iterator[tuple[str, list[int]]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if os.access(entry.path, os.X_OK) and not entry.is_dir():
                    seen = entry.stat(follow_symlinks=False), entry.stat()
                    yield entry.name, [n for one in seen for n in (one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns)]
    except OSError:  # it is not there (yet), or cannot be looked at: then nothing of it was there at the start
        return
