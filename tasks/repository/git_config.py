"""Find programs and includes in a repository's own git configuration, which a copied .git contains, but never a clone."""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatchcase

from helmsman.config.owners import Setting, TrustRequest, as_json
from tasks.repository.git import Repository, git

FILE = ".git/config"
RUNS = (
    "core.sshcommand", "core.hookspath", "core.pager", "core.editor", "core.askpass", "core.gitproxy",
    "core.alternaterefscommand", "sequence.editor", "pager.*", "interactive.difffilter",
    "filter.*.clean", "filter.*.smudge", "filter.*.process", "lfs.extension.*.clean", "lfs.extension.*.smudge",
    "lfs.customtransfer.*.path", "diff.external", "diff.*.command", "diff.*.textconv", "difftool.*.cmd", "mergetool.*.cmd",
    "merge.*.driver", "credential.helper", "credential.*.helper", "gpg.program", "gpg.*.program", "gpg.ssh.defaultkeycommand",
    "uploadpack.packobjectshook", "remote.*.uploadpack", "remote.*.receivepack", "remote.*.vcs", "hook.*.command",
    "trailer.*.command", "trailer.*.cmd", "tar.*.command", "protocol.allow", "protocol.*.allow",
    "include.path", "includeif.*.path",
)  # fmt: skip
"""Keys whose value is a program, permits one, or names a file with more of them. Git prints them in lower case."""
REDIRECTS = (
    "alias.*", "core.attributesfile", "core.excludesfile", "core.worktree", "remote.*.url", "remote.*.pushurl",
    "url.*.insteadof", "url.*.pushinsteadof",
)  # fmt: skip
"""Keys that change what a person's command does, or the place that it reads or sends to."""
_BOOLEAN = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})
_OWN = frozenset({"local", "worktree"})


def programs_in_config(repository: Repository) -> TrustRequest:
    """Entries that name programs, in git's order. Reading them runs nothing."""
    executed = (Setting(key, as_json(value)) for key, value in _own_settings(repository) if _executes(key, value))
    return TrustRequest(FILE, tuple(dict.fromkeys(executed)))


def followed_settings(repository: Repository) -> dict[str, str]:
    """A digest of the values of each key that names a program, or changes what a person's git does."""
    values = dict[str, str]()
    for key, value in dict.fromkeys(_own_settings(repository)):
        if _executes(key, value) or any(fnmatchcase(key.casefold(), pattern) for pattern in REDIRECTS):
            values[key] = hashlib.sha256(f"{values.get(key, '')}\0{value}".encode()).hexdigest()
    return values


def _own_settings(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the repository's own keys and values. Git prints them in the order of their effect."""
    # a linked worktree may have a configuration of its own
    listed = (
        git(folder, "config", "--list", "--includes", "--show-scope", "-z") for folder in (repository.common, repository.top)
    )
    fields = [field for text in listed for field in text.split("\0")[:-1]]
    own = (text.partition("\n") for scope, text in zip(fields[::2], fields[1::2], strict=True) if scope in _OWN)
    yield from ((key, value) for key, _, value in own)


def _executes(key: str, value: str) -> bool:
    match key.split(".", maxsplit=1)[0], key:
        case "core", "core.fsmonitor":
            return value.casefold() not in _BOOLEAN
        case "alias", _:
            return value.lstrip().startswith("!")
        case "submodule", _:
            return key.endswith(".update") and value.startswith("!")
        case "remote", _ if key.endswith("url"):
            return value.startswith("ext::")
        case _:
            return any(fnmatchcase(key.casefold(), pattern) for pattern in RUNS)  # the middle part is case-sensitive
