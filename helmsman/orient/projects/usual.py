"""Projects whose tool has one usual command: the file is there, so the command is known."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from helmsman.orient.projects.kinds import Candidate, Discovery, Folder, Kind


class Usual(NamedTuple):
    """A file, and the command that it stands for."""

    file: str
    """Its name, or a pattern of names."""
    command: str
    kind: Kind
    tool: str
    needs: str = ""
    """Another name that must be there."""
    without: str = ""
    """Another name that must not be there."""
    holds: str = ""
    """What its text must hold, as a regular expression."""


_CTEST = r"(?i)enable_testing\s*\(|include\s*\(\s*ctest"
_CMAKE = "cmake -S . -B build && cmake --build build"

USUAL = (
    Usual("Cargo.toml", "cargo test --workspace", Kind.TESTS, "rust"),
    Usual("Cargo.toml", "cargo clippy --workspace --all-targets -- -D warnings", Kind.LINT, "rust"),
    Usual("Cargo.toml", "cargo fmt --check", Kind.LINT, "rust format"),
    Usual("go.mod", "go test ./...", Kind.TESTS, "go"),
    Usual(".golangci.y*ml", "golangci-lint run", Kind.LINT, "go"),
    Usual("go.mod", "go vet ./...", Kind.LINT, "go"),
    Usual("go.mod", "go build ./...", Kind.BUILD, "go"),
    Usual("pom.xml", "./mvnw -B test", Kind.TESTS, "java", needs="mvnw"),
    Usual("pom.xml", "mvn -B test", Kind.TESTS, "java", without="mvnw"),
    Usual("build.gradle*", "./gradlew --no-daemon test", Kind.TESTS, "java", needs="gradlew"),
    Usual("build.gradle*", "./gradlew --no-daemon assemble", Kind.BUILD, "java", needs="gradlew"),
    Usual("build.gradle*", "gradle --no-daemon test", Kind.TESTS, "java", without="gradlew"),
    Usual("build.gradle*", "gradle --no-daemon assemble", Kind.BUILD, "java", without="gradlew"),
    Usual("build.sbt", "sbt test", Kind.TESTS, "scala"),
    Usual("*.sln", "dotnet test", Kind.TESTS, "dotnet"),
    Usual("*.csproj", "dotnet test", Kind.TESTS, "dotnet"),
    Usual("*.sln", "dotnet build", Kind.BUILD, "dotnet"),
    Usual("*.csproj", "dotnet build", Kind.BUILD, "dotnet"),
    Usual("phpunit.xml*", "vendor/bin/phpunit", Kind.TESTS, "php"),
    Usual("phpstan.neon*", "vendor/bin/phpstan analyse", Kind.TYPES, "php"),
    Usual(".rspec", "bundle exec rspec", Kind.TESTS, "ruby", needs="Gemfile"),
    Usual("Gemfile", "bundle exec rspec", Kind.TESTS, "ruby", needs="spec", without=".rspec"),
    Usual(".rubocop.yml", "bundle exec rubocop", Kind.LINT, "ruby", needs="Gemfile"),
    Usual("mix.exs", "mix test", Kind.TESTS, "elixir"),
    Usual("mix.exs", "mix credo", Kind.LINT, "elixir", holds=r":credo\b"),
    Usual("mix.exs", "mix format --check-formatted", Kind.LINT, "elixir format", needs=".formatter.exs"),
    Usual("mix.exs", "mix compile --warnings-as-errors", Kind.BUILD, "elixir"),
    Usual("CMakeLists.txt", f"{_CMAKE} && ctest --test-dir build --output-on-failure", Kind.TESTS, "cmake", holds=_CTEST),
    Usual("CMakeLists.txt", _CMAKE, Kind.BUILD, "cmake"),
    Usual("meson.build", "meson setup build && meson test -C build", Kind.TESTS, "meson"),
    Usual("Package.swift", "swift test", Kind.TESTS, "swift"),
    Usual("Package.swift", "swift build", Kind.BUILD, "swift"),
    Usual("stack.yaml", "stack test", Kind.TESTS, "haskell"),
    Usual("*.cabal", "cabal test", Kind.TESTS, "haskell", without="stack.yaml"),
    Usual("pubspec.yaml", "flutter test", Kind.TESTS, "dart", holds=r"(?m)^[ \t]{1,20}sdk:[ \t]*flutter"),
    Usual("pubspec.yaml", "dart test", Kind.TESTS, "dart", needs="test"),
    Usual("pubspec.yaml", "dart analyze", Kind.LINT, "dart"),
    Usual("build.zig", "zig build test", Kind.TESTS, "zig"),
    Usual("build.zig", "zig build", Kind.BUILD, "zig"),
)


def usual_commands(folder: Folder) -> Iterator[Discovery]:
    for row in USUAL:
        file = next((name for name in sorted(folder.names) if fnmatchcase(name, row.file)), "")
        if file and _applies(row, folder, file):
            yield Candidate(row.command, row.kind, file, row.tool)


def _applies(row: Usual, folder: Folder, file: str) -> bool:
    beside = (not row.needs or row.needs in folder.names) and row.without not in folder.names
    return beside and (not row.holds or re.search(row.holds, folder.text(file)) is not None)


READ = frozenset(row.file for row in USUAL if row.holds)
