"""Environment of commands in a clean checkout: without anything that the agent could have written since the loop began.

Home, caches and temporary folder are the checkout's own. Folders on PATH that the agent can write to are pinned: programs that
were there at first sight and are unchanged are available; new or changed ones are left out, and reported.
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
"""Variables with the folder of a toolchain, and their defaults in the home: with another HOME, the shims on PATH
would not find their programs."""
REGISTRIES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "NPM_CONFIG_REGISTRY",
    "npm_config_registry", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOSUMDB",
)  # fmt: skip
"""Variables that name package registries: configuration files in the home are out of reach."""

Pins = dict[str, dict[str, list[int]]]
"""By folder and program name: inode, size, mtime and ctime of the directory entry and of the file that it resolves to."""


def own_variables(source: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Variables for a home, caches and a temporary folder in `folder`; toolchains stay where they are."""
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
    """Folders of toolchains by variable: from the environment, or the defaults that exist in the user's home."""
    home = Path(source.get("HOME", "/"))
    defaults = {name: home / default for name, default in TOOLCHAINS.items() if default}
    existing = {name: str(path) for name, path in defaults.items() if path.is_dir()}
    return existing | {name: source[name] for name in TOOLCHAINS if source.get(name)}


def programs(source: Mapping[str, str], folder: Path, inside: Mapping[Path, Path], pins: Pins) -> tuple[str, tuple[str, ...]]:
    """PATH for commands in a checkout with this folder, and the names of programs left out of it.

    Adds new pins to `pins`.

    `inside`: the agent's folders and their replacements; an entry below one (`.venv/bin`) is created by set-up there.
    """
    path: list[str] = []
    changed: list[str] = []
    for entry in dict.fromkeys(source.get("PATH", os.defpath).split(os.pathsep)):
        if not os.path.isabs(entry):  # noqa: PTH117 - an empty one is the working directory
            continue
        replacement = _replacement_of(Path(entry), inside)
        if replacement is not None:
            path += [str(replacement)] if replacement.parts else []
            continue
        real, home = Path(os.path.realpath(entry)), source.get("HOME", "/")
        below_home = real.is_relative_to(os.path.realpath(home)) or Path(entry).is_relative_to(home)
        # root can write everywhere, but does not change files outside of its home by accident
        if below_home or (os.geteuid() != 0 and os.access(entry, os.W_OK)):
            pinned, left_out = _pin_folder(entry, folder / "path", pins)
            path.append(pinned)
            changed += left_out
        else:
            path.append(entry)
    return os.pathsep.join(dict.fromkeys(path)), tuple(changed)


def _replacement_of(entry: Path, inside: Mapping[Path, Path]) -> Path | None:
    """Replacement of a PATH entry in the agent's folders; an empty path if there is none. None for other entries."""
    for top, new in inside.items():
        for path in (entry, Path(os.path.realpath(entry))):
            if path.is_relative_to(top):
                return new / path.relative_to(top) if new.parts else Path()
    return None


def _pin_folder(entry: str, folder: Path, pins: Pins) -> tuple[str, list[str]]:
    """The folder if it is unchanged, or else one with its unchanged programs; and the names of new or changed programs."""
    now = dict(_program_stamps(entry))
    pinned = pins.setdefault(entry, now)
    changed = [f"{entry}/{name}" for name, stamp in now.items() if pinned.get(name) != stamp]
    if not changed:
        return entry, []
    pinned_folder = folder / entry.strip("/").replace("/", "-")
    pinned_folder.mkdir(parents=True, exist_ok=True)
    for old in pinned_folder.iterdir():
        old.unlink()
    for name, stamp in now.items():
        if pinned.get(name) == stamp:  # a script, as a program may depend on its own path (venv, busybox)
            (pinned_folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(f"{entry}/{name}")} "$@"\n')
            (pinned_folder / name).chmod(0o755)
    return str(pinned_folder), changed


def _program_stamps(folder: str) -> Iterator[tuple[str, list[int]]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if os.access(entry.path, os.X_OK) and not entry.is_dir():
                    stats = entry.stat(follow_symlinks=False), entry.stat()
                    yield entry.name, [n for s in stats for n in (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)]
    except OSError:  # it is missing or unreadable: then nothing of it was there at the start
        return
