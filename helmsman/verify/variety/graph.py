"""The graph of imports inside a project, and its cycles."""

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Edges = Mapping[str, Collection[str]]

_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript names the file that will be there once it is compiled."""
_NAMESAKES = 8
"""Modules of one name that are told apart by their folders; of more, an import says nothing."""
_DEEPEST = 12
"""Parts of a dotted name that are looked up."""


@dataclass(frozen=True)
class Modules:
    """The files of a project by the names under which they are imported."""

    paths: frozenset[str]
    dotted: Mapping[str, Sequence[str]]

    def target(self, importer: str, name: str) -> str | None:
        """The file that an import means; None where that is none of the project's."""
        found = self._python(importer, name) if importer.endswith((".py", ".pyi", ".pyw")) else self._relative(importer, name)
        return None if found == importer else found

    def _python(self, importer: str, name: str) -> str | None:
        level = len(name) - len(name.lstrip("."))
        if level:
            return self._in_folder(_up(importer, level), name[level:])
        found = next(filter(None, (self.dotted.get(part) for part in _prefixes(name))), None)
        if found is not None:
            return _nearest(importer, found)
        beside = posixpath.join(posixpath.dirname(importer), f"{name.partition('.')[0]}.py")
        return beside if beside in self.paths else None

    def _in_folder(self, folder: str | None, name: str) -> str | None:
        """`b.c` below a folder: the longest part of it that is a module, else the package of the folder itself."""
        if folder is None:
            return None
        below = (posixpath.join(folder, *part.split(".")) for part in _prefixes(name)) if name else ()
        tried = (
            path for base in (*below, folder) for path in (f"{base}.py" if base else "", posixpath.join(base, "__init__.py"))
        )
        return next((path for path in tried if path in self.paths), None)

    def _relative(self, importer: str, name: str) -> str | None:
        base = posixpath.normpath(posixpath.join(posixpath.dirname(importer), name.partition("?")[0]))
        stem, suffix = posixpath.splitext(base)
        compiled = (f"{stem}{other}" for other in _COMPILED.get(suffix, ()))
        indexes = (posixpath.join(base, f"index{suffix}") for suffix in _SUFFIXES)
        tried = (base, *compiled, *(f"{base}{suffix}" for suffix in _SUFFIXES), *indexes)
        return next((path for path in tried if path in self.paths), None)


def modules(paths: Iterable[str]) -> Modules:
    """Python modules are known by their place in the repository, below `src` or `lib`, and by that in their package."""
    known = frozenset(paths)
    packages = {posixpath.dirname(path) for path in known if posixpath.basename(path) in {"__init__.py", "__init__.pyi"}}
    dotted = defaultdict[str, list[str]](list)
    for path in sorted(known):
        for name in _dotted_names(path, packages) if path.endswith(".py") else ():
            dotted[name].append(path)
    return Modules(known, dict(dotted))


def cyclic(edges: Edges) -> frozenset[str]:
    """Modules from which imports lead back to them: strongly connected components of two and more (Tarjan 1972)."""
    search = _Search(edges, {}, {}, [], set(), set())
    for start in sorted(edges):
        if start not in search.index:
            search.run(start)
    return frozenset(search.cyclic)


@dataclass
class _Search:
    edges: Edges
    index: dict[str, int]
    low: dict[str, int]
    stack: list[str]
    on_stack: set[str]
    cyclic: set[str]

    def run(self, start: str) -> None:
        """A search in depth without recursion: a chain of imports may be as long as the project."""
        work = [(start, self._enter(start))]
        while work:
            node, successors = work[-1]
            following = next(successors, None)
            if following is None:
                work.pop()
                self._leave(node)
                if work:
                    self.low[work[-1][0]] = min(self.low[work[-1][0]], self.low[node])
            elif following not in self.index:
                work.append((following, self._enter(following)))
            elif following in self.on_stack:
                self.low[node] = min(self.low[node], self.index[following])

    def _enter(self, node: str) -> Iterator[str]:
        self.index[node] = self.low[node] = len(self.index)
        self.stack.append(node)
        self.on_stack.add(node)
        return iter(sorted(self.edges.get(node, ())))

    def _leave(self, node: str) -> None:
        if self.low[node] != self.index[node]:
            return
        start = len(self.stack) - 1
        while self.stack[start] != node:
            start -= 1
        component = self.stack[start:]
        del self.stack[start:]
        self.on_stack.difference_update(component)
        if len(component) > 1:
            self.cyclic.update(component)


def _dotted_names(path: str, packages: set[str]) -> frozenset[str]:
    whole = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    below_root = whole.partition(".")[2] if whole.startswith(("src.", "lib.")) else ""
    root: str = posixpath.dirname(path)
    while root in packages:
        root = root.rpartition("/")[0]
    in_package = path.removeprefix(f"{root}/") if root else path
    own = in_package.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return frozenset(filter(None, (whole, below_root, own if posixpath.dirname(path) in packages else "")))


def _prefixes(name: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`."""
    parts = name.split(".")[:_DEEPEST]
    return (".".join(parts[:length]) for length in range(len(parts), 0, -1))


def _up(path: str, level: int) -> str | None:
    """The folder that one leading dot names is the file's own; None above the repository."""
    folders = path.split("/")[:-1]
    return "/".join(folders[: len(folders) - level + 1]) if level <= len(folders) + 1 else None


def _nearest(importer: str, candidates: Sequence[str]) -> str | None:
    """Of modules of one name the one whose folders agree longest with the importer's; None where two agree as long."""
    if len(candidates) == 1:
        return candidates[0]
    if len(candidates) > _NAMESAKES:
        return None
    ranked = sorted((len(posixpath.commonprefix([importer.split("/"), one.split("/")])), one) for one in candidates)
    return ranked[-1][1] if ranked[-1][0] > ranked[-2][0] else None
